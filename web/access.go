// Access: checks of every request before it is routed, and authentication. Full access requires the token: programs
// send it with each request, browsers once per session.

package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"net/url"
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

const (
	maxBody      = 1 << 20
	maxLocalBody = 32 << 20 // at the socket in the data folder: a long line of a terminal, as JSON
)

// gate says who may make a request.
type gate struct {
	auth    auth
	hosts   []string       // see Options
	proxies []netip.Prefix // see Options
	limits  limits
}

// check rejects requests that come too fast, with a foreign host name, from a foreign page, or with
// a token where others can read it.
func (g *gate) check(r *http.Request, origin *http.CrossOriginProtection) error {
	if r.Context().Value(trusted{}) != nil {
		return nil
	}
	if !g.limits.of(g.clientOf(r)).requests.Allow() {
		return tooMany(time.Second)
	}
	// With another name, a page of another site could point that name at this server (DNS rebinding) and
	// would count as the same origin. That is impossible with an address.
	host := hostName(r.Host)
	isHost := func(name string) bool { return hostName(name) == hostName(r.Host) }
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && !slices.ContainsFunc(g.hosts, isHost) {
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
	guessEvery = 3 * time.Second // a wrong token of one client
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

// clientOf returns the address of a request's client: the other end of the connection or, if that is a proxy of the
// owner's, the last address of X-Forwarded-For that is none. Anybody can write the addresses before it.
func (g *gate) clientOf(r *http.Request) netip.Addr {
	end, _ := netip.ParseAddrPort(r.RemoteAddr)
	at := end.Addr().Unmap()
	isProxy := func(a netip.Addr) bool {
		return slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !isProxy(at) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		at = before.Unmap()
	}
	return at
}

// of returns the client at an address. A /64 network of IPv6 counts as one client.
func (l *limits) of(at netip.Addr) client {
	bits := 32
	if at.Is6() {
		bits = 64
	}
	key, _ := at.Prefix(bits)
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

const (
	sessionCookie = "cairn_session"
	sessionTime   = 30 * 24 * time.Hour
)

// auth stores only a hash of the token.
type auth struct {
	needed bool
	token  [sha256.Size]byte
	key    [sha256.Size]byte // signs sessions; a new token invalidates them
}

func newAuth(token string) auth {
	return auth{needed: token != "", token: sha256.Sum256([]byte(token)), key: sha256.Sum256([]byte("cairn session\x00" + token))}
}

// session returns the cookie value of a session that ends at until: the time and its signature.
func (a auth) session(until time.Time) string {
	end := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	mac := hmac.New(sha256.New, a.key[:])
	mac.Write(end)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(end))
}

// open reports whether value is the cookie of a session that has not expired.
func (a auth) open(value string, now time.Time) bool {
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(raw) < 8 {
		return false
	}
	end := time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)
	return hmac.Equal([]byte(value), []byte(a.session(end))) && now.Before(end)
}

// authenticate rejects requests without full access. Wrong tokens are rate limited.
func (g *gate) authenticate(r *http.Request) error {
	if !g.auth.needed || r.Context().Value(trusted{}) != nil {
		return nil
	}
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return g.guess(r, strings.TrimSpace(token))
	}
	if cookie, err := r.Cookie(sessionCookie); err == nil && g.auth.open(cookie.Value, time.Now()) {
		return nil
	}
	return problem(http.StatusUnauthorized, "A token is needed: send \"Authorization: Bearer …\", or log in at /login.")
}

// guess checks a token. The right one is always accepted: behind a proxy all clients have one
// address, and another's wrong tokens must not lock the owner out. Wrong ones are counted.
func (g *gate) guess(r *http.Request, token string) error {
	if hash := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(hash[:], g.auth.token[:]) == 1 {
		return nil
	}
	if !g.limits.of(g.clientOf(r)).guesses.Allow() {
		return tooMany(guessEvery)
	}
	return problem(http.StatusUnauthorized, "The token is wrong. Use the one in CAIRN_WEB_TOKEN or [web] token.")
}

// wantsPage reports whether a browser loads a page, as opposed to a script that asks for a part of one,
// or a program that asks for data.
func wantsPage(r *http.Request) bool {
	return !isAPI(r) && strings.Contains(r.Header.Get("Accept"), "text/html") && !r.URL.Query().Has("fragment")
}

// isAPI reports whether only programs use the path of a request.
func isAPI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == mcpPath
}

// localPath returns next if it is a path on this server that no browser interprets as another one, else "/".
func localPath(next string) string {
	u, err := url.Parse(next)
	isPath := strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.ContainsAny(next, "\\\r\n\t")
	if err != nil || u.Host != "" || u.Scheme != "" || !isPath {
		return "/"
	}
	return next
}
