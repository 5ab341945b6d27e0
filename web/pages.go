package web

import (
	"embed"
	"encoding/base64"
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

// pageTable returns the pages and forms. The preview is not among them, because it may be slow.
func pageTable() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"GET /{$}":                      conversationsPage,
		"GET /c/{name}":                 conversationPage,
		"GET /c/{name}/messages":        messagesPage,
		"GET /c/{name}/summaries/{id}":  summaryPage,
		"GET /c/{name}/settings":        settingsPage,
		"POST /c/{name}/settings":       settingsForm,
		"POST /c/{name}/{command}":      commandForm,
		"GET /memories":                 memoriesPage,
		"GET /memories/{id}":            memoryPage,
		"POST /memories/{id}/{command}": memoryForm,
		"GET /usage":                    usagePage,
		"GET /health":                   healthPage,
		"GET /chat":                     openChat,
		"GET /chat/{name}":              chatPage,
		"GET /chat/{name}/suggest":      suggest,
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
			if r.Method == http.MethodPost && r.ParseForm() != nil {
				return bad("The form cannot be read.")
			}
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
	return writePage(v.w, http.StatusOK, v.frame(title).around(g.Group(content)))
}

// frame returns the data of every page, and consumes the flash message.
func (v *visit) frame(title string) frame {
	f := frame{Title: title, Version: v.s.o.Version, LoggedIn: v.s.auth.needed, Flash: v.takeFlash()}
	here, _, _ := strings.Cut(strings.TrimPrefix(v.URL.Path, "/"), "/")
	if here == "c" { // the pages of a conversation
		here = ""
	}
	for _, one := range []link{{Name: "Conversations", Href: "/"}, {Name: "Chat", Href: "/chat"}, {Name: "Memories", Href: "/memories"}, {Name: "Usage", Href: "/usage"}, {Name: "Health", Href: "/health"}} {
		one.Here = one.Href == "/"+here
		f.Nav = append(f.Nav, one)
	}
	return f
}

const (
	noteCookie = "cairn_note"
	maxNote    = 2900 // bytes: browsers drop a cookie over 4096, and it is encoded
)

// redirectWithNote redirects to a page, which shows a note once.
func (v *visit) redirectWithNote(to, note string) error {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + " …"
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: noteCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(note)),
		Path: "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(v.w, v.Request, to, http.StatusSeeOther)
	return nil
}

func (v *visit) takeFlash() string {
	cookie, err := v.Cookie(noteCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(v.w, &http.Cookie{Name: noteCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	note, _ := base64.RawURLEncoding.DecodeString(cookie.Value) // an invalid value counts as no note
	return strings.ToValidUTF8(string(note), "")
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
	return writePage(v.w, p.Status, v.frame("This did not work").around(g.Group{
		heading("This did not work"),
		h.P(g.Text(p.Detail)),
		h.P(h.A(h.Href("/"), g.Text("Conversations"))),
	}))
}

// The pages show what the API returns and change things through it. They call it within the
// process, after the visitor has authenticated.

// ask makes a call to the API. Rejections are returned as *Problem.
func (v *visit) ask(method, path string, query url.Values, body, into any) error {
	text, err := v.s.API()(v.Context(), method, path, query, body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// get is ask for reads.
func (v *visit) get(path string, query url.Values, into any) error {
	return v.ask(http.MethodGet, path, query, nil, into)
}

// apiOf returns the API path of a conversation.
func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }

// bad returns a Problem with status 400.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }
