// What every provider's HTTP client has in common.

package llm

import (
	"net/http"
	"net/url"
)

// HTTPClient returns client, or a new one for nil, that follows no redirect unless
// client says so: a conversation and a key go to the configured server only.
func HTTPClient(client *http.Client) *http.Client {
	var own http.Client
	if client != nil {
		own = *client
	}
	if own.CheckRedirect == nil {
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &own
}

// Redirected returns the error of a response that redirects, nil for any other. The
// message holds the new address without its query and user.
func Redirected(resp *http.Response) error {
	if resp.StatusCode < 300 || resp.StatusCode > 399 {
		return nil
	}
	to := "another address"
	if at, err := resp.Location(); err == nil {
		to = Clip((&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String())
	}
	return &Error{Kind: KindBadRequest, Status: resp.StatusCode, Message: "the server redirects to " + to + ": set base_url to the right address"}
}
