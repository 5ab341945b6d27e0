// The guard: checks of every request before it is routed.

package web

import (
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// contentPolicy allows a page to load only from this server, and forbids inline scripts and styles.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var headers = map[string]string{
	"Content-Security-Policy":      contentPolicy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

const maxBody = 1 << 20

// guarded passes a request on to h after all checks that do not depend on the route.
func (s *Server) guarded(h http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		defer s.recoverHandler(w, r)
		if err := s.check(r, origin); err != nil {
			s.fail(w, r, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		h.ServeHTTP(w, r)
	})
}

func (s *Server) recoverHandler(w http.ResponseWriter, r *http.Request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p) // handled by net/http
	default:
		s.o.Log.Error("web_panicked", "route", r.Pattern, "panic", p, "stack", string(debug.Stack()))
		s.fail(w, r, problem(http.StatusInternalServerError, "This is a bug in Cairn; the log has the details."))
	}
}

// check rejects requests that come too fast, with a foreign host name, from a foreign page, or with
// a token where others can read it.
func (s *Server) check(r *http.Request, origin *http.CrossOriginProtection) error {
	if !s.limits.of(r).requests.Allow() {
		return tooMany(time.Second)
	}
	// With another name, a page of another site could point its own name at this server (DNS rebinding) and
	// would count as the same origin. That is impossible with an address.
	host, isHost := hostName(r.Host), func(name string) bool { return hostName(name) == hostName(r.Host) }
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && !slices.ContainsFunc(s.o.Hosts, isHost) {
		return problem(http.StatusMisdirectedRequest, "The server does not answer to the name %q. Add it to hosts under [web] if it is yours.", host)
	}
	if err := origin.Check(r); err != nil {
		return problem(http.StatusForbidden, "The request comes from another site: %v.", err)
	}
	if site := r.Header.Get("Sec-Fetch-Site"); isAPI(r) && (site == "cross-site" || site == "same-site") {
		return problem(http.StatusForbidden, "The request comes from a page of another site, which may not use the API.")
	}
	query := r.URL.Query()
	if r.URL.User != nil || query.Has("token") || query.Has("access_token") {
		return bad("A token in a URL ends up in logs and browser histories. Send it as \"Authorization: Bearer …\".")
	}
	return nil
}

// hostName returns the host of a Host header, without port and trailing dot.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

const (
	guessEvery = 3 * time.Second // wrong tokens of one client
	guessBurst = 10
	maxClients = 4096 // that are tracked
)

// client limits an IP address or an IPv6 network.
type client struct{ requests, guesses *rate.Limiter }

// limits tracks clients; if there are too many it forgets all.
type limits struct {
	mu      sync.Mutex // guards clients
	clients map[netip.Prefix]client
}

// of returns the client of a request. A /64 network of IPv6 counts as one client.
func (l *limits) of(r *http.Request) client {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	bits := 32
	if at.Addr().Unmap().Is6() {
		bits = 64
	}
	key, _ := at.Addr().Unmap().Prefix(bits)
	l.mu.Lock()
	defer l.mu.Unlock()
	c, known := l.clients[key]
	if !known {
		if l.clients == nil || len(l.clients) >= maxClients {
			l.clients = make(map[netip.Prefix]client)
		}
		c = client{rate.NewLimiter(50, 300), rate.NewLimiter(rate.Every(guessEvery), guessBurst)}
		l.clients[key] = c
	}
	return c
}
