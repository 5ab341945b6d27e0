// Files shared by people (messaging/working-with-files).
package slacktest

import (
	"net/http"
	"path"
	"strings"
)

// File is the content of a file.
type File struct {
	Name     string
	Mimetype string // such as text/plain
	Content  []byte
}

type file struct {
	File
	id, owner string
}

func (s *Server) addFileLocked(f File, owner string) string {
	id := s.idLocked("F")
	s.files[id] = &file{File: f, id: id, owner: owner}
	return id
}

func (s *Server) fileObjectLocked(f *file) map[string]any {
	url := s.http.URL + "/files-pri/" + f.id + "/" + f.Name
	return map[string]any{
		"id": f.id, "name": f.Name, "title": f.Name, "mimetype": f.Mimetype, "size": len(f.Content), "user": f.owner,
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

// serveDownload returns a file if the Authorization header has the bot token
// (reference/objects/file-object#authentication). Otherwise it redirects to the sign-in page:
// finally a 200 with HTML, which is easily mistaken for the file.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("file")
	s.serve(w, r, "files.download", args{"file": id}, func() reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files[id]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+BotToken || !s.granted("files:read"):
			return reply{status: http.StatusFound, kind: "text/html", to: "/?redir=" + r.URL.Path, code: "not_authed"}
		case f == nil:
			return reply{status: http.StatusNotFound, kind: "text/html", body: []byte("<html>not found</html>"), code: "file_not_found"}
		}
		return reply{status: http.StatusOK, kind: f.Mimetype, body: f.Content}
	})
}

func (s *Server) serveSignIn(w http.ResponseWriter, _ *http.Request) {
	reply{status: http.StatusOK, kind: "text/html; charset=utf-8", body: []byte("<!DOCTYPE html><title>Sign in</title>")}.write(w)
}
