package platform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// HTTP response bodies are read up to a limit, whatever length the server announces.

// MaxAnswer is the default limit, in bytes, of a response body; AtMost sets another.
const MaxAnswer = 32 << 20

// ErrTooLong is returned by reads of a body that is longer than its limit.
var ErrTooLong = errors.New("the answer is longer than its limit")

// Bounded is a transport that limits the size of response bodies, after decompression.
type Bounded struct{ http.RoundTripper }

func (b Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit, set := r.Context().Value(limitKey{}).(int64)
	if !set {
		limit = MaxAnswer
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: limit}
	return resp, nil
}

// CloseIdleConnections closes those of the wrapped transport; http.Client calls it.
func (b Bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type limitKey struct{}

// AtMost returns a context for requests whose response bodies are limited to limit bytes.
func AtMost(ctx context.Context, limit int) context.Context {
	return context.WithValue(ctx, limitKey{}, int64(limit))
}

// boundedBody is a body that fails with ErrTooLong after left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 { // one extra byte reveals a longer body
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), ErrTooLong
	}
	b.left -= int64(n)
	return n, err
}

// WithoutURL strips the URL from an error of net/http, because it may contain a token.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
