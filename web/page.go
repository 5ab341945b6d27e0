package web

import "net/http"

// pageRoutes serves the dashboard.
func (s *Server) pageRoutes() {
	s.handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		http.Redirect(w, r, "/api/conversations", http.StatusSeeOther)
		return nil
	})
}
