// How many servers the bot is in: Cairn has one connection, and Discord limits how many servers one may serve.

package discord

import (
	"context"
	"fmt"
	"net/http"
)

const (
	maxServers  = 2500 // per connection (Discord, Gateway: Sharding)
	manyServers = 2000 // from here on the owner is warned

	oneConnection = "Discord lets one connection serve at most 2500 servers, and Cairn has only one"
	divide        = "run a second bot for them: another application with its own token, settings and data folder"
)

// servers are those that the bot is in.
type servers struct {
	ids         map[string]bool
	recommended int  // number of connections that Discord recommends
	warned      bool // since there are many
}

// crowded warns that the bot will soon be in more servers than it may. recommended: see servers; 0: unknown.
func crowded(count, recommended int) string {
	text := fmt.Sprintf("the bot is in %d servers: %s. With more, it stops. Before that, %s", count, oneConnection, divide)
	if recommended > 1 {
		text += fmt.Sprintf(" (Discord recommends %d connections)", recommended)
	}
	return text
}

// noteServers adds servers that the bot has joined, and logs a warning once there are many.
func (d *Discord) noteServers(joined ...string) {
	for _, id := range joined {
		d.servers.ids[id] = true
	}
	count := len(d.servers.ids)
	if count >= manyServers && !d.servers.warned {
		d.Log.Warn("many_servers", "servers", count, "most", maxServers, "problem", crowded(count, d.servers.recommended))
	}
	d.servers.warned = count >= manyServers
}

// gateway is what Discord reports about its gateway (Discord, Gateway: Get Gateway Bot).
type gateway struct {
	URL    string
	Shards int // recommended number of connections
	Start  *struct {
		Remaining  int   `json:"remaining"`
		ResetAfter int64 `json:"reset_after"` // ms
	} `json:"session_start_limit"`
}

func (d *Discord) findGateway(ctx context.Context) (found gateway, err error) {
	err = d.rest.do(ctx, call{method: http.MethodGet, path: "/gateway/bot", into: &found})
	if refusalIn(err).status == http.StatusNotFound { // a compatible server may know only the other path
		err = d.rest.do(ctx, call{method: http.MethodGet, path: "/gateway", into: &found})
	}
	return found, err
}
