package platform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Bodies from HTTP servers are read up to a limit, whatever length they announce.

// MaxAnswer is the default limit, in bytes, of an answer to a platform's client; see AtMost.
const MaxAnswer = 32 << 20

// ErrTooLong is the error for a body longer than its limit.
var ErrTooLong = errors.New("the answer is longer than its limit")

// Bounded limits the bodies of answers after decompression. Every request of a platform's client
// goes through it.
type Bounded struct{ http.RoundTripper }

func (b Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	most, set := r.Context().Value(limitKey{}).(int64)
	if !set {
		most = MaxAnswer
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: most}
	return resp, nil
}

// CloseIdleConnections implements what http.Client calls on its transport.
func (b Bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type limitKey struct{}

// AtMost returns a context for requests whose answers are limited to most bytes.
func AtMost(ctx context.Context, most int) context.Context {
	return context.WithValue(ctx, limitKey{}, int64(most))
}

// boundedBody ends with ErrTooLong after left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 { // one byte more shows that it is longer
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), ErrTooLong
	}
	b.left -= int64(n)
	return n, err
}

// WithoutURL takes the address out of an error of net/http: it may hold a token.
func WithoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
