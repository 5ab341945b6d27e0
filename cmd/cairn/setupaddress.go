// Addresses in cairn setup: what a person meant by one, and what is wrong with it, in words.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"cairn/config"
	"cairn/internal/network"
	"cairn/llm"
)

// endpoints are the paths of requests, which people copy with the address.
var endpoints = []string{"/chat/completions", "/completions", "/responses", "/models"}

// addressTimeout limits the wait for a server at one address.
const addressTimeout = 10 * time.Second

var errNoAddress = errors.New(`the server's address must look like "` + usualServer + `", without a user name, "?" or "#"`)

// addresses returns what a person may have meant by an address, most likely first: with the scheme and
// the /v1 that are missing, without the path of a request.
func addresses(typed string) (all []string, err error) {
	given, rest, hasScheme := strings.Cut(typed, "://")
	if !hasScheme {
		given = ""
		rest = typed
	}
	u, err := url.Parse("http://" + strings.TrimRight(rest, "/"))
	if err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(rest, "?#") {
		return nil, usage(errNoAddress)
	}
	schemes := []string{"https", "http"} // a key must not travel in the clear where there is another way
	switch scheme := strings.ToLower(given); {
	case scheme == "http", scheme == "" && isLocal(u.Hostname()):
		schemes = []string{"http", "https"}
	case scheme == "https" && !isLocal(u.Hostname()):
		schemes = []string{"https"}
	case scheme != "" && scheme != "https":
		return nil, usage(errNoAddress)
	}
	base := u.Host + u.Path
	for _, path := range endpoints {
		base = strings.TrimRight(strings.TrimSuffix(base, path), "/")
	}
	for _, scheme := range schemes {
		if !strings.HasSuffix(base, "/v1") && !strings.HasSuffix(base, "/messages") {
			all = append(all, scheme+"://"+base+"/v1")
		}
		all = append(all, scheme+"://"+base)
	}
	return all, nil
}

// isLocal reports whether a host is this machine, or one of its network.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local")
}

// findServer returns the first address a person may have meant at which there is a model server. The key is not sent.
func (s *setup) findServer(ctx context.Context, typed string) (string, error) {
	candidates, err := addresses(typed)
	if err != nil {
		return "", err
	}
	var failed error
	answering := "" // an address where a server answers
	for _, address := range candidates {
		err := tryAddress(ctx, address)
		if err == nil || llm.KindOf(err) == llm.KindAuth {
			return address, nil
		}
		if ctx.Err() != nil {
			return "", err
		}
		if answeredOverHTTP(err) && !speaksTLS(err) && answering == "" {
			answering = address
			failed = fmt.Errorf("a server answers at %s, but lists no models there: correct the address, which usually ends in /v1", address)
		}
		failed = cmp.Or(failed, s.modelErrorAt(address, err))
	}
	if answering != "" && s.modelName != "" { // it may serve a model all the same
		return answering, nil
	}
	return "", failed
}

// answeredOverHTTP reports whether a request to a model's server failed, but got an answer.
func answeredOverHTTP(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Status > 0
}

// speaksTLS reports whether a server that got an HTTP request wants HTTPS.
func speaksTLS(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && strings.Contains(e.Message, "HTTPS server")
}

func (s *setup) modelError(err error) error { return s.modelErrorAt(s.at.BaseURL, err) }

// setupWords name what setup asks for where an error names the setting.
var setupWords = strings.NewReplacer(
	"api_key under [llm]", "the key (--model-key)", "base_url", "the address (--model)", "set model to", "choose with --model-name",
)

// modelErrorAt says what is wrong with a model's server, and what to do.
func (s *setup) modelErrorAt(address string, err error) error {
	address = config.MaskAddress(address)
	if inWords := network.Explain(address, err); inWords != nil {
		return inWords
	}
	e, ok := errors.AsType[*llm.Error](err)
	remedy, known := llm.RemedyOf(err)
	if !ok || !known {
		return err
	}
	text := remedy.Reason
	if e.Status > 0 {
		text += fmt.Sprintf(": %s answered with HTTP %d, %q", address, e.Status, e.Message)
	}
	return errors.New(text + "\nwhat to do: " + setupWords.Replace(remedy.Operator))
}
