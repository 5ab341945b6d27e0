// The pages of the dashboard: they show what the API answers, and scripts make changes through it.

package web

import (
	"cmp"
	"context"
	"embed"
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

// pages are the pages, and the routes of the API whose parameters they have. The preview, a part of a page, is
// not among them, because it may be slow.
var pages = []struct {
	path, of string
	show     func(*visit) page
}{
	{"/{$}", "/api/conversations", conversationsPage},
	{"/c/{name}", "/api/conversations/{conversation}/history", tab("Overview", overview)},
	{"/c/{name}/messages", "/api/conversations/{conversation}/messages", tab("Messages", messages)},
	{"/c/{name}/settings", "", tab("Settings", settings)},
	{"/c/{name}/summaries/{summary}", "/api/conversations/{conversation}/summaries/{summary}", summaryPage},
	{"/c/{name}/people", "/api/conversations/{conversation}/people", tab("People", peoplePage)},
	{"/c/{name}/people/{person}", "/api/conversations/{conversation}/people/{person}", personPage},
	{"/memories", "/api/memories", memoriesPage},
	{"/memories/{id}", "", memoryPage},
	{"/usage", "/api/usage", usagePage},
	{"/health", "", healthPage},
	{"/log", "/api/log", logPage},
	{"/connectors", "", connectorsPage},
	{"/tools", "", toolsPage},
	{"/chat/{chat}", "", chatPage},
}

// page is what a visitor sees below the navigation.
type page struct {
	title   string
	content g.Node
	part    g.Node // of the content: scripts read it alone, with the parameter fragment; nil: none
}

// visit is a request for a page.
type visit struct {
	*request
	*dashboard
	err error // the first one; it replaces the page
}

// dashboard shows the pages.
type dashboard struct {
	endpoints *endpoints
	ready     func(ctx context.Context) (ok bool, parts []Part) // see Options
}

func (d *dashboard) register(t *router) {
	static, _ := fs.Sub(files, "static") // embedded, so it exists
	t.serve("GET /static/", plain(http.StripPrefix("/static/", http.FileServerFS(static))))
	t.serve("GET /static/chart.css", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(chart.CSS)) // the client may be gone
		return nil
	})
	routes := d.endpoints.routes()
	for _, one := range pages {
		params := []param{{name: "fragment", text: "only the part of the page that changes"}}
		for _, r := range routes {
			if r.pattern == "GET "+one.of {
				params = append(params, r.query...)
			}
		}
		t.handle("GET "+one.path, func(w http.ResponseWriter, r *http.Request) error {
			request, err := requestOf(r, params)
			if err != nil {
				return err
			}
			v := &visit{request: request, dashboard: d}
			switch p := one.show(v); {
			case v.err != nil:
				return v.err
			case !v.Has("fragment"):
				return writePage(w, http.StatusOK, t.frame(p.title, section(r), p.content))
			case p.part == nil:
				return bad("This page has no such part.")
			default:
				return writePage(w, http.StatusOK, p.part)
			}
		})
	}
	t.stream("GET /c/{name}/settings/preview", d.previewSettings)
	t.stream("GET /connectors/{connector}/check", d.checkConnector)
	t.handle("GET /chat", func(w http.ResponseWriter, r *http.Request) error { // leads to the chat that the form names
		http.Redirect(w, r, chatPageOf(cmp.Or(strings.TrimSpace(r.URL.Query().Get("name")), "general")), http.StatusSeeOther)
		return nil
	})
	t.handle("GET /chat/{chat}/suggest", d.endpoints.chats.suggest)
	t.serve("/", func(http.ResponseWriter, *http.Request) error {
		return problem(http.StatusNotFound, noPath+" A \"/\" in a name is written %%2F.")
	})
}

func (v *visit) fail(err error) { v.err = cmp.Or(v.err, err) }

// ask returns what the API answers to the parameters of the page; after an error it is empty.
func ask[T any](v *visit, read func(*request) (T, error)) T {
	answer, err := read(v.request)
	v.fail(err)
	return answer
}

func (v *visit) name() string { return v.PathValue("name") }

// enter sets the conversation of a page.
func (v *visit) enter(name string) (err error) {
	v.conversation, err = findConversation(v.Context(), v.endpoints.store, name)
	return err
}

// unspoken reports whether an error only means that nobody has written in a chat yet.
func unspoken(name string, err error) bool {
	chat, isChat := strings.CutPrefix(name, config.WebName+":")
	return isChat && validChatName().MatchString(chat) && statusOf(err) == http.StatusNotFound
}

// section returns the path of the section that a page belongs to.
func section(r *http.Request) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if first == "c" { // the pages of a conversation
		first = ""
	}
	return "/" + first
}

func (v *visit) pager(total int) g.Node {
	at := v.number("offset", 0)
	to := func(offset int, rel, text string) g.Node {
		return h.A(h.Href(v.with("offset", int64(offset))), h.Rel(rel), g.Text(text))
	}
	return g.If(at > 0 || pageSize < total, h.Nav(
		h.Class("pager"), h.Aria("label", "Pages of the list"),
		g.If(at > 0, to(max(at-pageSize, 0), "prev", "← Previous")),
		g.If(at+pageSize < total, to(at+pageSize, "next", "Next →")),
	))
}

// with returns the address of the page with another number as a parameter.
func (v *visit) with(name string, number int64) string {
	q := v.URL.Query()
	q.Del("fragment")
	q.Set(name, strconv.FormatInt(number, 10))
	return v.URL.EscapedPath() + "?" + q.Encode()
}

func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }
