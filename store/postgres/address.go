// Addresses of databases: what they may look like, and which connections are encrypted.

package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Example is what an address looks like.
const Example = "postgres://user@host/database"

// Address is where a database is, and how to connect to it.
type Address struct {
	config   *pgx.ConnConfig
	password string // in the address itself
	mode     string // how connections are encrypted
}

// Parse reads an address. Its errors do not show it, because it may have a password.
func Parse(address string) (a Address, err error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return a, fmt.Errorf("must look like %q", Example)
	}
	parts, err := url.Parse(address)
	if err != nil || isAmbiguous(address) { // the error's text has the address
		return a, fmt.Errorf("must look like %q, and cannot be read: in a name or a password, write other characters than letters and digits as %%XX, e.g. %%40 for @", Example)
	}
	query := parts.Query()
	a.password = query.Get("password")
	if inFront, ok := parts.User.Password(); ok {
		a.password = inFront
	}
	a.config, err = parseConfig(address)
	if err != nil {
		return a, err
	}
	a.mode = cmp.Or(query.Get("sslmode"), os.Getenv("PGSSLMODE"))
	if a.mode == "" {
		a.mode = "disable"
		if a.OverNetwork() {
			a.mode = "verify-full"
		}
		separator := "?"
		if parts.RawQuery != "" {
			separator = "&"
		}
		a.config, err = parseConfig(strings.TrimSuffix(address, "?") + separator + "sslmode=" + a.mode)
	}
	if err == nil {
		a.preferPrimary(cmp.Or(query.Get("target_session_attrs"), os.Getenv("PGTARGETSESSIONATTRS")))
	}
	return a, err
}

// preferPrimary makes connections go to the primary of several servers, unless attributes demand something else. They do so with
// read-write, too: that asks whether the connection may write, and those of readers may nowhere.
func (a Address) preferPrimary(attributes string) {
	if attributes == "read-write" || attributes == "" && a.Several() {
		a.config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
}

// hosts returns the servers, each with its port.
func (a Address) hosts() (all []server) {
	all = []server{{a.config.Host, a.config.Port}}
	for _, other := range a.config.Fallbacks { // with some modes, a host is there twice
		s := server{other.Host, other.Port}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

type server struct {
	host string // or the folder of a socket
	port uint16
}

// isAmbiguous reports whether an address has an @ besides the one before the host: a part of the password would be read, and shown, as
// a host or a database.
func isAmbiguous(address string) bool {
	_, rest, _ := strings.Cut(address, "//")
	server := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		server = rest[:end]
	}
	return strings.Count(server, "@") > 1 || strings.Contains(rest[len(server):], "@")
}

func parseConfig(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err == nil {
		return config, nil
	}
	why := err.Error() // "cannot parse `ADDRESS`: WHY"
	if end := strings.LastIndex(why, "`: "); end >= 0 {
		return nil, errors.New("cannot be used: " + why[end+len("`: "):])
	}
	return nil, fmt.Errorf("must look like %q", Example)
}

// OverNetwork reports whether connections may leave this machine.
func (a Address) OverNetwork() bool {
	for _, s := range a.hosts() {
		ip := net.ParseIP(s.host)
		local := isSocket(s.host) || s.host == "localhost" || ip != nil && ip.IsLoopback()
		if !local {
			return true
		}
	}
	return false
}

// Several reports whether the address names several servers, one of which is the primary.
func (a Address) Several() bool { return len(a.hosts()) > 1 }

// isSocket reports whether a host is the folder of a socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") }

// Password returns the password that the address itself has; "" if there is none.
func (a Address) Password() string { return a.password }

// User returns the name of the database's user.
func (a Address) User() string { return a.config.User }

// Warning says what is wrong with an address that can be used; "": nothing.
func (a Address) Warning() string {
	if !a.OverNetwork() || a.mode != "prefer" && a.mode != "allow" {
		return ""
	}
	return fmt.Sprintf("sslmode=%s falls back to a connection that is not encrypted, with whatever server answers: leave it out, or write verify-full", a.mode)
}

// String returns the address without a password.
func (a Address) String() string {
	if a.config == nil {
		return "an address that cannot be read"
	}
	u := url.URL{Scheme: "postgres", User: url.User(a.config.User), Path: "/" + a.config.Database}
	var names, withPorts []string
	for _, s := range a.hosts() {
		names = append(names, s.host)
		withPorts = append(withPorts, net.JoinHostPort(s.host, fmt.Sprint(s.port)))
	}
	if slices.ContainsFunc(names, isSocket) {
		u.RawQuery = "host=" + strings.Join(names, ",")
	} else {
		u.Host = strings.Join(withPorts, ",")
	}
	return u.String()
}
