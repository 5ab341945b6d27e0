// Shards: the connections among which Discord divides the bot's servers (Discord, Gateway: Sharding), and which of them this
// process opens.

package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"cairn/chat"
	"cairn/connector/platform"
)

// Shards says which connections this process opens. The zero value means all, as many as Discord recommends.
type Shards struct {
	Count int   // of the bot; 0: what Discord recommends when the connector starts
	IDs   []int // of this process, below Count, ascending; nil: all
}

// remedy says how to get more connections than there are.
func (w Shards) remedy(count int) string {
	if w.Count == 0 {
		return "restart cairn: at each start it opens as many connections as Discord then recommends"
	}
	return fmt.Sprintf("set shards = 0 under [discord], for as many as Discord recommends, or at least %d, and restart cairn", count+1)
}

// shards are the connections of this process, and what they share.
type shards struct {
	base        *platform.Base
	rest        *rest
	pauses      *pauses
	which       Shards
	mentionOnly bool                                                // see Options
	newEvents   func(link *platform.Link, servers *servers) *events // of one shard

	count   atomic.Int64 // of the bot; 0: not known yet
	buckets []bucket     // set with count
	starts  starts

	mu  sync.Mutex // guards all
	all []*shard   // of this process, ascending
}

// newShards returns s with its first shard. Discord's answer to that one says how many others there are.
func newShards(s *shards) *shards {
	first := 0
	if len(s.which.IDs) > 0 {
		first = s.which.IDs[0]
	}
	s.base.Link.Covers = s.covers(first)
	s.add(first, &s.base.Link)
	return s
}

// add adds a shard, which does nothing before keep.
func (s *shards) add(id int, link *platform.Link) *shard {
	servers := &servers{link: link, remedy: func() string { return s.which.remedy(int(s.count.Load())) }, ids: make(map[string]bool)}
	tried := make(chan struct{})
	added := &shard{
		shards: s, id: id, link: link, servers: servers, events: s.newEvents(link, servers),
		tried: tried, endTry: sync.OnceFunc(func() { close(tried) }),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, added)
	return added
}

func (s *shards) list() []*shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// shardOf returns what IDENTIFY says of a shard; nil if the bot has no other.
func (s *shards) shardOf(id int) *[2]int {
	if count := int(s.count.Load()); count > 1 {
		return &[2]int{id, count}
	}
	return nil
}

// covers returns whether the events of a conversation come over a shard: by its server, or if it has none, over the first (Discord,
// Gateway: Sharding Formula). As long as the number of shards is not known, there is one.
func (s *shards) covers(id int) func(conversation string) bool {
	return func(conversation string) bool {
		server, _ := strconv.ParseUint(chat.ParsePlace(conversation).Server, 10, 64) // that of a direct message is no number, and so 0
		return server>>22%uint64(max(1, s.count.Load())) == uint64(id)
	}
}

// supervise keeps all shards connected until ctx is done. It returns only errors that a person has to fix.
func (s *shards) supervise(ctx context.Context) error {
	s.base.Work.Open(ctx)
	err := s.list()[0].keep(s.base.Work.Ctx)
	if err == nil && ctx.Err() == nil { // another shard has ended all, see serve
		err = context.Cause(s.base.Work.Ctx)
	}
	return err
}

// divide sets the number of shards, by what Discord answered to the first of this process, and adds the others of this process.
func (s *shards) divide(found gateway) {
	count := cmp.Or(s.which.Count, found.Shards, 1)
	s.buckets = newBuckets(found)
	s.count.Store(int64(count))
	if count == 1 {
		return
	}
	log := func(id int) *slog.Logger { return s.base.Log.With("shard", id) }
	first := s.list()[0]
	first.link.SetLog(log(first.id))
	ids := s.which.IDs
	if ids == nil {
		for id := range count {
			ids = append(ids, id)
		}
	}
	s.base.Log.Info("shards_starting", "shards", len(ids), "of", count)
	for _, id := range ids[1:] {
		s.add(id, s.base.AddLink(log(id), s.covers(id)))
	}
}

// startOthers starts all shards but the first, in order: each begins once those of the buckets before it have tried to start a
// session (Discord, Gateway: Max Concurrency).
func (s *shards) startOthers(ctx context.Context) {
	all := s.list()
	for i, shard := range all[1:] {
		for _, before := range all[:i+1] {
			if before.id/len(s.buckets) == shard.id/len(s.buckets) {
				break
			}
			select {
			case <-before.tried:
			case <-ctx.Done():
				return
			}
		}
		s.base.Work.Start(shard.serve)
	}
}

// serve keeps the shard connected until ctx is done. An error that a person has to fix, or a panic, ends all shards.
func (s *shard) serve(ctx context.Context) {
	err := errors.New("a shard has panicked; the log says where")
	defer func() {
		if err != nil {
			s.base.Work.Cancel(err) // which supervise returns
		}
	}()
	err = s.keep(ctx)
}
