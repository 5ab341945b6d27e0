package network

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"testing"

	"cairn/testkit/check"
)

func TestOfProxy(t *testing.T) {
	for _, variable := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
		t.Setenv(variable, "")
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for claim, c := range map[string]struct {
		variable, proxy, target string
		err                     error
		want                    string
	}{
		"of HTTPS": {
			"HTTPS_PROXY", "http://127.0.0.1:1", "https://discord.com", &url.Error{Op: "Get", URL: "https://discord.com", Err: &net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}},
			"the proxy http://127.0.0.1:1 of HTTPS_PROXY cannot be reached: dial tcp: connection refused",
		},
		"in lower case, of a WebSocket, without its password": {
			"https_proxy", "http://ada:secret@proxy.example:3128", "https://gateway.example", refused,
			"the proxy http://proxy.example:3128 of https_proxy cannot be reached: dial tcp: connection refused",
		},
		"without a scheme, of HTTP": {
			"HTTP_PROXY", "127.0.0.1:1", "http://models.example/v1", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused},
			"the proxy http://127.0.0.1:1 of HTTP_PROXY cannot be reached: dial tcp: connection refused",
		},
		"not where no proxy is used":          {"HTTPS_PROXY", "http://127.0.0.1:1", "http://127.0.0.1:8080", refused, refused.Error()},
		"not of another failure":              {"HTTPS_PROXY", "http://127.0.0.1:1", "https://discord.com", context.Canceled, "context canceled"},
		"not of a server behind it that cuts": {"HTTPS_PROXY", "http://127.0.0.1:1", "https://discord.com", &net.OpError{Op: "read", Err: net.ErrClosed}, "read: use of closed network connection"},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Setenv(c.variable, c.proxy)
			target, err := url.Parse(c.target)
			check.NoError(t, err)
			check.Equal(t, "the error", OfProxy(target, c.err).Error(), c.want)
			check.That(t, errors.Is(OfProxy(target, c.err), c.err) || errors.Is(OfProxy(target, c.err), refused), "the cause is lost")
		})
	}
}

// What net/http returns for a dead proxy is what OfProxy recognizes.
func TestOfProxyOfTheLibrary(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	dead := func(*http.Request) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	client := &http.Client{Transport: &http.Transport{Proxy: dead}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://discord.invalid/", nil)
	check.NoError(t, err)
	_, err = client.Do(r) //nolint:bodyclose // it fails
	var found *ProxyError
	check.Require(t, errors.As(OfProxy(r.URL, err), &found), "got %v", err)
	var op *net.OpError
	check.That(t, errors.As(found, &op) && op.Op == "dial", "it does not say that the request was never sent: %v", found)
}
