// The way through a proxy.

package discord

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

func TestTheGatewayIsReachedThroughAProxy(t *testing.T) {
	t.Parallel()
	beyond := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer beyond.Close()
	var copying sync.WaitGroup
	defer copying.Wait()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		copying.Add(1) // nobody else waits for a hijacked connection's handler
		defer copying.Done()
		if user, password, _ := parseBasic(q.Header.Get("Proxy-Authorization")); q.Method != http.MethodConnect || user != "ada" || password != "secret" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		to, err := net.Dial("tcp", q.Host)
		if err != nil {
			t.Error(err)
			return
		}
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
		copying.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
		copying.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
	}))
	defer proxy.Close()
	through := func(user *url.Userinfo, scheme string) dialer {
		u, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.Scheme = user, scheme
		return dialer{proxy: http.ProxyURL(u)}
	}
	address := strings.TrimPrefix(beyond.URL, "http://")
	conn, err := through(url.UserPassword("ada", "secret"), "http").plain(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	said, err := io.ReadAll(conn)
	_ = conn.Close()
	if err != nil || !strings.HasSuffix(string(said), "hello") {
		t.Errorf("through the proxy came %q, %v", said, err)
	}
	for _, d := range []dialer{through(nil, "http"), through(url.UserPassword("ada", "secret"), "socks5")} {
		if _, err := d.secure(t.Context(), address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("the error is %v", err)
		}
	}
}

func parseBasic(header string) (user, password string, ok bool) {
	return (&http.Request{Header: http.Header{"Authorization": {header}}}).BasicAuth()
}
