// The login of browsers: a page that asks for the token, and the cookie of a session.

package web

import (
	"net/http"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// registerLogin registers the page that asks for the token.
func (t *router) registerLogin() {
	t.serve("GET /login", func(w http.ResponseWriter, r *http.Request) error {
		return t.loginPage(w, http.StatusOK, localPath(r.FormValue("next")), "")
	})
	t.serve("POST /login", t.logIn)
	t.serve("POST /logout", func(w http.ResponseWriter, r *http.Request) error {
		http.SetCookie(w, cookie(r, "", -1))
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return nil
	})
}

func (t *router) logIn(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.PostFormValue("next"))
	if t.gate.auth.needed {
		if err := t.gate.guess(r, strings.TrimSpace(r.PostFormValue("token"))); err != nil {
			p := problemOf(t.log, r, err)
			return t.loginPage(w, p.Status, next, p.Detail)
		}
		http.SetCookie(w, cookie(r, t.gate.auth.session(time.Now().Add(sessionTime)), int(sessionTime.Seconds())))
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// loginPage asks for the token; why is what was wrong with the last one.
func (t *router) loginPage(w http.ResponseWriter, status int, next, why string) error {
	return writePage(w, status, t.frame("Log in", "", h.Form(
		h.Method("post"), h.Action("/login"), h.Class("login"),
		h.H1(g.Text("Log in")),
		faint(
			g.Text("The token is in the file that "), h.Code(g.Text("token")), g.Text(" under "), h.Code(g.Text("[web]")),
			g.Text(" names, or in CAIRN_WEB_TOKEN."),
		),
		g.If(why != "", h.P(h.Class("note warn"), h.Role("alert"), g.Text(why))),
		hidden("next", next),
		h.Label(
			g.Text("Token "),
			h.Input(h.Type("password"), h.Name("token"), h.AutoComplete("current-password"), h.Required(), h.AutoFocus()),
		),
		button("main", "Log in"),
	)))
}
