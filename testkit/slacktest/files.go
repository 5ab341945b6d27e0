// Files shared by people (messaging/working-with-files), and Slack's transcripts of recordings.

package slacktest

import (
	"fmt"
	"html"
	"net/http"
	"path"
	"strings"

	"github.com/slack-go/slack"
)

// File is the content of a file.
type File struct {
	Name     string
	Mimetype string // such as text/plain
	Content  []byte
	Seconds  float64 // of a voice clip, which a person has recorded in Slack
}

// described is a file object (reference/objects/file-object).
type described struct {
	slack.File
	Subtype string `json:"subtype,omitempty"` // no document describes it
}

type file struct {
	described
	content []byte
	vtt     string // the transcript of a recording
}

func (s *Server) addFileLocked(f File, owner string) string {
	id := s.idLocked("F")
	url := s.http.URL + "/files-pri/" + id + "/" + f.Name
	mode := "hosted"
	kind := strings.TrimPrefix(path.Ext(f.Name), ".")
	if f.Mimetype == "application/vnd.slack-docs" { // a canvas, as in answers of files.list and files.info that others recorded in 2026
		mode = "quip"
		kind = "quip"
	}
	made := &file{described: described{File: slack.File{
		ID: id, Name: f.Name, Title: f.Name, Mimetype: f.Mimetype, Size: len(f.Content), User: owner,
		Filetype: kind, Mode: mode, URLPrivate: url, URLPrivateDownload: url,
	}}, content: f.Content}
	if f.Seconds > 0 { // as others recorded in 2026: no document describes a clip
		made.Subtype = "slack_audio"
		made.DurationMs = int(f.Seconds * 1000)
		made.Transcription = &slack.FileTranscription{Status: "processing"}
	}
	s.files[id] = made
	return id
}

// maxPreview is how many characters of a transcript the file object has (judgement: no document says).
const maxPreview = 150

// Transcribe finishes the transcript of the only file of a message; an empty one fails. No event reports it.
func (s *Server) Transcribe(channelID, ts, said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustChannelLocked(channelID).find(ts)
	f := s.files[m.Files[0]]
	if said == "" {
		f.Transcription = &slack.FileTranscription{Status: "failed"}
		return
	}
	words := []rune(said)
	more := len(words) > maxPreview
	f.Transcription = &slack.FileTranscription{
		Status: "complete", Locale: "en-US", Preview: &slack.FileTranscriptionPreview{Content: string(words[:min(len(words), maxPreview)]), HasMore: &more},
	}
	f.VTT = s.http.URL + "/files-pri/" + f.ID + "/transcript.vtt"
	f.vtt = "WEBVTT\n\nNOTE made by Slack\n"
	for i, sentence := range strings.SplitAfter(said, ". ") {
		f.vtt += fmt.Sprintf("\n%d\n00:%02d:00.000 --> 00:%02d:59.000\n<v ann>%s</v>\n", i+1, i, i, strings.TrimSpace(html.EscapeString(sentence)))
	}
}

// fileInfo: reference/methods/files.info.
func (s *Server) fileInfo(a args) answer {
	a.need("file")
	f := s.files[a["file"]]
	refuseIf(f == nil, "file_not_found")
	return answer{"file": f.described, "comments": []any{}, "paging": answer{"count": 1, "total": 0, "page": 1, "pages": 0}}
}

// serveDownload returns a file if the Authorization header has the bot token (reference/objects/file-object#authentication).
// Otherwise it redirects to the sign-in page: finally a 200 with HTML, which is easily mistaken for the file.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("file")
	s.serve(w, r, "files.download", args{"file": id}, func() reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files[id]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+BotToken || !s.granted("files:read"):
			a := newReply(http.StatusFound, "text/html", nil)
			a.Header.Set("Location", "/?redir="+r.URL.Path)
			return a
		case f == nil:
			return newReply(http.StatusNotFound, "text/html", []byte("<html>not found</html>"))
		}
		if r.PathValue("name") == "transcript.vtt" && f.vtt != "" {
			return newReply(http.StatusOK, "text/vtt", []byte(f.vtt))
		}
		if f.Filetype == "quip" {
			return newReply(http.StatusOK, "text/html; charset=utf-8", f.content)
		}
		return newReply(http.StatusOK, f.Mimetype, f.content)
	})
}

func (s *Server) serveSignIn(w http.ResponseWriter, _ *http.Request) {
	newReply(http.StatusOK, "text/html; charset=utf-8", []byte("<!DOCTYPE html><title>Sign in</title>")).Write(w)
}
