package platform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// What others send over HTTP is read up to a limit, whatever they announce.

// MaxAnswer is how many bytes of an answer to a platform's client are read, unless AtMost
// says otherwise.
const MaxAnswer = 32 << 20

// ErrTooLong is the error of a body that is longer than its limit.
var ErrTooLong = errors.New("the answer is longer than its limit")

// Bounded limits the bodies of answers, as they are after decompression. Every request of
// a platform's client goes through it.
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

// CloseIdleConnections is for http.Client, which asks its transport for it.
func (b Bounded) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type limitKey struct{}

// AtMost is the context of requests of whose answers so many bytes are read.
func AtMost(ctx context.Context, most int) context.Context {
	return context.WithValue(ctx, limitKey{}, int64(most))
}

// boundedBody is a body that ends with ErrTooLong after as many bytes as are left.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 { // one byte more tells that it is longer
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
