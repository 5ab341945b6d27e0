// Gateway events: each is queued by channel and handled there. Conversations that missed some between two sessions read the history.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

// event handles one gateway event. The next event waits for it, so it only updates caches and queues work, except for
// READY, which has to be on disk first. After an error the connection must be closed.
func (d *Discord) event(name string, data json.RawMessage) error {
	defer func() {
		if p := recover(); p != nil { // otherwise it would end the program
			d.Log.Error("handle_event_failed", "event", name, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	d.Heard()
	switch name {
	case "READY":
		return d.onReady(data)
	case "RESUMED":
		d.Link.Established()
		d.LookAgain()
	case "MESSAGE_CREATE":
		d.onMessageCreate(read[message](data))
	case "MESSAGE_UPDATE":
		d.onMessageUpdate(read[message](data))
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		d.onMessageDelete(read[deletion](data))
	case "INTERACTION_CREATE":
		d.onInteraction(read[interaction](data))
	default:
		d.updateState(name, data)
	}
	return nil
}

func (d *Discord) updateState(name string, data json.RawMessage) {
	switch name {
	case "GUILD_CREATE":
		if g := read[guild](data); !g.Unavailable { // at the start of a session, after an outage, or when the bot joins
			d.noteServers(g.ID)
			for _, p := range d.state.addGuild(g) {
				d.backfillIfMissed(p, false)
			}
		}
	case "GUILD_UPDATE":
		g := read[guild](data)
		d.state.updateGuild(g.ID, func(old *guild) { old.Name, old.OwnerID = cmp.Or(g.Name, old.Name), cmp.Or(g.OwnerID, old.OwnerID) })
	case "GUILD_DELETE":
		if g := read[guild](data); g.Unavailable { // it comes back
			d.noteGaps()
		} else {
			delete(d.servers.ids, g.ID)
			d.state.removeGuild(g.ID)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_UPDATE":
		d.state.add(read[place](data))
	case "THREAD_CREATE":
		d.backfillIfMissed(d.state.add(read[place](data)), true) // a message may have added the bot to the thread
	case "CHANNEL_DELETE", "THREAD_DELETE":
		d.state.places.Delete(read[place](data).ID)
	case "THREAD_LIST_SYNC": // the bot may read a channel from now on
		sync := read[guild](data)
		for _, c := range sync.Threads {
			c.Guild = cmp.Or(c.Guild, sync.GuildID)
			d.state.add(c)
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		r := read[struct {
			GuildID string `json:"guild_id"`
			RoleID  string `json:"role_id"` // of a deleted role
			Role    role
		}](data)
		r.Role.ID = cmp.Or(r.Role.ID, r.RoleID)
		d.state.updateGuild(r.GuildID, func(g *guild) { g.setRole(r.Role) })
	case "GUILD_MEMBER_UPDATE":
		m := read[member](data)
		if me := d.state.self(); m.User != nil && m.User.ID == me.ID {
			d.state.updateGuild(m.GuildID, func(g *guild) { g.noteBot(m) })
		}
	}
}

// read decodes the data of an event; fields of an unexpected type stay empty.
func read[T any](data json.RawMessage) (v T) {
	_ = platform.Decode(data, &v) // fields that cannot be decoded stay empty
	return v
}

func (d *Discord) onMessageCreate(m message) {
	me := d.state.self()
	switch {
	case m.Author == nil || !m.isChat():
	case m.Author.ID == me.ID:
		d.own.Set(m.ID, "")
	default:
		d.enqueue(m.ChannelID, m.GuildID, func(ctx context.Context, p place) { d.deliver(ctx, p, m) })
	}
}

// enqueue queues work on an event about a channel, whose place it gets.
func (d *Discord) enqueue(channelID, guildID string, work func(ctx context.Context, p place)) {
	d.queue.Add(channelID, func() {
		ctx := d.Work.Ctx
		work(ctx, d.locate(ctx, channelID, guildID))
	})
}

func (d *Discord) deliver(ctx context.Context, p place, m message) {
	name := p.conversation()
	d.fillGap(name, "", false)
	in, ok := d.inbound(m, p)
	if !ok {
		return
	}
	in.Audience, in.Label = d.state.audience(m.ChannelID), d.state.label(m.ChannelID)
	if p.Guild == "" {
		in.Label = in.Author
	}
	if platform.IsCommand(in) {
		ran := make(chan struct{})
		d.Command(in.ID, name, textTimeout, ran, func(ctx context.Context) error { return d.runText(ctx, name, m, in, ran) })
	} else {
		d.Store(ctx, func() error { return d.Deliver(ctx, name, in) })
	}
}

// onMessageUpdate queues an edit. Updates also come for link previews, and some leave out what did not change.
func (d *Discord) onMessageUpdate(m message) {
	me := d.state.self()
	if m.ID == "" || m.Edited == "" || m.Content == nil || m.Author != nil && m.Author.ID == me.ID {
		return
	}
	if m.Author != nil && m.Attachments != nil {
		d.edit(m)
		return
	}
	d.Work.Start(func(ctx context.Context) { // new messages must not wait for this
		full, err := d.messageByID(ctx, m.ChannelID, m.ID, false)
		if err != nil || full.Author == nil {
			d.Log.Debug("read_edit_failed", "message", m.ID, "error", err)
			return
		}
		full.ChannelID = m.ChannelID
		full.GuildID = m.GuildID
		full.Edited = cmp.Or(full.Edited, m.Edited)
		d.edit(full)
	})
}

func (d *Discord) edit(m message) {
	d.enqueue(m.ChannelID, m.GuildID, func(ctx context.Context, p place) {
		in, ok := d.inbound(m, p)
		if t, err := time.Parse(time.RFC3339, m.Edited); err == nil {
			in.Time = t
		}
		if ok {
			d.Store(ctx, func() error { return d.Hub.Edit(ctx, p.conversation(), in) }) // which keeps the contents of the files
		}
	})
}

type deletion struct {
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"`
	ID        string
	IDs       []string
}

func (d *Discord) onMessageDelete(e deletion) {
	if e.ID != "" {
		e.IDs = append(e.IDs, e.ID)
	}
	d.enqueue(e.ChannelID, e.GuildID, func(ctx context.Context, p place) {
		d.Store(ctx, func() error { return d.Hub.Delete(ctx, p.conversation(), e.IDs...) })
	})
}

// locate looks up a place in the state cache or, since archived threads are not in the cache, over REST.
func (d *Discord) locate(ctx context.Context, id, guild string) place {
	p := d.state.place(id)
	if p.ID != "" {
		p.Guild = cmp.Or(p.Guild, guild) // earlier events about the channel may have left it out
		return p
	}
	if guild == "" {
		return place{ID: id}
	}
	platform.Retry(ctx, platform.Backoff{First: time.Second, Most: time.Minute}, func() (done bool) {
		p = place{}
		err := d.rest.do(ctx, call{method: "GET", path: "/channels/" + id, into: &p})
		return err == nil || errors.Is(err, channel.ErrGone)
	})
	if p.ID != id {
		return place{ID: id, Guild: guild}
	}
	p.Guild = guild
	return d.state.add(p)
}

// onReady handles the start of a session: it stores which conversations may have a gap before any other event is delivered.
func (d *Discord) onReady(data json.RawMessage) error {
	r := read[struct {
		User        user
		Application struct{ ID string }
		Guilds      []struct{ ID string }
	}](data)
	d.state.bot.Store(&self{r.User, cmp.Or(r.Application.ID, r.User.ID)})
	all, err := d.noteGaps()
	if err != nil {
		return err
	}
	d.notFirstStart = d.hadSession || len(all) > 0
	d.hadSession = true
	d.Link.Established()
	d.Log.Info("connected", "as", r.User.Username)
	d.CheckClock()
	clear(d.servers.ids)
	for _, g := range r.Guilds {
		d.servers.ids[g.ID] = true
	}
	d.noteServers()
	for _, gap := range all { // the gateway announces a direct message channel only with its next message
		if p := chat.ParsePlace(gap.Conversation); p.Direct() {
			d.queue.Add(p.Channel, func() { d.fillGap(gap.Conversation, "", false) })
		}
	}
	if d.registered.CompareAndSwap(false, true) {
		d.Work.Start(d.register)
	}
	return nil
}

// noteGaps stores which conversations may have missed messages, or fails if that is not possible in time.
func (d *Discord) noteGaps() (all []channel.Gap, err error) {
	ctx, cancel := context.WithTimeout(d.Work.Ctx, d.pauses.open)
	defer cancel()
	if !d.Store(ctx, func() (err error) {
		all, err = d.Hub.Away(ctx, Name, nil) // nil: Discord delivers events in order
		return err
	}) {
		return nil, errors.New("store the gaps of a new session: not possible in time")
	}
	for _, gap := range all {
		d.gaps.Store(gap.Conversation, gap.After)
	}
	return all, nil
}

// backfillIfMissed queues a backfill of a place; joined reports whether the bot just joined it.
func (d *Discord) backfillIfMissed(p place, joined bool) {
	missed := joined || d.notFirstStart
	if p.Guild != "" && p.hasMessages() && !d.state.hidden(p.ID) {
		d.queue.Add(p.ID, func() { d.fillGap(p.conversation(), p.Last, missed) })
	}
}

// fillGap backfills a conversation with a gap, or, if it may have missed messages, one whose last message is not too old; ""
// if that is unknown. There is nothing to read from before the bot joined, nor in a place where no message is newer than the
// start of the gap, and the one before it is too old to be checked for edits and deletions.
func (d *Discord) fillGap(name, last string, missed bool) {
	gap, open := d.gaps.LoadAndDelete(name)
	if !open && !missed {
		return
	}
	after, _ := gap.(string)
	joined := d.state.guild(chat.ParsePlace(name).Server).joined()
	horizon := idAt(d.Clock.Now().Add(-d.o.CatchUp))
	absent := after != "" && newer(joined, after)
	quiet := after != "" && last != "" && !newer(last, after) && d.Clock.Now().Sub(timeOf(after)) > d.pauses.review
	ctx := d.Work.Ctx
	since := slices.MaxFunc([]string{cmp.Or(after, horizon), joined}, byAge)
	if absent || quiet {
		d.Store(ctx, func() error { return d.Hub.NothingMissed(ctx, name) })
	}
	if open && !quiet || !open && newer(last, since) {
		d.Store(ctx, func() error { return d.Hub.CatchUp(ctx, name, since) })
	}
}
