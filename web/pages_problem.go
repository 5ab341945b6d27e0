// The page of a rejected request.

package web

import (
	"net/http"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// showProblem shows why a request was rejected, and links back.
func showProblem(v *visit, p *Problem) error {
	title, words := "This did not work", p.Detail
	f := v.frame(title)
	back := link{Name: "Conversations", Href: "/"}
	if i := slices.IndexFunc(f.Nav, func(l link) bool { return l.Here }); i >= 0 {
		back = f.Nav[i]
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		words, back = "You are not logged in, or your session has expired.", link{Name: "Log in", Href: "/login"}
	case p.Status == http.StatusNotFound:
		title = "Not found"
	case strings.HasPrefix(v.URL.Path, "/chat/") && v.Method == http.MethodPost:
		back = link{Name: "Back to the chat", Href: v.URL.EscapedPath()}
	}
	f.Title = title
	return writePage(v.w, p.Status, f.around(g.Group{
		heading(title),
		h.P(g.Text(words)),
		h.P(h.A(h.Href(back.Href), g.Text(back.Name))),
	}))
}
