// Shards: the connections among which Discord divides the bot's servers (Discord, Gateway: Sharding), and which of them this
// process opens.

package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// remedy says how to get more connections than there are; setting is Options.Shards.
func remedy(setting, count int) string {
	if setting == 0 {
		return "restart cairn: at each start it opens as many connections as Discord then recommends"
	}
	return fmt.Sprintf("set shards = 0 under [discord], for as many as Discord recommends, or at least %d, and restart cairn", count+1)
}

// shards are the connections of this process, and what they share.
type shards struct {
	base        *platform.Base
	rest        *rest
	pauses      *pauses
	queue       *platform.KeyedQueue[func()]                        // see events
	setting     int                                                 // see Options.Shards
	mentionOnly bool                                                // see Options
	reactions   bool                                                // some count, see Options
	newEvents   func(link *platform.Link, servers *servers) *events // of one shard

	fleet   channel.Shards          // which shards are this process's; set by supervise
	count   atomic.Int64            // of the bot; 0: not known yet
	address string                  // of the gateway, set with count
	answer  atomic.Pointer[gateway] // of Discord, which the first session need not ask for again; nil: there is none
	buckets []bucket                // set with count
	starts  starts

	receiving context.Context // of the connections, set by supervise
	serving   sync.WaitGroup  // what starts and keeps them
	started   chan struct{}   // has a value if a session has started, see keepSaving

	mu  sync.Mutex // guards all
	all []*shard   // that are open, in the order of that
}

// newShards returns s without shards: whoever asks for the first of them is answered by the first that is opened.
func newShards(s *shards) *shards {
	s.started = make(chan struct{}, 1)
	s.base.Link.Covers = func(conversation string) bool {
		all := s.list()
		return len(all) > 0 && s.shardOf(conversation) == all[0].id
	}
	return s
}

func (s *shards) list() []*shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// identity returns what IDENTIFY says of a shard; nil if the bot has no other.
func (s *shards) identity(id int) *[2]int {
	if count := int(s.count.Load()); count > 1 {
		return &[2]int{id, count}
	}
	return nil
}

// shardOf returns over which shard the events of a conversation come: by its server, or if it has none, over the first (Discord,
// Gateway: Sharding Formula). As long as the number of shards is not known, there is one.
func (s *shards) shardOf(conversation string) int {
	server, _ := strconv.ParseUint(chat.ParsePlace(conversation).Server, 10, 64) // that of a direct message is no number, and so 0
	return int(server >> 22 % uint64(max(1, s.count.Load())))
}

// openedAt returns when this process began to receive what people write in a conversation.
func (s *shards) openedAt(conversation string) time.Time {
	for _, one := range s.list() {
		if one.id == s.shardOf(conversation) {
			return one.opened
		}
	}
	return time.Now()
}

// isElsewhere reports whether another process receives what people write in a conversation.
func (s *shards) isElsewhere(conversation string) bool {
	all := s.list()
	return len(all) < int(s.count.Load()) && !slices.ContainsFunc(all, func(one *shard) bool { return one.id == s.shardOf(conversation) })
}

// supervise opens this process's shards, and keeps them connected until ctx is done. It returns only errors that a person has to fix.
func (s *shards) supervise(ctx context.Context) error {
	s.base.Work.Open(ctx)
	s.fleet = channel.ShardsOf(s.base.Hub, Name)
	receiving, stop := context.WithCancelCause(s.base.Work.Ctx)
	defer stop(nil)
	s.receiving = receiving
	err := s.divide(receiving)
	_, _, alone := s.fleet.Owned()
	if !alone {
		s.serve(s.keepSaving)
	}
	for err == nil && receiving.Err() == nil {
		owned, changed, _ := s.fleet.Owned()
		if alone {
			owned = make([]channel.Shard, s.count.Load())
			for id := range owned {
				owned[id].Number = id
				owned[id].Count = len(owned)
			}
		}
		s.open(owned)
		select {
		case <-changed:
		case <-s.fleet.Leaving():
			s.handOver(s.base.Work.Ctx, func() { stop(errLeaving) })
		case <-receiving.Done():
		}
	}
	if err != nil {
		return err
	}
	<-s.base.Work.Ctx.Done()
	if !errors.Is(context.Cause(receiving), errLeaving) {
		s.forget()
	}
	if ctx.Err() == nil { // a shard has ended all, see serve
		err = context.Cause(s.base.Work.Ctx)
	}
	return err
}

// divide asks Discord, until it answers, into how many shards the bot is to be divided, and sets their number.
func (s *shards) divide(ctx context.Context) error {
	asking, answered := context.WithCancel(ctx)
	defer answered()
	return s.base.Link.Keep(asking, func(ctx context.Context) error {
		found, err := s.ask(ctx, &s.base.Link)
		if err == nil {
			err = s.divideBy(ctx, found)
		}
		if err == nil {
			answered()
		}
		return cmp.Or(fatal(err), err)
	})
}

func (s *shards) divideBy(ctx context.Context, found gateway) error {
	wanted := cmp.Or(s.setting, found.Shards, 1)
	count, err := s.fleet.Divide(ctx, wanted)
	if err != nil {
		return err
	}
	if count != wanted {
		s.base.Log.Warn("shards_differ", "shards", wanted, "used", count, "effect", "the number of the other processes is used until all have stopped")
	}
	if _, _, alone := s.fleet.Owned(); alone { // else it may be old before a session starts
		s.answer.Store(&found)
	}
	s.address = found.URL
	s.buckets = newBuckets(found)
	s.count.Store(int64(count))
	return nil
}

// open opens those of some shards that are not open yet.
func (s *shards) open(owned []channel.Shard) {
	var opened []*shard
	for _, one := range owned {
		isOpen := slices.ContainsFunc(s.list(), func(open *shard) bool { return open.id == one.Number })
		if !isOpen {
			s.count.Store(int64(one.Count)) // it changes only while no process has a shard
			opened = append(opened, s.add(one))
		}
	}
	if len(opened) == 0 {
		return
	}
	if count := s.count.Load(); count > 1 {
		s.base.Log.Info("shards_starting", "shards", len(opened), "of", count)
	}
	s.serve(func(ctx context.Context) { s.startInOrder(ctx, opened) })
}

// add adds a shard, which does nothing before keep.
func (s *shards) add(one channel.Shard) *shard {
	id := one.Number
	log := s.base.Log
	if s.count.Load() > 1 {
		log = log.With("shard", id)
	}
	link := &s.base.Link
	if len(s.list()) == 0 {
		link.SetLog(log)
	} else {
		link = s.base.AddLink(log, func(conversation string) bool { return s.shardOf(conversation) == id })
	}
	servers := &servers{link: link, remedy: func() string { return remedy(s.setting, int(s.count.Load())) }, ids: make(map[string]bool)}
	tried := make(chan struct{})
	added := &shard{
		shards: s, id: id, link: link, servers: servers, events: s.newEvents(link, servers), opened: time.Now(), left: one.Session,
		tried: tried, endTry: sync.OnceFunc(func() { close(tried) }),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, added)
	return added
}

// startInOrder starts shards: each begins once those of the buckets before it have tried to start a session (Discord, Gateway: Max
// Concurrency).
func (s *shards) startInOrder(ctx context.Context, opened []*shard) {
	for _, shard := range opened {
		for _, before := range s.list() {
			if before.id/len(s.buckets) >= shard.id/len(s.buckets) {
				continue
			}
			select {
			case <-before.tried:
			case <-ctx.Done():
				return
			}
		}
		s.serve(shard.serve)
	}
}

// serve runs f in a goroutine until the connections of this process end.
func (s *shards) serve(f func(ctx context.Context)) {
	s.serving.Add(1)
	started := s.base.Work.Start(func(context.Context) {
		defer s.serving.Done()
		f(s.receiving)
	})
	if !started {
		s.serving.Done()
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
