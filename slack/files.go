// Files: text and pictures are fetched, others described.

package slack

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"cairn/channel"
)

const (
	mostPictures = 4
	mostPicture  = 5 << 20 // bytes
	mostText     = 1 << 20 // bytes of a text file that are read; the budget is smaller
)

// textTypes are media types and file extensions of text, beside text/*.
var textTypes = []string{
	"application/json", "application/xml", "application/javascript", "application/x-yaml", "application/yaml", "application/toml",
	"application/x-sh", "application/sql", "application/x-httpd-php", "application/typescript", "application/x-ndjson",
	".txt", ".md", ".log", ".csv", ".tsv", ".json", ".xml", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".sh", ".sql",
	".go", ".py", ".js", ".ts", ".rs", ".c", ".h", ".cpp", ".java", ".rb", ".php", ".html", ".css", ".diff", ".patch",
}

var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func isText(a channel.Attachment) bool {
	kind, _, _ := strings.Cut(a.Type, ";")
	return strings.HasPrefix(kind, "text/") || slices.Contains(textTypes, kind) ||
		slices.Contains(textTypes, strings.ToLower(path.Ext(a.Name)))
}

func isPicture(a channel.Attachment) bool { return slices.Contains(pictureTypes, a.Type) }

// wanted reports whether the contents of a file should be fetched.
func (s *Slack) wanted(a channel.Attachment) bool {
	if a.URL == "" || a.Text != "" || a.Data != nil || a.File != 0 {
		return false
	}
	return isText(a) && s.o.AttachmentTokens > 0 || isPicture(a) && s.o.Pictures && a.Size <= mostPicture
}

// unread reports whether any contents should be fetched.
func (s *Slack) unread(all []channel.Attachment) bool { return slices.ContainsFunc(all, s.wanted) }

// contents fetches text and pictures. A file that cannot be fetched stays described.
func (s *Slack) contents(ctx context.Context, all []channel.Attachment) []channel.Attachment {
	all = slices.Clone(all)
	texts, pictures := 0, 0
	for _, a := range all {
		if isText(a) && s.wanted(a) {
			texts++
		}
	}
	for i := range all {
		a := &all[i]
		switch {
		case !s.wanted(*a):
		case isText(*a):
			data, err := s.fetch(ctx, a.URL, mostText)
			if err != nil {
				s.log.Debug("read_file_failed", "error", err)
			} else if text := strings.ToValidUTF8(string(data), ""); !strings.ContainsRune(text, 0) {
				a.Text = channel.Clip(text, s.o.AttachmentTokens/texts)
			}
		case pictures < mostPictures:
			pictures++
			data, err := s.fetch(ctx, a.URL, mostPicture+1)
			if kind := http.DetectContentType(data); err == nil && len(data) <= mostPicture && slices.Contains(pictureTypes, kind) {
				a.Data, a.Type = data, kind
			}
		}
	}
	return all
}

// fetch reads at most so many bytes of a file. slack-go sends the token only to Slack and to the
// Web API's own host, and the client follows no redirect to another host.
func (s *Slack) fetch(ctx context.Context, address string, most int) ([]byte, error) {
	var into bytes.Buffer
	err := s.api.read.GetFileContext(channel.AtMost(ctx, most), address, &into)
	if err != nil && !errors.Is(err, channel.ErrTooLong) {
		return nil, withoutURL(err)
	}
	return into.Bytes(), nil
}
