// Files of messages: text and pictures are fetched, others only described.

package platform

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"cairn/channel"
)

// Limits of the files that are read.
const (
	MaxPictures = 4 // per message
	MaxPicture  = 5 << 20
	MaxText     = 1 << 20 // the first bytes of a text file; the token budget is smaller
)

// pictures are the types that models can see.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// texts are media types of text other than text/*, and file extensions of text, whatever the media
// type.
var texts = []string{
	"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
	"application/typescript", "application/x-httpd-php", "application/x-sh", "application/sql", "application/x-ndjson",
	".txt", ".md", ".log", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".html", ".css",
	".go", ".py", ".js", ".ts", ".tsx", ".java", ".kt", ".c", ".h", ".cpp", ".hpp", ".cs", ".rs", ".rb", ".php", ".sh", ".sql", ".diff", ".patch", ".tex",
}

// Files fetches the files of messages.
type Files struct {
	Tokens   int  // for text files, per message; 0: their contents are not read
	Pictures bool // fetch pictures, for models that can see

	// Fetch reads at most most bytes of a file. No bytes and no error: it is not available.
	Fetch func(ctx context.Context, url string, most int) ([]byte, error)
}

// isText reports whether a file is text. It also checks the name: Discord reports TypeScript as
// video.
func isText(a channel.Attachment) bool {
	kind, _, _ := strings.Cut(a.Type, ";")
	return strings.HasPrefix(kind, "text/") || slices.Contains(texts, kind) ||
		!strings.HasPrefix(kind, "image/") && slices.Contains(texts, strings.ToLower(path.Ext(a.Name)))
}

// Wanted reports whether the contents of a file should be fetched.
func (f Files) Wanted(a channel.Attachment) bool {
	if a.URL == "" || a.Text != "" || len(a.Data) > 0 || a.File != 0 {
		return false
	}
	return f.Tokens > 0 && isText(a) || f.Pictures && slices.Contains(pictures, a.Type) && a.Size <= MaxPicture
}

// Complete fetches text, within the token budget, and pictures. A file that cannot be fetched is
// left as it is; the error is the last one for which a retry may help.
func (f Files) Complete(ctx context.Context, all []channel.Attachment) (_ []channel.Attachment, failed error) {
	all = slices.Clone(all)
	files, shown := 0, 0
	for _, a := range all {
		if isText(a) {
			files++
		}
	}
	for i := range all {
		a := &all[i]
		text, most := isText(*a), MaxText
		if !text {
			most = MaxPicture + 1
		}
		if !f.Wanted(*a) || !text && shown == MaxPictures {
			continue
		}
		data, err := f.Fetch(ctx, a.URL, most)
		switch kind := http.DetectContentType(data); {
		case err != nil:
			failed = fmt.Errorf("fetch %s: %w", a.Name, err)
		case text:
			if said := strings.ToValidUTF8(string(data), ""); !strings.ContainsRune(said, 0) {
				a.Text = channel.Clip(said, f.Tokens/files)
			}
		case len(data) <= MaxPicture && slices.Contains(pictures, kind):
			a.Data, a.Type = data, kind
			shown++
		}
	}
	return all, failed
}
