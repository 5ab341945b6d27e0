// Gateway events: each is queued by channel and handled there.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"cairn/channel"
	"cairn/connector/platform"
)

// events handles what the gateway reports over one connection.
type events struct {
	base       *platform.Base
	link       *platform.Link // of the connection's shard
	rest       *rest
	state      *stateCache
	queue      *platform.KeyedQueue[func()] // work on events, by channel
	translator *translator
	history    *history
	backfill   *backfill
	servers    *servers // of the shard
	commands   *commands
	lookup     *lookup

	// Used only by the goroutine of the shard.
	adopted  bool // another process has started the session, so events have not described its servers
	arriving bool // it was adopted, and RESUMED has not arrived
	replayed bool // the events until RESUMED may have been handled by the other process
}

// adopt prepares for the events of a session that another process has started. replayed: it may have handled some of them.
func (e *events) adopt(replayed bool) {
	e.adopted = true
	e.arriving = true
	e.replayed = replayed
}

// onAdopted handles the end of what was missed in a session of another process.
func (e *events) onAdopted() {
	e.arriving = false
	e.replayed = false
	e.backfill.notFirstStart = true
	e.backfill.hadSession = true
	e.link.CurrentLog().Info("session_resumed", "as", e.state.self().Username)
	e.base.CheckClock()
	e.commands.registerOnce()
	e.base.Work.Start(e.readServers)
}

// handle handles one gateway event. After an error the connection must be closed.
func (e *events) handle(name string, data json.RawMessage) (err error) {
	e.base.Work.Guard(func() {
		e.link.NoteEvent()
		err = e.dispatch(name, data)
	})
	return err
}

// dispatch passes an event on. The next one waits for it, so it only updates caches and queues work, except for READY, which has to
// be on disk first.
func (e *events) dispatch(name string, data json.RawMessage) error {
	switch name {
	case "READY":
		return e.onReady(data)
	case "RESUMED":
		e.link.Established()
		e.link.Recheck()
		if e.arriving {
			e.onAdopted()
		}
	case "MESSAGE_CREATE":
		e.onMessageCreate(read[message](data))
	case "MESSAGE_UPDATE":
		e.onMessageUpdate(read[message](data))
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		e.onMessageDelete(read[deletion](data))
	case "MESSAGE_REACTION_ADD":
		e.onReaction(read[reaction](data))
	case "INTERACTION_CREATE":
		if !e.replayed { // another process may have handled it; and Discord waits only 3 seconds
			e.commands.onInteraction(read[interaction](data))
		}
	default:
		e.updateState(name, data)
	}
	return nil
}

func (e *events) updateState(name string, data json.RawMessage) {
	if e.adopted {
		about := read[struct {
			ID      string
			GuildID string `json:"guild_id"`
		}](data)
		e.lookup.note(cmp.Or(about.GuildID, about.ID))
	}
	switch name {
	case "GUILD_CREATE":
		if g := read[guild](data); !g.Unavailable { // at the start of a session, after an outage, or when the bot joins
			e.servers.add(g.ID)
			for _, p := range e.state.addGuild(g) {
				e.backfill.ifMissed(p, false)
			}
		}
	case "GUILD_UPDATE":
		g := read[guild](data)
		e.state.updateGuild(g.ID, func(old *guild) { old.Name, old.OwnerID = cmp.Or(g.Name, old.Name), cmp.Or(g.OwnerID, old.OwnerID) })
	case "GUILD_DELETE":
		if g := read[guild](data); g.Unavailable { // it comes back
			e.backfill.noteGaps()
		} else {
			e.servers.remove(g.ID)
			e.state.removeGuild(g.ID)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_UPDATE":
		e.state.add(read[place](data))
	case "THREAD_CREATE":
		e.backfill.ifMissed(e.state.add(read[place](data)), true) // a message may have added the bot to the thread
	case "CHANNEL_DELETE", "THREAD_DELETE":
		e.state.places.Delete(read[place](data).ID)
	case "THREAD_LIST_SYNC": // the bot may read a channel from now on
		sync := read[guild](data)
		for _, c := range sync.Threads {
			c.Guild = cmp.Or(c.Guild, sync.GuildID)
			e.state.add(c)
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		r := read[struct {
			GuildID string `json:"guild_id"`
			RoleID  string `json:"role_id"` // of a deleted role
			Role    role
		}](data)
		r.Role.ID = cmp.Or(r.Role.ID, r.RoleID)
		e.state.updateGuild(r.GuildID, func(g *guild) { g.setRole(r.Role) })
	case "GUILD_MEMBER_UPDATE":
		m := read[member](data)
		if me := e.state.self(); m.User != nil && m.User.ID == me.ID {
			e.state.updateGuild(m.GuildID, func(g *guild) { g.noteBot(m) })
		}
	}
}

// read decodes the data of an event; fields of an unexpected type stay empty.
func read[T any](data json.RawMessage) (v T) {
	_ = platform.Decode(data, &v) // fields that cannot be decoded stay empty
	return v
}

func (e *events) onMessageCreate(m message) {
	me := e.state.self()
	switch {
	case m.Author == nil || !m.isChat():
	case m.Author.ID == me.ID:
		e.translator.noteFromBot(m.ID)
	default:
		replayed := e.replayed
		e.enqueue(m.ChannelID, m.GuildID, func(ctx context.Context, p place) { e.deliver(ctx, p, m, replayed) })
	}
}

// enqueue queues work on an event about a channel, whose place it gets.
func (e *events) enqueue(channelID, guildID string, work func(ctx context.Context, p place)) {
	adopted := e.adopted
	e.queue.Add(channelID, func() {
		ctx := e.base.Work.Ctx
		if adopted {
			e.lookup.know(ctx, guildID, false)
		}
		work(ctx, locate(ctx, e.rest, e.state, channelID, guildID))
	}, e.base.Work.CallEach)
}

// deliver stores a message, or runs a command, unless that was replayed: another process may have run it.
func (e *events) deliver(ctx context.Context, p place, m message, replayed bool) {
	name := p.conversation()
	e.backfill.fillGap(name, "", false)
	in, ok := e.translator.inbound(m, p)
	if !ok {
		return
	}
	in.Audience, in.Label = e.state.audience(m.ChannelID), e.state.label(m.ChannelID)
	if p.Guild == "" {
		in.Label = in.Author
	}
	switch {
	case platform.IsCommand(in) && replayed:
		e.base.Log.Debug("replayed_command_ignored", "conversation", name)
	case platform.IsCommand(in):
		ran := make(chan struct{})
		e.base.Command(in.ID, name, textTimeout, ran, func(ctx context.Context) error { return e.commands.runText(ctx, name, m, in, ran) })
	default:
		e.base.Store(ctx, func() error { return e.base.Deliver(ctx, name, in) })
	}
}

// onMessageUpdate queues an edit. Updates also come for link previews, and some leave out what did not change.
func (e *events) onMessageUpdate(m message) {
	me := e.state.self()
	if m.ID == "" || m.Edited == "" || m.Content == nil || m.Author != nil && m.Author.ID == me.ID {
		return
	}
	if m.Author != nil && m.Attachments != nil {
		e.edit(m)
		return
	}
	e.base.Work.Start(func(ctx context.Context) { // new messages must not wait for this
		full, err := e.history.messageByID(ctx, m.ChannelID, m.ID, false)
		if err != nil || full.Author == nil {
			e.base.Log.Debug("read_edit_failed", "message", m.ID, "error", err)
			return
		}
		full.ChannelID = m.ChannelID
		full.GuildID = m.GuildID
		full.Edited = cmp.Or(full.Edited, m.Edited)
		e.edit(full)
	})
}

func (e *events) edit(m message) {
	e.enqueue(m.ChannelID, m.GuildID, func(ctx context.Context, p place) {
		in, ok := e.translator.inbound(m, p)
		if t, err := time.Parse(time.RFC3339, m.Edited); err == nil {
			in.Time = t
		}
		if ok {
			e.base.Store(ctx, func() error { return e.base.Hub.Edit(ctx, p.conversation(), in) }) // which keeps the contents of the files
		}
	})
}

type deletion struct {
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"`
	ID        string
	IDs       []string
}

func (e *events) onMessageDelete(deleted deletion) {
	if deleted.ID != "" {
		deleted.IDs = append(deleted.IDs, deleted.ID)
	}
	e.enqueue(deleted.ChannelID, deleted.GuildID, func(ctx context.Context, p place) {
		e.base.Store(ctx, func() error { return e.base.Hub.Delete(ctx, p.conversation(), deleted.IDs...) })
	})
}

// locate looks up a place in the state cache or, since archived threads are not in the cache, over REST.
func locate(ctx context.Context, rest *rest, state *stateCache, id, guild string) place {
	p := state.place(id)
	if p.ID != "" {
		p.Guild = cmp.Or(p.Guild, guild) // earlier events about the channel may have left it out
		return p
	}
	if guild == "" {
		return place{ID: id}
	}
	platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) {
		p = place{}
		err := rest.do(ctx, call{method: "GET", path: "/channels/" + id, into: &p})
		return err == nil || errors.Is(err, channel.ErrGone)
	})
	if p.ID != id {
		return place{ID: id, Guild: guild}
	}
	p.Guild = guild
	return state.add(p)
}

// onReady handles the start of a session: it stores which conversations may have a gap before any other event is delivered.
func (e *events) onReady(data json.RawMessage) error {
	r := read[struct {
		User        user
		Application struct{ ID string }
		Guilds      []struct{ ID string }
	}](data)
	e.adopted = false
	e.arriving = false
	e.replayed = false
	e.state.bot.Store(&self{r.User, cmp.Or(r.Application.ID, r.User.ID)})
	gaps, err := e.backfill.onReady()
	if err != nil {
		return err
	}
	e.link.Established()
	e.link.CurrentLog().Info("connected", "as", r.User.Username)
	e.base.CheckClock()
	ids := make([]string, 0, len(r.Guilds))
	for _, g := range r.Guilds {
		ids = append(ids, g.ID)
	}
	e.servers.reset(ids)
	e.backfill.directMessages(gaps)
	e.commands.registerOnce()
	return nil
}
