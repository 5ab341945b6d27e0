package web

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/check"
)

// Each route is in the description, answers, and rejects unknown input.
func TestEveryRouteIsDescribedAndAnswers(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk("terminal:garden", 1)
	var doc struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	text := r.do(200, &doc, "GET", "/api/openapi.json", "")
	if doc.OpenAPI != "3.1.0" || strings.Contains(text, `"schema":{}`) && !strings.Contains(text, "additionalProperties") {
		t.Error(text)
	}
	described := 0
	for _, methods := range doc.Paths {
		described += len(methods)
	}
	routes := r.server.routes()
	check.Equal(t, "described routes", described, len(routes))
	for _, route := range routes {
		if doc.Paths[route.path][strings.ToLower(route.method)] == nil {
			t.Errorf("%s is not described", route.pattern())
		}
		path := strings.NewReplacer("{name}", "terminal:garden", "{id}", "1").Replace(route.path)
		resp := r.request(route.method, path+"?no_such_parameter=1", "")
		check.Equal(t, route.pattern()+": status", resp.StatusCode, http.StatusBadRequest)
		check.Equal(t, "Content-Type", resp.Header.Get("Content-Type"), "application/problem+json")
	}
	r.do(404, nil, "DELETE", "/api/conversations", "")
	r.do(404, nil, "GET", "/api/nothing", "")
}
