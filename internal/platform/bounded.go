package platform

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// HTTP response bodies are read up to a limit, whatever length the server announces.

// MaxAnswer is the default limit, in bytes, of a response body; AtMost sets another.
const MaxAnswer = 32 << 20

// TooLong reports whether err is from reading a body that is longer than its limit.
func TooLong(err error) bool {
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	return tooLong
}

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
	resp.Body = http.MaxBytesReader(nil, resp.Body, limit)
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

// WithoutURL strips the URL from an error of net/http, because it may contain a token.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
