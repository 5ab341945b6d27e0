// What is known of the shards while they run, for health checks and metrics.

package discord

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
)

// Status is the state of the connections.
type Status struct {
	Shards     []ShardStatus // of this process
	Count      int           // of all shards
	Starts     int           // sessions that may start in a day; 0: unknown
	StartsLeft int           // of them
}

// ShardStatus is the state of one connection.
type ShardStatus struct {
	ID        int
	Connected bool
	Servers   int
}

// Status returns the state of the connections.
func (d *Discord) Status() (now Status) {
	for _, s := range d.shards.list() {
		now.Shards = append(now.Shards, ShardStatus{ID: s.id, Connected: s.link.Connected(), Servers: int(s.servers.count.Load())})
	}
	now.Count = int(d.shards.count.Load())
	s := &d.shards.starts
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Starts = s.total
	now.StartsLeft = max(0, s.left)
	if time.Now().After(s.resetAt) {
		now.StartsLeft = s.total
	}
	return now
}

// String returns the state in words.
func (s Status) String() string {
	connected := 0
	servers := 0
	most := 0
	var ids []string
	for _, shard := range s.Shards {
		if shard.Connected {
			connected++
		}
		servers += shard.Servers
		most = max(most, shard.Servers)
		ids = append(ids, strconv.Itoa(shard.ID))
	}
	text := fmt.Sprintf("%d of %d shards connected, %d servers, at most %d on one shard", connected, len(s.Shards), servers, most)
	if s.Starts > 0 {
		text += fmt.Sprintf(", %d of %d session starts left today", s.StartsLeft, s.Starts)
	}
	if len(ids) < s.Count {
		text += fmt.Sprintf("; shards %s of %d are this process's", strings.Join(ids, ", "), s.Count)
	}
	return text
}

// Problem returns what keeps the connector from connecting: Discord does not answer, or accepts no session before a time.
func (d *Discord) Problem() string { return cmp.Or(d.Base.Problem(), d.shards.starts.problem()) }

func (s *starts) problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		return ""
	}
	return fmt.Sprintf("all %d session starts of the day are used: Discord accepts no new session before %s", s.total, chat.Time(s.resetAt))
}
