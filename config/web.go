// [web]: where the HTTP API and the dashboard are served, and to whom.
package config

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// WebName is the first part of the names of the conversations in the browser.
const WebName = "web"

// WebOwner is the id of who talks in the browser: who may see the dashboard owns the bot.
const WebOwner = "owner"

const webTokenVariable = "CAIRN_WEB_TOKEN"

// shortToken is how many characters make a token hard to guess.
const shortToken = 16

// errNoWebToken says what to do about an address that others can reach.
var errNoWebToken = errors.New(`needs a token, since others can reach it: set ` + webTokenVariable + `, or token = "file:PATH" under [web] (e.g. made by "openssl rand -hex 32"); without one listen on "127.0.0.1:8090"`)

// WebToken returns the token of the API and the dashboard; "" if there is none.
func (s *Settings) WebToken() (string, error) {
	token, err := s.secret(s.Web.Token, webTokenVariable)
	if err != nil {
		return "", fmt.Errorf("token under [web]: %w", err)
	}
	return token, nil
}

// CheckWeb returns what is wrong with the address of the API and the dashboard. One that
// others can reach needs a token.
func CheckWeb(address, token string) error {
	host, err := checkAddress("listen", address)
	if err != nil || address == "" || token != "" {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("listen = %q: %w", address, errNoWebToken)
	}
	return nil
}

func (d *decoder) checkWeb(s *Settings) {
	if _, err := checkAddress("listen", s.Web.Listen); err != nil { // whether it needs a token, the start knows
		d.problem("web.listen", err.Error())
	}
	if token := d.checkSecret(s, "web.token", s.Web.Token, webTokenVariable); token != "" && len(token) < shortToken {
		d.warn("web.token", fmt.Sprintf(`token: has fewer than %d characters, which can be guessed; "openssl rand -hex 32" makes a better one`, shortToken))
	}
	for _, host := range s.Web.Hosts {
		if host == "" || strings.ContainsAny(host, "/:@ ") {
			d.problem("web.hosts", fmt.Sprintf(`hosts: %q must be a name without scheme and port, as "cairn.example.com"`, host))
		}
	}
}
