// Files that people attach, and the recordings of voice messages.

package discordtest

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// File is a file attached by a person.
type File struct {
	Name, ContentType string
	Data              []byte
}

func (w *world) attach(m *Message, f File) *discordgo.MessageAttachment {
	id := w.newID()
	path := "/attachments/" + m.ChannelID + "/" + id + "/" + f.Name
	w.files[path] = f
	return &discordgo.MessageAttachment{
		ID: id, Filename: f.Name, ContentType: f.ContentType, Size: len(f.Data),
		URL: w.url + path, ProxyURL: w.url + path,
	}
}

// voice makes m a voice message: its flag, a recording as the only attachment, with its length and a waveform of at most 256 bytes, and
// nothing else (Discord, Message: Voice Messages).
func (m *Message) voice(p Post) {
	if p.Voice == 0 {
		return
	}
	if len(m.Attachments) != 1 || !strings.HasPrefix(m.Attachments[0].ContentType, "audio/") || m.Content != "" || len(p.Embeds)+len(p.Components) > 0 {
		panic("discordtest: a voice message has one recording, and nothing else")
	}
	m.Flags |= discordgo.MessageFlagsIsVoiceMessage
	m.Attachments[0].DurationSecs = p.Voice
	m.Attachments[0].Waveform = base64.StdEncoding.EncodeToString(make([]byte, min(256, 1+int(p.Voice*10))))
}

// serveFile requires no token. Requests and Fail also apply to downloads, by their path.
func (s *Server) serveFile(rw http.ResponseWriter, r *http.Request) {
	record := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	s.exchange(rw, r, record, func(w *world) answer {
		file, ok := w.files[r.URL.Path]
		if !ok {
			return answer{Status: http.StatusNotFound, Body: []byte("This content is no longer available.")}
		}
		return answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {file.ContentType}}, Body: file.Data}
	})
}
