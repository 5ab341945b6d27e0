// How many servers the bot is in: Cairn has one connection, and Discord limits how many servers one may serve.

package discord

import (
	"fmt"
	"log/slog"
)

const (
	maxServers  = 2500 // per connection (Discord, Gateway: Sharding)
	manyServers = 2000 // from this count on the owner is warned

	oneConnection = "Discord lets one connection serve at most 2500 servers, and Cairn has only one"
	divide        = "run a second bot for them: another application with its own token, settings and data folder"
)

// servers are those that the bot is in. Only the goroutine in Run uses them.
type servers struct {
	log         *slog.Logger
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

// reset replaces the servers by those that a new session starts with.
func (s *servers) reset(ids []string) {
	clear(s.ids)
	s.add(ids...)
}

// add adds servers that the bot has joined, and logs a warning once there are many.
func (s *servers) add(joined ...string) {
	for _, id := range joined {
		s.ids[id] = true
	}
	count := len(s.ids)
	if count >= manyServers && !s.warned {
		s.log.Warn("many_servers", "servers", count, "most", maxServers, "problem", crowded(count, s.recommended))
	}
	s.warned = count >= manyServers
}

func (s *servers) remove(id string) { delete(s.ids, id) }
