// The API: its routes.
package web

// apiRoutes serves the API.
func (s *Server) apiRoutes() {
	s.stream("GET /api/events", s.watch)
}
