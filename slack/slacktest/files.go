// Files: those that people share, and those that the app uploads
// (messaging/working-with-files).
package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// File is what is in a file.
type File struct {
	Name     string
	Mimetype string // such as text/plain
	Content  []byte
}

type file struct {
	File
	id, owner string
	title     string
	length    int  // announced for an upload
	received  bool // the bytes are here
	complete  bool // it can be shared and read
}

func (s *Server) addFileLocked(f File, owner string) string {
	id := s.idLocked("F")
	s.files[id] = &file{File: f, id: id, owner: owner, title: f.Name, received: true, complete: true}
	return id
}

// FileContent returns what is in a file; nil if there is no such file.
func (s *Server) FileContent(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[id]; f != nil {
		return append([]byte{}, f.Content...)
	}
	return nil
}

func (s *Server) fileObjectLocked(f *file) map[string]any {
	url := s.http.URL + "/files-pri/" + f.id + "/" + f.Name
	return map[string]any{
		"id": f.id, "name": f.Name, "title": f.title, "mimetype": f.Mimetype, "size": len(f.Content), "user": f.owner,
		"filetype": strings.TrimPrefix(path.Ext(f.Name), "."), "mode": "hosted", "is_external": false,
		"url_private": url, "url_private_download": url,
	}
}

func (s *Server) fileObjectsLocked(ids []string) []map[string]any {
	objects := make([]map[string]any, len(ids))
	for i, id := range ids {
		objects[i] = s.fileObjectLocked(s.files[id])
	}
	return objects
}

func (s *Server) fileInfo(a args) (answer, error) {
	f := s.files[a["file"]]
	if f == nil || !f.complete {
		return nil, refuse("file_not_found")
	}
	return answer{"file": s.fileObjectLocked(f), "comments": []any{}}, nil
}

// serveDownload gives a file to who shows the bot token in the Authorization header
// (reference/objects/file-object#authentication). Anybody else is sent to the sign-in page: a 200 with HTML
// in the end, which is easily taken for the file.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("file")
	s.serve(w, r, "files.download", args{"file": id}, func() reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files[id]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+BotToken || s.scopeLocked("files.download", nil) != nil:
			return reply{status: http.StatusFound, kind: "text/html", to: "/?redir=" + r.URL.Path, code: "not_authed"}
		case f == nil || !f.complete:
			return reply{status: http.StatusNotFound, kind: "text/html", body: []byte("<html>not found</html>"), code: "file_not_found"}
		}
		return reply{status: http.StatusOK, kind: f.Mimetype, body: f.Content}
	})
}

func (s *Server) serveSignIn(w http.ResponseWriter, _ *http.Request) {
	reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: []byte("<!DOCTYPE html><title>Sign in</title>")}.write(w)
}

// uploadURL is the first of three steps: a name and a length for a URL.
func (s *Server) uploadURL(a args) (answer, error) {
	length, err := strconv.Atoi(a["length"])
	if err != nil || length <= 0 || a["filename"] == "" {
		return nil, refuse("missing_argument")
	}
	f := &file{File: File{Name: a["filename"], Mimetype: "application/octet-stream"}, id: s.idLocked("F"), owner: BotUserID, length: length}
	f.title = f.Name
	s.files[f.id] = f
	return answer{"upload_url": s.http.URL + "/upload/" + f.id, "file_id": f.id}, nil
}

// serveUpload is the second step: the bytes, as a form with a file in it or as they are.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("file")
	content, err := uploaded(r)
	s.serve(w, r, "files.upload", args{"file": id}, func() reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files[id]
		if f == nil || f.complete || err != nil || len(content) != f.length {
			return reply{status: http.StatusBadRequest, kind: "text/plain", body: []byte("not what was announced"), code: "bad_upload"}
		}
		f.Content, f.received = content, true
		return reply{status: http.StatusOK, kind: "text/plain", body: fmt.Appendf(nil, "OK - %d", len(content))}
	})
}

func uploaded(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return io.ReadAll(r.Body)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, fmt.Errorf("no file in the form: %w", err)
		}
		if part.FileName() != "" {
			return io.ReadAll(part)
		}
	}
}

// completeUpload is the third step: files whose bytes are there are shared, in a channel if one is
// named, with initial_comment as the text of the message.
func (s *Server) completeUpload(a args) (answer, error) {
	var wanted []struct{ ID, Title string }
	if json.Unmarshal([]byte(a["files"]), &wanted) != nil || len(wanted) == 0 {
		return nil, refuse("invalid_arguments", "[ERROR] missing required field: files")
	}
	ids := make([]string, len(wanted))
	for i, w := range wanted {
		if f := s.files[w.ID]; f == nil || !f.received || f.complete {
			return nil, refuse("file_not_found")
		}
		ids[i] = w.ID
	}
	var c *channel
	var thread string
	if a["channel_id"] != "" {
		var err error
		if c, err = s.postableLocked(a["channel_id"]); err != nil {
			return nil, err
		}
		if thread, err = s.threadLocked(c, a["thread_ts"]); err != nil {
			return nil, err
		}
	}
	for _, w := range wanted {
		if s.files[w.ID].complete = true; w.Title != "" {
			s.files[w.ID].title = w.Title
		}
	}
	if c != nil {
		m := s.ownMessageLocked(c, thread, content{text: a["initial_comment"]})
		m.Files = ids
		s.addMessageLocked(c, m)
	}
	return answer{"files": s.fileObjectsLocked(ids)}, nil
}
