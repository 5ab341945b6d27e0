package web

import (
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/chart"
)

//go:embed templates static
var files embed.FS

// frame has the data of every page.
type frame struct {
	Title, Version string
	Nav            []link
	Flash          string
	LoggedIn       bool
}

type link struct {
	Name, Href string
	Here       bool
}

// pager has the links to the previous and next page; "" if there is none.
type pager struct{ Earlier, Later string }

// pages returns the templates, each with the layout. They are parsed when the first page is
// requested: a bot without a dashboard does not need their 3 MB.
var pages = sync.OnceValue(func() map[string]*template.Template {
	layout := template.Must(template.New("").Funcs(template.FuncMap{
		"page": pageOf, "day": day, "thousands": func(n any) string { return thousands(fmt.Sprint(n)) }, "fill": func(used, most int) windowFill { return windowFill{used, most} },
	}).ParseFS(files, "templates/layout.html"))
	made := map[string]*template.Template{}
	entries, _ := fs.ReadDir(files, "templates") // embedded, so it exists
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".html"); name != "layout" {
			made[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+entry.Name()))
		}
	}
	return made
})

// pageOf returns the path of a conversation's page.
func pageOf(name string) string { return "/c/" + url.PathEscape(name) }

// day formats a time, in the zone of the settings.
func day(t time.Time) string {
	t = t.Local()
	if t.Year() == time.Now().Year() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// thousands inserts spaces between thousands.
func thousands(text string) string {
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// windowFill is how full a window is.
type windowFill struct{ Used, Max int }

// Percent returns the fill in percent, with one decimal.
func (f windowFill) Percent() float64 { return float64(f.Used*1000/max(f.Max, 1)) / 10 }

// Class returns the CSS class that gives the bar its colour.
func (f windowFill) Class() string {
	switch {
	case f.Percent() < 80:
		return "good"
	case f.Percent() < 95:
		return "warn"
	}
	return "bad"
}

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
		return problem(http.StatusNotFound, "There is no such page.")
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

// show renders a page, or only the fragment that the query selects.
func (v *visit) show(name string, data any) error {
	part := "layout"
	if wanted := v.URL.Query().Get("fragment"); slices.Contains([]string{"live", "summary", "messages", "preview"}, wanted) {
		part = wanted
	}
	page := pages()[name]
	if page.Lookup(part) == nil {
		return bad("this page has no part of that name")
	}
	var out strings.Builder
	if err := page.ExecuteTemplate(&out, part, data); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.w.Write([]byte(out.String())) // the client may be gone
	return nil
}

// frame returns the data of every page, and consumes the flash message.
func (v *visit) frame(title string) frame {
	f := frame{Title: title, Version: v.s.o.Version, LoggedIn: v.s.auth.needed, Flash: v.takeFlash()}
	for _, one := range []link{{Name: "Conversations", Href: "/"}, {Name: "Chat", Href: "/chat"}, {Name: "Memories", Href: "/memories"}, {Name: "Usage", Href: "/usage"}, {Name: "Health", Href: "/health"}} {
		one.Here = v.URL.Path == one.Href || one.Href != "/" && strings.HasPrefix(v.URL.Path, one.Href+"/") || one.Href == "/" && strings.HasPrefix(v.URL.Path, "/c/")
		f.Nav = append(f.Nav, one)
	}
	return f
}

const noteCookie = "cairn_note"

// redirectWithNote redirects to a page, which shows a note once.
func (v *visit) redirectWithNote(to, note string) error {
	http.SetCookie(v.w, &http.Cookie{
		Name: noteCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(note)[:min(len(note), 2000)]),
		Path: "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(v.w, v.Request, to, http.StatusSeeOther)
	return nil
}

func (v *visit) takeFlash() string {
	cookie, err := v.Cookie(noteCookie)
	if err != nil || v.URL.Query().Has("fragment") {
		return ""
	}
	http.SetCookie(v.w, &http.Cookie{Name: noteCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	note, _ := base64.RawURLEncoding.DecodeString(cookie.Value) // an invalid value counts as no note
	return strings.ToValidUTF8(string(note), "")
}

// paged returns the links to the previous and next page of a list.
func (v *visit) paged(offset, limit, total int) (p pager) {
	at := func(offset int) string {
		q := v.URL.Query()
		q.Del("fragment")
		q.Set("offset", strconv.Itoa(offset))
		return v.URL.Path + "?" + q.Encode()
	}
	if offset > 0 {
		p.Earlier = at(max(offset-limit, 0))
	}
	if offset+limit < total {
		p.Later = at(offset + limit)
	}
	return p
}

// self returns the page's own URL, without the parameter that selects a fragment.
func (v *visit) self() string {
	q := v.URL.Query()
	q.Del("fragment")
	return (&url.URL{Path: v.URL.Path, RawPath: v.URL.RawPath, RawQuery: q.Encode()}).String()
}
