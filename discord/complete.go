// Files: text and pictures are fetched, others described.

package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/channel"
)

const (
	maxPictures     = 4 // of one message
	maxPicture      = 5 << 20
	maxTextFile     = 1 << 20
	completeTimeout = 10 * time.Second
)

// pictures are the kinds that models can see.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// texts are media types of text, beside text/*.
var texts = []string{
	"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
	"application/javascript", "application/x-sh", "application/sql", "application/x-ndjson",
}

// textNames are file extensions of text, whatever the media type.
var textNames = []string{
	".txt", ".md", ".log", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".conf", ".xml", ".html", ".css",
	".go", ".py", ".js", ".ts", ".tsx", ".java", ".kt", ".c", ".h", ".cpp", ".hpp", ".cs", ".rs", ".rb", ".php", ".sh", ".sql", ".diff", ".patch", ".tex",
}

// mediaType is the media type without parameters.
func mediaType(f attachment) string {
	kind, _, err := mime.ParseMediaType(f.ContentType)
	if err != nil {
		return ""
	}
	return kind
}

// kindOf is what people call a kind of file.
func kindOf(f attachment) string {
	switch kind, _, _ := strings.Cut(mediaType(f), "/"); kind {
	case "image", "video", "audio":
		return kind
	}
	return "file"
}

func isPicture(kind string) bool { return slices.Contains(pictures, kind) }

// isText also looks at the name: Discord takes TypeScript for a video.
func isText(kind, name string) bool {
	return strings.HasPrefix(kind, "text/") || slices.Contains(texts, kind) ||
		!strings.HasPrefix(kind, "image/") && slices.Contains(textNames, strings.ToLower(path.Ext(name)))
}

// fetchable reports whether Complete would fetch a file.
func (d *Discord) fetchable(f attachment) bool {
	kind := mediaType(f)
	return f.URL != "" && (d.o.Pictures && isPicture(kind) && f.Size <= maxPicture ||
		d.o.AttachmentTokens > 0 && isText(kind, f.Filename) && f.Size <= maxTextFile)
}

// Complete fetches the files of a message: text, within the message's token budget, and pictures. A
// file that cannot be fetched stays described.
func (d *Discord) Complete(ctx context.Context, _ string, m channel.Inbound) (channel.Inbound, error) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	m.Attachments = slices.Clone(m.Attachments)
	shown, each := 0, d.tokensEach(m)
	var failed error
	for i := range m.Attachments {
		a := &m.Attachments[i]
		f := attachment{Filename: a.Name, ContentType: a.Type, Size: a.Size, URL: a.URL}
		picture := isPicture(a.Type)
		if !d.fetchable(f) || a.Text != "" || len(a.Data) > 0 || picture && shown == maxPictures {
			continue
		}
		limit := maxTextFile
		if picture {
			limit = maxPicture
		}
		data, err := d.fetch(ctx, a.URL, limit)
		switch {
		case err != nil:
			failed = fmt.Errorf("fetch %s: %w", a.Name, err)
		case data == nil: // it is gone, or larger than was said
		case picture:
			a.Data = data
			shown++
		case utf8.Valid(data):
			a.Text = channel.Clip(string(data), each)
		}
	}
	m.Incomplete = failed != nil
	return m, failed
}

// tokensEach divides a message's token budget among its text files.
func (d *Discord) tokensEach(m channel.Inbound) int {
	files := 0
	for _, a := range m.Attachments {
		if isText(a.Type, a.Name) {
			files++
		}
	}
	return d.o.AttachmentTokens / max(files, 1)
}

// fetch downloads a file. Its URL is signed, so the token is not sent. Nil without an error: it
// cannot be fetched.
func (d *Discord) fetch(ctx context.Context, address string, limit int) ([]byte, error) {
	q, err := http.NewRequestWithContext(channel.AtMost(ctx, limit), http.MethodGet, address, nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	q.Header.Set("User-Agent", userAgent)
	resp, err := d.rest.client.Do(q)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, nil
	}
	data, err := io.ReadAll(resp.Body)
	switch {
	case errors.Is(err, channel.ErrTooLong):
		return nil, nil
	case err != nil:
		return nil, withoutURL(err)
	}
	return data, nil
}
