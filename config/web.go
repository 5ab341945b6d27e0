// [web]: the address and token of the HTTP API and the dashboard.

package config

import (
	"fmt"
	"net"
	"strings"
)

// WebName is the connector name of conversations in the browser.
const WebName = "web"

// WebOwner is the user id of the person in the browser: whoever may open the dashboard owns the
// bot.
const WebOwner = "owner"

const webTokenVariable = "CAIRN_WEB_TOKEN"

// WebToken returns the token of the API and the dashboard; "" if there is none.
func (s *Settings) WebToken() (string, error) {
	token, err := s.secret(s.Web.Token, webTokenVariable)
	if err != nil {
		return "", fmt.Errorf("token under [web]: %w", err)
	}
	return token, nil
}

// CheckWeb returns an error for an invalid address of the API and the dashboard, or if other
// machines can reach it and there is no token.
func CheckWeb(address, token string) error {
	host, err := checkAddress("listen", address)
	if err != nil || address == "" || token != "" {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf(`listen = %q: needs a token, because others can reach it: set %s, or token = "file:PATH" under [web] ("openssl rand -hex 32" makes one); without a token, listen on "127.0.0.1:8090"`, address, webTokenVariable)
	}
	return nil
}

func (d *decoder) checkWeb(s *Settings) {
	token, tokenErr := s.WebToken() // an unreadable one is reported below
	if _, err := checkAddress("listen", s.Web.Listen); err != nil {
		d.problem("web.listen", err.Error())
	} else if err := CheckWeb(s.Web.Listen, token); err != nil && tokenErr == nil { // a mistake at the start, whose environment may have one
		d.warn("web.listen", err.Error())
	}
	d.checkSecret(s, "web.token", s.Web.Token, webTokenVariable)
	for _, host := range s.Web.Hosts {
		if host == "" || strings.ContainsAny(host, "/:@* ") {
			d.problem("web.hosts", fmt.Sprintf(`hosts: %q must be a name without scheme, port or wildcard, e.g. "cairn.example.com"`, host))
		}
	}
}
