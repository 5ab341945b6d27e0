// The pages of the dashboard: they show what the API answers, and scripts make changes through it.

package web

import (
	"cmp"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/config"
	"cairn/internal/chart"
)

//go:embed static
var files embed.FS

// pages are the pages. The preview, a part of one, is not among them, because it may be slow.
var pages = map[string]func(*visit) page{
	"GET /{$}":                     conversationsPage,
	"GET /c/{name}":                tab("Overview", overview),
	"GET /c/{name}/messages":       tab("Messages", messages),
	"GET /c/{name}/settings":       tab("Settings", settings),
	"GET /c/{name}/summaries/{id}": summaryPage,
	"GET /memories":                memoriesPage,
	"GET /memories/{id}":           memoryPage,
	"GET /usage":                   usagePage,
	"GET /health":                  healthPage,
	"GET /chat/{name}":             chatPage,
}

// page is what a visitor sees below the navigation.
type page struct {
	title   string
	content g.Node
	part    g.Node // of the content: scripts read it alone, with the parameter fragment; nil: none
}

// visit is a request for a page.
type visit struct {
	*http.Request
	s   *Server
	err error // the first one; the page is not shown
}

func (s *Server) pageRoutes() {
	static, _ := fs.Sub(files, "static") // embedded, so it exists
	s.serve("GET /static/", plain(http.StripPrefix("/static/", http.FileServerFS(static))))
	s.serve("GET /static/chart.css", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(chart.CSS)) // the client may be gone
		return nil
	})
	for pattern, show := range pages {
		s.handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
			v := &visit{Request: r, s: s}
			switch p := show(v); {
			case v.err != nil:
				return v.err
			case !r.URL.Query().Has("fragment"):
				return writePage(w, http.StatusOK, s.frame(p.title, section(r), p.content))
			case p.part == nil:
				return bad("This page has no part that is read alone.")
			default:
				return writePage(w, http.StatusOK, p.part)
			}
		})
	}
	s.stream("GET /c/{name}/settings/preview", s.previewSettings)
	s.handle("GET /chat", func(w http.ResponseWriter, r *http.Request) error { // leads to the chat that the form names
		http.Redirect(w, r, chatPageOf(cmp.Or(strings.TrimSpace(r.URL.Query().Get("name")), "general")), http.StatusSeeOther)
		return nil
	})
	s.handle("GET /chat/{name}/suggest", s.suggest)
	s.serve("/", func(http.ResponseWriter, *http.Request) error {
		return problem(http.StatusNotFound, "There is nothing at this path. A \"/\" in a name is written %%2F.")
	})
}

func (v *visit) fail(err error) { v.err = cmp.Or(v.err, err) }

// ask reads a T from the API, within the process; after an error it is empty.
func ask[T any](v *visit, path string, query url.Values) (answer T) {
	text, err := v.s.API()(v.Context(), http.MethodGet, path, query, nil)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	v.fail(err)
	return answer
}

func (v *visit) name() string { return v.PathValue("name") }

func (v *visit) param(name string) string { return v.URL.Query().Get(name) }

// offset returns the offset of the current page of a list.
func (v *visit) offset() int {
	n, _ := strconv.Atoi(v.param("offset"))
	return max(n, 0)
}

// unspoken reports whether a page has nothing to show because nobody has written in its chat yet, which is no error.
func (v *visit) unspoken(name string) bool {
	chat, isChat := strings.CutPrefix(name, config.WebName+":")
	if !isChat || !validChatName().MatchString(chat) || statusOf(v.err) != http.StatusNotFound {
		return false
	}
	v.err = nil
	return true
}

// section returns the path of the section that a page belongs to.
func section(r *http.Request) string {
	here, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if here == "c" { // the pages of a conversation
		here = ""
	}
	return "/" + here
}

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

func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }
