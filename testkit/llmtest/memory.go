// A client whose requests reach a handler in memory.

package llmtest

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// InMemory returns a client that calls a handler, a Server for example, without a network: whatever
// the host and the path before /v1/. In a bubble of synctest only the bubble's own time passes.
func InMemory(h http.Handler) *http.Client { return &http.Client{Transport: memory{h}} }

// RoundTrip is a transport without a network.
type RoundTrip func(*http.Request) (*http.Response, error)

func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type memory struct{ http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = r.URL.Path[max(strings.LastIndex(r.URL.Path, "/v1/"), 0):]
	body, out := io.Pipe()
	stop := context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
	w := &memoryWriter{Writer: out, started: make(chan *http.Response, 1)}
	w.resp = &http.Response{Header: http.Header{}, Body: body, Request: r}
	go func() {
		defer stop()
		defer out.Close()
		m.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
	}()
	select {
	case resp := <-w.started:
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// memoryWriter starts the response at the first write.
type memoryWriter struct {
	io.Writer
	resp    *http.Response
	started chan *http.Response
}

func (w *memoryWriter) Header() http.Header { return w.resp.Header }
func (w *memoryWriter) Flush()              { w.WriteHeader(http.StatusOK) }

func (w *memoryWriter) WriteHeader(status int) {
	if w.resp.StatusCode == 0 {
		w.resp.StatusCode = status
		w.started <- w.resp
	}
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.Writer.Write(p)
}
