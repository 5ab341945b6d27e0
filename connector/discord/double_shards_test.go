// How strict the double is about shards.

package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// identified returns IDENTIFY of one of some shards, which also hears direct messages.
func identified(id, shards int) string {
	return fmt.Sprintf(`{"op":2,"d":{"shard":[%d,%d],"token":"Bot token","intents":37377,"properties":{"os":"x"}}}`, id, shards)
}

// guildOn adds a server that is on one of some shards.
func guildOn(s *discordtest.Server, shard, shards int, members ...*discordgo.User) discordgo.Guild {
	for {
		g := s.Guild(fmt.Sprint("town on ", shard), members...)
		if discordtest.ShardOf(g.ID, shards) == shard {
			return g
		}
		time.Sleep(time.Millisecond) // ids of one millisecond are on one shard
	}
}

func TestTheDoubleRefusesWrongShards(t *testing.T) {
	t.Parallel()
	v := newDouble(t, discordtest.Options{ShardMultiple: 2, ServersPerShard: 1})
	guildOn(v.Server, 0, 2)
	guildOn(v.Server, 0, 2)
	for claim, say := range map[string]string{
		"4010: a shard beyond the count":               identified(2, 2),
		"4010: a shard below 0":                        identified(-1, 2),
		"4010: no shards":                              identified(0, 0),
		"4010: a number that is not a multiple":        identified(0, 3),
		"4011: more servers than one session may have": identified(0, 2),
	} {
		check.HasPrefix(t, "what deserves a code", claim, fmt.Sprint(v.closes("v=10&encoding=json", say)))
	}
	plain := newDouble(t, discordtest.Options{ServersPerShard: 1})
	plain.Guild("another")
	check.Equal(t, "too many servers without shards", plain.closes("v=10&encoding=json", sound), 4011)
}

// hears returns the first events of a shard's session, up to one of this name.
func (v *double) hears(id, shards int, last string) (events []packet) {
	v.t.Helper()
	s := check.Must(platform.Dial(v.t.Context(), v.gateway()+"?v=10&encoding=json", nil, patience))(v.t)
	defer s.Close()
	check.NoError(v.t, s.Write(json.RawMessage(identified(id, shards))))
	enough := errors.New("enough")
	err := s.Serve(v.t.Context(), nil, nil, func(data []byte) error {
		p := read[packet](data)
		if p.Op != opHello {
			events = append(events, p)
		}
		if p.Name == last || p.Op == opInvalidSession {
			return enough
		}
		return nil
	})
	check.Error(v.t, err, enough)
	return events
}

func TestTheDoubleDividesServersAmongShards(t *testing.T) {
	t.Parallel()
	v := &double{Server: discordtest.New(discordtest.Options{}), t: t}
	t.Cleanup(v.Close)
	ann := v.User("ann")
	var mine, other discordgo.Guild
	for shard := range 3 {
		g := guildOn(v.Server, shard, 3, ann)
		if shard == 1 {
			mine = g
		}
		other = g
	}
	place := v.Channel(mine.ID, "square").ID
	elsewhere := v.Channel(other.ID, "square").ID
	direct := v.Direct(ann.ID).ID
	go func() {
		_ = check.Soon(func() bool {
			both := 0
			for _, c := range v.Connections() {
				if c.Identify {
					both++
				}
			}
			return both == 2
		})
		for _, channel := range []string{elsewhere, direct, place} {
			v.Say(channel, ann.ID, "hi")
		}
	}()
	zero := make(chan []packet)
	go func() { zero <- v.hears(0, 3, "MESSAGE_CREATE") }()
	events := v.hears(1, 3, "MESSAGE_CREATE")
	ready := read[struct {
		Shard  []int
		Guilds []struct{ ID string }
	}](events[0].Data)
	check.EqualAll(t, "the shard in READY", ready.Shard, []int{1, 3})
	for _, g := range ready.Guilds {
		check.Equal(t, "the shard of a server in READY", discordtest.ShardOf(g.ID, 3), 1)
	}
	check.Equal(t, "the first message of shard 1", read[message](events[len(events)-1].Data).ChannelID, place)
	events = <-zero
	check.Equal(t, "the first message of shard 0", read[message](events[len(events)-1].Data).ChannelID, direct)
}

func TestTheDoubleLimitsSessionStarts(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64 // a duration
	began := time.Now()
	v := newDouble(t, discordtest.Options{
		IdentifyEvery: 5 * time.Second, IdentifyLimit: 5, IdentifyReset: 4 * time.Hour, MaxConcurrency: 2, Shards: 4,
		StartsClock: func() time.Time { return began.Add(time.Duration(passed.Load())) },
	})
	gateway := func() (shards int, limit map[string]int) {
		found := read[struct {
			Shards int
			Limit  map[string]int `json:"session_start_limit"`
		}](v.ask("GET", "/gateway/bot", "").body)
		return found.Shards, found.Limit
	}
	shards, limit := gateway()
	check.That(t, shards == 4 && limit["max_concurrency"] == 2 && limit["total"] == 5 && limit["remaining"] == 5, "got %d shards, %v", shards, limit)
	check.Equal(t, "shard 0", v.hears(0, 4, "READY")[0].Op, opDispatch)
	check.Equal(t, "shard 1, of the other bucket", v.hears(1, 4, "READY")[0].Op, opDispatch)
	check.Equal(t, "shard 2, too soon after shard 0", v.hears(2, 4, "READY")[0].Op, opInvalidSession)
	remain := func() int { _, limit := gateway(); return limit["remaining"] }
	check.Equal(t, "they remain", remain(), 2)
	passed.Store(int64(5 * time.Second))
	check.Equal(t, "shard 2, after five seconds", v.hears(2, 4, "READY")[0].Op, opDispatch)
	check.Equal(t, "they remain", remain(), 1)
	passed.Store(int64(4*time.Hour - 1))
	check.Equal(t, "they remain before the end of the span", remain(), 1)
	passed.Store(int64(4 * time.Hour))
	check.Equal(t, "they start anew", remain(), 5)
}
