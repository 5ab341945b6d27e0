// How many servers a shard has: Discord limits how many one connection may serve.

package discord

import (
	"fmt"
	"sync"
	"sync/atomic"

	"cairn/connector/platform"
)

const (
	maxServers  = 2500 // per connection (Discord, Gateway: Sharding)
	manyServers = 2000 // from this count on the owner is warned

	perConnection = "Discord lets one connection serve at most 2500 servers"
)

// servers are those of one shard. It is safe for concurrent use.
type servers struct {
	link   *platform.Link
	remedy func() string // see remedy
	count  atomic.Int64  // of ids

	mu     sync.Mutex // guards below
	ids    map[string]bool
	warned bool // since there are many
}

// crowded warns that a connection will soon have more servers than it may, and says how to get more connections.
func crowded(count int, remedy string) string {
	return fmt.Sprintf("a connection of the bot has %d servers, and %s. Before there are more, %s", count, perConnection, remedy)
}

// reset replaces the servers by those that a new session starts with.
func (s *servers) reset(ids []string) {
	s.mu.Lock()
	clear(s.ids)
	s.mu.Unlock()
	s.add(ids...)
}

// add adds servers that the bot has joined, and logs a warning once there are many.
func (s *servers) add(joined ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range joined {
		s.ids[id] = true
	}
	count := len(s.ids)
	s.count.Store(int64(count))
	if count >= manyServers && !s.warned {
		s.link.CurrentLog().Warn("many_servers", "servers", count, "most", maxServers, "problem", crowded(count, s.remedy()))
	}
	s.warned = count >= manyServers
}

func (s *servers) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, id)
	s.count.Store(int64(len(s.ids)))
}
