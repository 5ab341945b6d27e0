// Attachments: stored here, and served as Discord's CDN does, to anybody.
package discordtest

import (
	"net/http"
	"time"
)

// File is what a person attaches.
type File struct {
	Name, ContentType string
	Data              []byte
}

// Attachment is a file in a message; the double serves its URL.
type Attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type,omitempty"`
	Size        int    `json:"size"`
	URL         string `json:"url"`
	ProxyURL    string `json:"proxy_url"`
}

// attach stores a file and returns where it can be had.
func (w *world) attach(m *Message, f File) Attachment {
	id := w.newID()
	path := "/attachments/" + m.ChannelID + "/" + id + "/" + f.Name
	w.files[path] = f
	return Attachment{
		ID: id, Filename: f.Name, ContentType: f.ContentType, Size: len(f.Data),
		URL: w.url + path, ProxyURL: w.url + path,
	}
}

// serveFile needs no token. Requests and Fail know downloads too, by their path.
func (s *Server) serveFile(rw http.ResponseWriter, r *http.Request) {
	record := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	s.exchange(rw, r, record, func(w *world, f *Fault) answer {
		if f != nil && f.breaks() {
			return f.answer()
		}
		file, ok := w.files[r.URL.Path]
		if !ok {
			return answer{status: http.StatusNotFound, body: []byte("This content is no longer available.")}
		}
		return answer{status: http.StatusOK, header: http.Header{"Content-Type": {file.ContentType}}, body: file.Data}
	})
}
