// Package network says in words why a server cannot be reached.
package network

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"golang.org/x/net/http/httpproxy"
)

// ProxyError means that the proxy of the environment cannot be reached, and therefore nothing behind it.
type ProxyError struct {
	Proxy    string // its address, without a password
	Variable string // that names it: "HTTPS_PROXY"
	Err      error  // of the connection to it
}

func (e *ProxyError) Error() string { return fmt.Sprintf("%s: %v", e.what(), e.Err) }

func (e *ProxyError) Unwrap() error { return e.Err }

func (e *ProxyError) what() string {
	return fmt.Sprintf("the proxy %s of %s cannot be reached", e.Proxy, e.Variable)
}

// OfProxy returns a *ProxyError if err, of a request to target, is that the environment's proxy cannot be reached; else err.
// A failed request names the target in its text, as if that was down.
func OfProxy(target *url.URL, err error) error {
	var op *net.OpError
	if !errors.As(err, &op) {
		return err
	}
	failed := err
	switch op.Op {
	case "proxyconnect": // of net/http
		failed = op.Err
	case "dial": // of a WebSocket: it dials nothing but the proxy
	default:
		return err
	}
	proxy, _ := httpproxy.FromEnvironment().ProxyFunc()(target) // a wrong address is another error
	if proxy == nil {
		return err
	}
	shown := *proxy
	shown.User = nil
	return &ProxyError{shown.String(), variableFor(target.Scheme), failed}
}

// variableFor returns the name of the variable with the proxy for a scheme. They also have names in lower case.
func variableFor(scheme string) string {
	name := strings.ToUpper(scheme) + "_PROXY"
	if os.Getenv(name) == "" {
		return strings.ToLower(name)
	}
	return name
}

// Explain says in words why the server at address cannot be reached, and what to do; nil if err is another failure.
func Explain(address string, err error) error {
	var proxy *ProxyError
	var dns *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var failed net.Error
	var request *url.Error
	switch {
	case errors.As(err, &proxy):
		return fmt.Errorf("%s: start it, or correct or unset the variable", proxy.what())
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host named %s: correct the address, or check the network and DNS", dns.Name)
	case errors.As(err, &dns):
		return fmt.Errorf("the address of %s cannot be looked up now: check the network and DNS", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: start the server, or correct the address", address)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return fmt.Errorf("there is no route to %s: check the network, or correct the address", address)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the server at %s speaks HTTP, not HTTPS: write http:// if the network between them is trusted", address)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of %s is not valid for this machine: %w; correct the address, or install the certificate", address, certificate.Err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &failed) && failed.Timeout():
		return fmt.Errorf("%s does not answer in time: check the load of the server, or correct the address", address)
	case op != nil, errors.As(err, &request) && request.Op != "parse" && !errors.Is(err, context.Canceled):
		return fmt.Errorf("the answer from %s cannot be read: check that the right server runs there, or correct the address", address)
	}
	return nil
}
