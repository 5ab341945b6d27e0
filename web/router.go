// Requests: each is checked, passed on to its handler, and answered with a problem if that fails.

package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
)

const (
	answerTimeout = 30 * time.Second // for handlers that are not streams
	writeTimeout  = time.Minute      // of a full answer, and of each write of a stream
)

// router passes requests on to handlers, which it registers by the access that they require.
type router struct {
	mux     *http.ServeMux
	gate    *gate
	fleet   *channel.Fleet // nil: there are no other processes
	version string         // see Options
	log     *slog.Logger

	streams context.Context // canceled when streams must end
	running sync.WaitGroup  // streams, and what else Run waits for
}

func newRouter(gate *gate, fleet *channel.Fleet, version string, log *slog.Logger) *router {
	return &router{mux: http.NewServeMux(), gate: gate, fleet: fleet, version: version, log: log, streams: context.Background()}
}

// compressible are the types of answers that are compressed. Events are not: each has to arrive when it is written.
var compressible = []string{"text/html", "text/css", "text/javascript", "text/markdown", "application/json", "application/problem+json", "image/svg+xml"}

// compressed compresses answers for clients that accept it.
func compressed(to http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.ContentTypes(compressible))
	if err != nil { // a programming error: a wrong option
		panic(err)
	}
	return wrap(to)
}

// guarded passes requests on to their handlers after all checks that do not depend on the route.
func (t *router) guarded() http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		defer t.recoverHandler(w, r)
		if err := t.gate.check(r, origin); err != nil {
			t.fail(w, r, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		t.mux.ServeHTTP(w, r)
	})
}

// recovered passes requests on without checks.
func (t *router) recovered() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer t.recoverHandler(w, r)
		t.mux.ServeHTTP(w, r)
	})
}

func (t *router) recoverHandler(w http.ResponseWriter, r *http.Request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p) // handled by net/http
	default:
		t.log.Error("web_panicked", "route", r.Pattern, "panic", p, "stack", string(debug.Stack()))
		t.fail(w, r, problem(http.StatusInternalServerError, "This is a bug in Cairn; the log has the details."))
	}
}

// handler handles a request. An error is sent as a problem, see fail.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle registers a handler that requires full access, with answerTimeout.
func (t *router) handle(pattern string, h handler) {
	t.private(pattern, func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		return t.byOwner(h, false)(w, r.WithContext(ctx))
	})
}

// stream is handle without a time limit: a simulation may begin to answer late, and events never end.
// The context ends when the client disconnects or the server closes.
func (t *router) stream(pattern string, h handler) {
	t.private(pattern, func(w http.ResponseWriter, r *http.Request) error {
		t.running.Add(1)
		defer t.running.Done()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(t.streams, cancel)()
		err := h(streamWriter{w}, r.WithContext(ctx))
		if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
			return channel.ErrClosed
		}
		return err
	})
}

// streamWriter limits the time of each write, so that a client that stops reading blocks nothing.
type streamWriter struct{ http.ResponseWriter }

func (w streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w streamWriter) Write(text []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout)) // fails only within the process
	return w.ResponseWriter.Write(text)
}

func (t *router) private(pattern string, h handler) {
	t.serve(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if err := t.gate.authenticate(r); err != nil {
			return err
		}
		return h(w, r)
	})
}

// serve registers a handler that requires no access.
func (t *router) serve(pattern string, h handler) {
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			t.fail(w, r, err)
		}
	})
}

func plain(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}

// fail responds with a problem, or with nothing if the client is gone.
func (t *router) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	p := problemOf(t.log, r, err)
	if p.Status == http.StatusUnauthorized {
		if wantsPage(r) {
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="cairn"`)
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(p.retry.Seconds())))
	}
	if !wantsPage(r) {
		writeJSON(w, p.Status, "application/problem+json", p)
		return
	}
	_ = writePage(w, p.Status, t.frame("This did not work", section(r), // only rendering can fail
		heading("This did not work"), h.P(g.Text(p.Detail)), h.P(h.A(h.Href("/"), g.Text("Conversations"))),
	))
}
