// Shards: which session serves which guild, and how many sessions may start.

package discordtest

import (
	"maps"
	"strconv"
	"time"
)

// serves reports whether the events of a guild go to the session.
func (s *session) serves(guild string) bool { return ShardOf(guild, s.shard[1]) == s.shard[0] }

// ShardOf returns the shard of a guild (Discord, Gateway: Sharding Formula); that of no guild is 0.
func ShardOf(guild string, shards int) int {
	id, _ := strconv.ParseUint(guild, 10, 64) // "" is 0
	return int(id >> 22 % uint64(shards))
}

// countIdentify counts an IDENTIFY of any shard; RESUMEs do not count. One too many resets the token (Discord, Gateway: Identifying).
func (w *world) countIdentify() {
	if w.identifiesResetAfter() == w.options.IdentifyReset {
		w.resetAt = w.options.StartsClock().Add(w.options.IdentifyReset) // that it begins with the first is judgement
	}
	w.identifies++
	if w.identifies > w.options.IdentifyLimit {
		w.resetToken()
	}
}

// identifiesResetAfter returns when the count starts anew (Discord, Gateway: Session Start Limit Structure, reset_after).
func (w *world) identifiesResetAfter() time.Duration {
	left := w.resetAt.Sub(w.options.StartsClock())
	if left <= 0 {
		w.identifies = 0
		return w.options.IdentifyReset
	}
	return left
}

// served returns the number of guilds of a session.
func (w *world) served(s *session) (n int) {
	for id := range w.guilds {
		if s.serves(id) {
			n++
		}
	}
	return n
}

// CutShard does what Cut does, to the connection of one shard.
func (s *Server) CutShard(id int) {
	s.onEach(func(_ *world, c *connection) {
		if c.session != nil && c.session.shard[0] == id {
			c.Cut()
		}
	})
}

// LoseShard does what Invalidate(false) does, to the session of one shard.
func (s *Server) LoseShard(id int) {
	s.onEach(func(w *world, c *connection) {
		if c.session != nil && c.session.shard[0] == id {
			w.invalidate(c, false)
		}
	})
}

// ForgetShard does what Forget does, to the session of one shard.
func (s *Server) ForgetShard(id int) {
	s.do(func(w *world) {
		maps.DeleteFunc(w.sessions, func(_ string, s *session) bool { return s.shard[0] == id })
	})
}
