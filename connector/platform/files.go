// Attached files: text and pictures are fetched, voice and PDFs become text elsewhere (voice.go, pdf.go), other files are only
// described. HTTP responses are read up to a limit, whatever length the server announces.

package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"cairn/channel"
	"cairn/internal/network"
)

// Limits for the files that are fetched.
const (
	MaxPictures = 4 // per message
	MaxPicture  = 5 << 20
	MaxText     = 1 << 20 // the first bytes of a text file; the token budget is smaller
)

var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// textTypes are the media types of text other than text/*, and the file extensions that mean text whatever the media type says.
var textTypes = []string{
	"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
	"application/typescript", "application/x-httpd-php", "application/x-sh", "application/sql", "application/x-ndjson",
	"application/vnd.slack-docs", // a canvas, see Files.Convert
	".txt", ".md", ".log", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".html", ".css",
	".go", ".py", ".js", ".ts", ".tsx", ".java", ".kt", ".c", ".h", ".cpp", ".hpp", ".cs", ".rs", ".rb", ".php", ".sh", ".sql", ".diff", ".patch", ".tex",
}

// Files fetches the files attached to messages.
type Files struct {
	Tokens   int  // for text files, per message; 0: text files are not fetched
	Pictures bool // fetch pictures, for models that can see

	// Fetch reads a file, up to the limit that WithLimit has set. It returns no bytes and no error if the file is not available.
	Fetch func(ctx context.Context, url string) ([]byte, error)

	// Convert converts the content of a text file, by its media type; nil: it stays as it is.
	Convert func(mediaType, content string) string

	// Transcript returns the platform's own transcript of a recording, for which it may wait; empty: there is none. nil: the platform
	// makes none.
	Transcript func(ctx context.Context, a channel.Attachment) string

	Voice *Transcriber // nil: no server transcribes voice
	PDF   *PDFReader   // nil: PDFs are not read
}

// KindOf returns what people call a file of a media type.
func KindOf(mediaType string) string {
	switch kind, _, _ := strings.Cut(mediaType, "/"); kind {
	case "image", "video", "audio":
		return kind
	}
	return "file"
}

// isText reports whether a file is text. It also checks the name: Discord reports TypeScript as video.
func isText(a channel.Attachment) bool {
	mediaType, _, _ := strings.Cut(a.Type, ";")
	return strings.HasPrefix(mediaType, "text/") || slices.Contains(textTypes, mediaType) ||
		!strings.HasPrefix(mediaType, "image/") && slices.Contains(textTypes, strings.ToLower(path.Ext(a.Name)))
}

// Wanted reports whether the contents of a file should be fetched.
func (f Files) Wanted(a channel.Attachment) bool {
	if a.URL == "" || a.Text != "" || a.Note != "" && a.Note != noteNotTranscribed || len(a.Data) > 0 || a.File != 0 {
		return false
	}
	return f.Tokens > 0 && (isText(a) || isPDF(a)) || isVoice(a) || f.Tokens > 0 && a.ID != "" ||
		f.Pictures && slices.Contains(pictureTypes, a.Type) && a.Size <= MaxPicture
}

// share returns how many tokens each text among the attachments may have.
func (f Files) share(all []channel.Attachment) int {
	texts := 0
	for _, a := range all {
		if isText(a) || isPDF(a) && f.PDF != nil || isVoice(a) && f.Voice != nil || a.ID != "" {
			texts++
		}
	}
	return f.Tokens / max(texts, 1)
}

// Complete returns a copy of the attachments with the texts and pictures that it could fetch; the error is the last one of Fetch.
func (f Files) Complete(ctx context.Context, all []channel.Attachment) (_ []channel.Attachment, failed error) {
	all = slices.Clone(all)
	images := 0
	share := f.share(all)
	for i := range all {
		a := &all[i]
		text := isText(*a)
		limit := MaxText
		if !text {
			limit = MaxPicture + 1
		}
		if !f.Wanted(*a) || isExtracted(*a) || !text && images == MaxPictures {
			continue
		}
		data, err := f.Fetch(WithLimit(ctx, limit), a.URL)
		switch detected := http.DetectContentType(data); {
		case err != nil && !TooLong(err):
			failed = fmt.Errorf("fetch %s: %w", a.Name, WithoutURL(err))
		case text:
			content := decodeText(data)
			if f.Convert != nil {
				content = f.Convert(a.Type, content)
			}
			if !strings.ContainsRune(content, 0) {
				a.Text = channel.Clip(content, share)
			}
		case len(data) <= MaxPicture && slices.Contains(pictureTypes, detected):
			a.Data = data
			a.Type = detected
			images++
		}
	}
	return all, failed
}

// decodeText decodes a text file: UTF-8, UTF-16 with a byte order mark, or what Windows writes in Western Europe.
func decodeText(data []byte) string {
	text := strings.ToValidUTF8(string(data), "")
	if invalid, valid := len(data)-len(text), len(text)-utf8.RuneCountInString(text); invalid > valid { // otherwise it is UTF-8, perhaps with flaws or cut off
		encoding, _, _ := charset.DetermineEncoding(data, "")
		decoded, _ := encoding.NewDecoder().Bytes(data) // what is invalid becomes U+FFFD
		text = string(decoded)
	}
	return strings.TrimPrefix(text, "\ufeff")
}

// MaxAnswer is the default limit, in bytes, of a response body; WithLimit sets another.
const MaxAnswer = 32 << 20

// TooLong reports whether err is from reading a body that is longer than its limit.
func TooLong(err error) bool {
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	return tooLong
}

// Bounded is a transport that limits the size of response bodies, after decompression. It also reads the platform's clock.
type Bounded struct {
	*http.Transport
	Clock *Clock
}

func (b Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, network.OfProxy(r.URL, err)
	}
	limit, set := r.Context().Value(limitKey{}).(int64)
	if !set { // not a file, which may be on another server
		limit = MaxAnswer
		b.Clock.note(resp.Header, sent, time.Now())
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, limit)
	return resp, nil
}

type limitKey struct{}

// WithLimit returns a context for requests whose response bodies are limited to limit bytes.
func WithLimit(ctx context.Context, limit int) context.Context {
	return context.WithValue(ctx, limitKey{}, int64(limit))
}

// WithoutURL strips the URL from an error of net/http, because it may contain a token.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
