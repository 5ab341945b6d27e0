// How connections are made: a server that is gone without a word must not keep a writer waiting.

package postgres

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	connectTimeout = 10 * time.Second // if the address has none
	silence        = 25 * time.Second // after which a connection without an answer to what was sent counts as lost, on both sides
)

// attend lets both sides notice within silence that the other is gone: the client, so that it connects again, and the server, so
// that a transaction of a process that has failed keeps no rows locked.
func attend(config *pgx.ConnConfig) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	keep := net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}
	config.DialFunc = (&net.Dialer{Timeout: config.ConnectTimeout, KeepAliveConfig: keep, Control: limitSilence}).DialContext
	for name, value := range map[string]string{
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": fmt.Sprint(silence.Milliseconds()),
		"application_name": "cairn " + ProcessName(),
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
}

// ProcessName names this process for people: HOST:PID.
func ProcessName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
