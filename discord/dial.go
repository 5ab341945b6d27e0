// The way to the gateway: straight, or through the proxy that the environment names.

package discord

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// dialer makes connections to the gateway. The library's own takes a proxy or shows us
// what it receives, but not both.
type dialer struct {
	proxy func(*http.Request) (*url.URL, error)
}

func (d dialer) plain(ctx context.Context, address string) (net.Conn, error) {
	return d.dial(ctx, "http", address)
}

func (d dialer) secure(ctx context.Context, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, "https", address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	secure := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return secure, nil
}

func (d dialer) dial(ctx context.Context, scheme, address string) (net.Conn, error) {
	proxy, err := d.proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: address}})
	if err != nil {
		return nil, fmt.Errorf("the proxy of the environment: %w", bare(err))
	}
	if proxy == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if proxy.Scheme != "http" {
		return nil, fmt.Errorf("a proxy of the kind %s leads to no gateway; it has to be http", proxy.Scheme)
	}
	port := proxy.Port()
	if port == "" {
		port = "80"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := tunnel(conn, proxy, address); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, ctx.Err()
}

// tunnel asks a proxy to pass everything on.
func tunnel(conn net.Conn, proxy *url.URL, address string) error {
	q := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		q.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := q.Write(conn); err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), q) // a gateway does not speak first
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy answered HTTP %d", resp.StatusCode)
	}
	return nil
}
