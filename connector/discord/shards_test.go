// Several shards in one process: each server is served once, and each shard lives and dies alone.

package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

const three = 3 // shards of these tests

// sharded is a rig with three shards, and a channel on each.
type sharded struct {
	*rig
	servers [three]int    // number of servers, by shard
	guilds  [three]string // one of them
	squares [three]string // a channel of that
}

func newSharded(t *testing.T, o discordtest.Options, tune ...func(*Discord)) *sharded {
	t.Helper()
	o.Shards = three
	r := &sharded{rig: newRig(t, o, tune...)}
	r.servers[discordtest.ShardOf(r.guild.ID, three)]++
	for slices.Contains(r.squares[:], "") {
		time.Sleep(time.Millisecond) // ids of one millisecond are on one shard
		g := r.Guild("town", r.ann)
		id := discordtest.ShardOf(g.ID, three)
		r.servers[id]++
		r.guilds[id] = g.ID
		r.squares[id] = r.Channel(g.ID, "square").ID
	}
	return r
}

// startAll starts the bot, and waits until all shards are connected.
func (r *sharded) startAll() *sharded {
	r.T.Helper()
	r.open()
	r.Run()
	r.ready()
	return r
}

func (r *sharded) ready() {
	r.T.Helper()
	r.until("all shards", func() bool { return len(r.connector.Status().Shards) == three && r.connector.Connected() })
}

// connections returns how many connections of a shard started a session, and how many resumed one.
func (r *sharded) connections(id int) (identified, resumed int) {
	for _, c := range r.Connections() {
		switch {
		case c.Shard == nil || *c.Shard != [2]int{id, three}:
		case c.Identify:
			identified++
		case c.Resume:
			resumed++
		}
	}
	return identified, resumed
}

func TestEachServerIsServedOnce(t *testing.T) {
	r := newSharded(t, discordtest.Options{}).startAll()
	direct := r.Direct(r.ann.ID).ID
	for n := range 2 {
		for id := range three {
			r.converse(r.squares[id], fmt.Sprint("hello ", n, id), n+1)
		}
		r.Say(direct, r.ann.ID, fmt.Sprint("hi ", n))
		r.answersLast(direct, n+1, fmt.Sprint("echo: hi ", n))
	}
	command := r.Slash(r.squares[2], r.ann.ID, "context")
	r.until("the answer to a command", func() bool { return r.Interaction(command.ID).Answer != nil })
	check.Equal(t, "registrations of commands", r.count("PUT /applications/*/commands"), 1)
	now := r.connector.Status()
	check.Equal(t, "the status", now.String(), fmt.Sprintf("3 of 3 shards connected, %d servers, at most %d on one shard, 997 of 1000 session starts left today",
		r.servers[0]+r.servers[1]+r.servers[2], slices.Max(r.servers[:])))
	for id := range three {
		check.Equal(t, "the status of a shard", now.Shards[id], ShardStatus{ID: id, Connected: true, Servers: r.servers[id]})
		identified, resumed := r.connections(id)
		check.That(t, identified == 1 && resumed == 0, "shard %d identified %d times and resumed %d times", id, identified, resumed)
	}
	r.stop()
	r.until("each shard to be closed", func() bool {
		return !slices.ContainsFunc(r.Connections(), func(c discordtest.Connection) bool { return c.ClientClose != 1000 })
	})
	check.Lacks(t, "the log", r.Log.String(), "level=WARN")
}

func TestALostShardReadsOnlyItsOwnChannels(t *testing.T) {
	r := newSharded(t, discordtest.Options{}, eager, func(d *Discord) { d.RecheckAfter(time.Hour, 100*time.Millisecond) }).startAll()
	for id := range three {
		r.converse(r.squares[id], "hello", 1)
	}
	history := func(id int) int { return r.count("GET /channels/" + r.squares[id] + "/messages") }
	var before [three]int
	for id := range three {
		before[id] = history(id)
	}
	r.CutShard(2) // its session is resumed, and then its active channels are compared with their history
	r.until("a recheck of the resumed shard", func() bool { return history(2) > before[2] })
	r.ready()

	r.Drop(1)
	r.ask(r.squares[1], "missed")
	r.LoseShard(1)
	r.answersLast(r.squares[1], 2, "echo: missed")
	r.ready()
	for id := range three {
		r.converse(r.squares[id], "still there?", 2+map[int]int{1: 1}[id]) // a conversation with a gap would read it first
		check.Equal(t, fmt.Sprint("it read the history of shard ", id), history(id) > before[id], id > 0)
		identified, resumed := r.connections(id)
		check.Equal(t, fmt.Sprint("sessions of shard ", id), identified, 1+map[int]int{1: 1}[id])
		check.Equal(t, fmt.Sprint("resumed connections of shard ", id), resumed, map[int]int{2: 1}[id])
	}
}

func TestWhatAllShardsMissedWhileTheBotWasAwayIsRead(t *testing.T) {
	r := newSharded(t, discordtest.Options{}).startAll()
	r.converse(r.squares[0], "hello", 1)
	r.stop()
	unknown := r.Channel(r.guilds[2], "new").ID
	for id := range three {
		r.ask(r.squares[id], "missed")
	}
	r.ask(unknown, "missed too")
	r.startAll()
	for id := range three {
		r.answersLast(r.squares[id], 1+map[int]int{0: 1}[id], "echo: missed")
	}
	r.answersLast(unknown, 1, "echo: missed too") // on a shard without conversations
}

func TestADeafShardIsReplacedAlone(t *testing.T) {
	r := newSharded(t, discordtest.Options{}, func(d *Discord) { d.RecheckAfter(200*time.Millisecond, 100*time.Millisecond) }).startAll()
	for id := range three {
		r.converse(r.squares[id], "hello", 1)
	}
	r.ForgetShard(1)
	for n := 2; !strings.Contains(r.Log.String(), "connection_deaf"); n++ {
		time.Sleep(200 * time.Millisecond) // a message written right after the last event proves nothing
		r.converse(r.squares[0], "busy", n)
		r.converse(r.squares[1], "lost", n)
	}
	r.until("another session", func() bool { identified, _ := r.connections(1); return identified == 2 })
	check.Contains(t, "the log", r.Log.String(), "connection_deaf connector=discord shard=1")
	for _, id := range []int{0, 2} {
		identified, _ := r.connections(id)
		check.Equal(t, fmt.Sprint("sessions of shard ", id), identified, 1)
	}
}

func TestAnErrorOfOneShardThatOnlyAPersonCanFixEndsAll(t *testing.T) {
	r := newSharded(t, discordtest.Options{}).startAll()
	r.Handshakes(discordtest.Handshake{Close: 4011})
	r.CutShard(2)
	check.ErrorContains(t, "the error", r.Ended(), "code 4011", "shards = 0 under [discord]")
}

func TestANumberOfShardsThatDiscordDoesNotAcceptEndsAll(t *testing.T) {
	r := newSharded(t, discordtest.Options{ShardMultiple: 2})
	err := r.newConnector().Run(r.ctx, nil)
	check.ErrorContains(t, "the error", err, "code 4010", "set shards = 0 under [discord]")
}

func TestMoreServersThanOneSessionMayHaveNeedNoSetting(t *testing.T) {
	r := newRig(t, discordtest.Options{ServersPerShard: 9, Shards: 8})
	for n := range 9 { // which divides them over the shards by the milliseconds of their ids
		r.Guild(fmt.Sprint("town ", n))
		time.Sleep(time.Millisecond)
	}
	r.open()
	r.Run()
	r.until("all shards", func() bool { return len(r.connector.Status().Shards) == 8 && r.connector.Connected() })
	r.converse(r.square, "there?", 1)
}

const apart = 300 * time.Millisecond // at least, two IDENTIFYs of a bucket

func spaced(d *Discord) { d.pauses.identify = platform.Backoff{First: time.Second, Max: time.Second} }

func TestShardsStartInOrder(t *testing.T) {
	r := newRig(t, discordtest.Options{Shards: 6, MaxConcurrency: 2, IdentifyEvery: apart}, spaced)
	r.open()
	r.Run()
	r.until("all shards", func() bool { return len(r.connector.Status().Shards) == 6 && r.connector.Connected() })
	all := r.Connections()
	check.Len(t, "connections, none of which Discord refused", all, 6)
	slices.SortFunc(all, func(a, b discordtest.Connection) int { return a.Identified.Compare(b.Identified) })
	for i, c := range all {
		check.Equal(t, fmt.Sprint("the bucket of start ", i), c.Shard[0]/2, i/2)
		if i >= 2 {
			between := c.Identified.Sub(all[i-2].Identified)
			check.That(t, between >= apart, "shard %d started after %v", c.Shard[0], between)
		}
	}
}

func TestShardsWaitUntilDiscordAcceptsMoreSessions(t *testing.T) {
	r := newSharded(t, discordtest.Options{IdentifyLimit: 2, IdentifyReset: 8 * time.Second})
	r.open()
	r.Run()
	r.until("the wait", func() bool { return strings.Contains(r.Log.String(), "session_limit_reached") })
	check.Contains(t, "the log", r.Log.String(), "session_limit_reached connector=discord shard=2", "until=", "limit=2")
	check.Contains(t, "the problem", r.connector.Problem(), "all 2 session starts of the day are used: Discord accepts no new session before ")
	check.Equal(t, "connected", r.connector.Connected(), false)
	check.Contains(t, "the status", r.connector.Status().String(), "2 of 3 shards connected", "0 of 2 session starts left today")
	r.converse(r.squares[1], "meanwhile", 1)
	r.CutShard(1) // to resume costs no session
	r.until("it resumed", func() bool { _, resumed := r.connections(1); return resumed == 1 })
	r.ready()
	r.converse(r.squares[2], "hello", 1)
	check.Equal(t, "the problem", r.connector.Problem(), "")
}
