package web

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/internal/chart"
)

//go:embed static
var files embed.FS

// pageTable returns the pages. The preview, a part of one, is not among them, because it may be slow.
func pageTable() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"GET /{$}":                     conversationsPage,
		"GET /c/{name}":                conversationPage,
		"GET /c/{name}/messages":       messagesPage,
		"GET /c/{name}/summaries/{id}": summaryPage,
		"GET /c/{name}/settings":       settingsPage,
		"GET /memories":                memoriesPage,
		"GET /memories/{id}":           memoryPage,
		"GET /usage":                   usagePage,
		"GET /health":                  healthPage,
		"GET /chat":                    openChat,
		"GET /chat/{name}":             chatPage,
		"GET /chat/{name}/suggest":     suggest,
	}
}

// pageRoutes registers the pages.
func (s *Server) pageRoutes() {
	static, _ := fs.Sub(files, "static") // embedded, so it exists
	s.serve("GET /static/", plain(http.StripPrefix("/static/", http.FileServerFS(static))))
	s.serve("GET /static/chart.css", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(chart.CSS)) // the client may be gone
		return nil
	})
	for path, page := range pageTable() {
		s.handle(path, func(w http.ResponseWriter, r *http.Request) error {
			return page(&visit{r, s, w})
		})
	}
	s.stream("GET /c/{name}/settings/preview", func(w http.ResponseWriter, r *http.Request) error {
		return previewPage(&visit{r, s, w})
	})
	s.serve("/", func(http.ResponseWriter, *http.Request) error {
		return problem(http.StatusNotFound, "There is nothing at this path. A \"/\" in a name is written %%2F.")
	})
}

// visit is a request for a page.
type visit struct {
	*http.Request
	s *Server
	w http.ResponseWriter
}

// name returns the conversation in the path.
func (v *visit) name() string { return v.PathValue("name") }

// offset returns the offset of the current page of a list.
func (v *visit) offset() int {
	n, err := strconv.Atoi(v.URL.Query().Get("offset"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// show writes a page, or only the part that the query selects: scripts fetch parts.
func (v *visit) show(title string, parts map[string]g.Node, content ...g.Node) error {
	if wanted := v.URL.Query().Get("fragment"); wanted != "" {
		part, known := parts[wanted]
		if !known {
			return bad("This page has no part with that name.")
		}
		return writePage(v.w, http.StatusOK, g.Group{part})
	}
	return writePage(v.w, http.StatusOK, v.s.frame(title, v.section(), content...))
}

// section returns the path of the section that the page belongs to.
func (v *visit) section() string {
	here, _, _ := strings.Cut(strings.TrimPrefix(v.URL.Path, "/"), "/")
	if here == "c" { // the pages of a conversation
		here = ""
	}
	return "/" + here
}

// pager links the previous and the next page of a list.
func (v *visit) pager(total int) g.Node {
	at, to := v.offset(), func(offset int, rel, text string) g.Node {
		q := v.URL.Query()
		q.Del("fragment")
		q.Set("offset", strconv.Itoa(offset))
		return h.A(h.Href(v.URL.Path+"?"+q.Encode()), h.Rel(rel), g.Text(text))
	}
	return g.If(at > 0 || pageSize < total, h.Nav(
		h.Class("pager"), h.Aria("label", "Pages of the list"),
		g.If(at > 0, to(max(at-pageSize, 0), "prev", "← Previous")),
		g.If(at+pageSize < total, to(at+pageSize, "next", "Next →")),
	))
}

// showProblem shows why a request was rejected, and links back.
func showProblem(v *visit, p *Problem) error {
	return writePage(v.w, p.Status, v.s.frame("This did not work", v.section(),
		heading("This did not work"),
		h.P(g.Text(p.Detail)),
		h.P(h.A(h.Href("/"), g.Text("Conversations"))),
	))
}

// get reads what a page shows from the API, within the process. Scripts make changes through the API.
func (v *visit) get(path string, query url.Values, into any) error {
	text, err := v.s.API()(v.Context(), http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// apiOf returns the API path of a conversation.
func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }
