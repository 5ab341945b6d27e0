// Gateway events: each is queued by channel and handled there.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// event handles one gateway event. The next event waits for it, so it only queues work. After an
// error the connection must be closed.
func (d *Discord) event(name string, data json.RawMessage) error {
	defer func() {
		if p := recover(); p != nil { // it would end the program
			d.log.Error("handle_event_failed", "event", name, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	switch name {
	case "READY":
		return d.ready(read[readyData](data))
	case "RESUMED":
		d.linkIncident.End()
		d.connected.Store(true)
	case "MESSAGE_CREATE":
		d.created(read[message](data))
	case "MESSAGE_UPDATE":
		d.updated(read[message](data))
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		d.deleted(read[deletion](data))
	case "INTERACTION_CREATE":
		d.interacted(read[interaction](data))
	default:
		d.updateState(name, data)
	}
	return nil
}

// updateState updates the state cache from an event about servers, channels or roles.
func (d *Discord) updateState(name string, data json.RawMessage) {
	switch name {
	case "GUILD_CREATE":
		d.guildCreated(read[guildData](data))
	case "GUILD_DELETE":
		if g := read[guildData](data); !g.Unavailable { // else it comes back
			d.state.removeGuild(g.ID)
		}
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_UPDATE":
		d.state.add(read[channelData](data))
	case "THREAD_CREATE":
		c := read[channelData](data)
		d.state.add(c)
		d.compare(c, "", time.Time{})
	case "CHANNEL_DELETE", "THREAD_DELETE":
		d.state.remove(read[channelData](data).ID)
	case "THREAD_LIST_SYNC": // the bot may read a channel from now on
		sync := read[guildData](data)
		var of struct {
			GuildID string `json:"guild_id"`
		}
		_ = decode(data, &of)
		for _, c := range sync.Threads {
			c.GuildID = cmp.Or(c.GuildID, of.GuildID)
			d.state.add(c)
		}
	case "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE":
		r := read[roleEvent](data)
		r.Role.ID = cmp.Or(r.Role.ID, r.RoleID)
		d.state.setRole(r.GuildID, r.Role)
	case "GUILD_MEMBER_UPDATE":
		m := read[memberEvent](data)
		if me, _ := d.state.self(); m.User != nil && m.User.ID == me.ID {
			d.state.setMine(m.GuildID, m.Roles)
		}
	}
}

type readyData struct {
	User        user `json:"user"`
	Application struct {
		ID string `json:"id"`
	} `json:"application"`
}

type roleEvent struct {
	GuildID string   `json:"guild_id"`
	RoleID  string   `json:"role_id"` // of one that is gone
	Role    roleData `json:"role"`
}

type memberEvent struct {
	GuildID string   `json:"guild_id"`
	User    *user    `json:"user"`
	Roles   []string `json:"roles"`
}

type deletion struct {
	ChannelID string   `json:"channel_id"`
	GuildID   string   `json:"guild_id"`
	ID        string   `json:"id"`
	IDs       []string `json:"ids"`
}

// read decodes the data of an event; fields of an unexpected type stay empty.
func read[T any](data json.RawMessage) (v T) {
	_ = decode(data, &v) // what is missing is empty
	return v
}

// created queues a new message.
func (d *Discord) created(m message) {
	d.state.setLastMessage(m.ChannelID, m.ID)
	me, _ := d.state.self()
	if m.Author == nil || !m.isChat() {
		return
	}
	if m.Author.ID == me.ID {
		d.own.Set(m.ID, "")
		return
	}
	if d.queue.Offer(m.ChannelID, func() { d.deliver(m) }) {
		return
	}
	if _, again := d.overran.LoadOrStore(m.ChannelID, true); !again {
		d.queue.Add(m.ChannelID, func() {
			d.overran.Delete(m.ChannelID)
			d.backfill(m)
		})
	}
}

// deliver hands a message to the hub; it runs in the queue of its channel.
func (d *Discord) deliver(m message) {
	ctx := d.work.Context()
	p := d.locate(ctx, m.ChannelID, m.GuildID)
	name := p.conversation(m.ChannelID)
	d.fillGap(ctx, name)
	in, ok := d.inbound(m, p)
	if !ok {
		return
	}
	in.Audience, in.Label = d.state.audience(m.ChannelID), d.state.label(m.ChannelID)
	if p.Guild == "" {
		in.Label = in.Author
	}
	if platform.IsCommand(in) {
		if !d.seen.Seen(in.ID) {
			d.work.Start(func(ctx context.Context) { d.runText(ctx, name, m, in) })
		}
		return
	}
	d.retry(ctx, func() error {
		_, err := d.hub.Deliver(ctx, name, in)
		if err != nil {
			d.hub.Undelivered(ctx, name, in, err)
		}
		return err
	})
}

// backfill reads the messages for which the queue had no room from history, beginning with m.
func (d *Discord) backfill(m message) {
	ctx := d.work.Context()
	p := d.locate(ctx, m.ChannelID, m.GuildID)
	d.retry(ctx, func() error { return d.hub.CatchUp(ctx, p.conversation(m.ChannelID), before(m.ID)) })
}

// updated queues an edit. Discord also sends updates for link previews, and some servers omit the
// fields that did not change.
func (d *Discord) updated(m message) {
	me, _ := d.state.self()
	if m.ID == "" || m.Edited == "" || m.Content == nil || m.Author != nil && m.Author.ID == me.ID {
		return
	}
	if m.Author != nil && m.Attachments != nil {
		d.queue.Add(m.ChannelID, func() { d.edit(m) })
		return
	}
	d.work.Start(func(ctx context.Context) { // new messages must not wait for this
		whole, err := d.messageBy(ctx, m.ChannelID, m.ID, false)
		if err != nil || whole.Author == nil {
			d.log.Debug("read_edit_failed", "message", m.ID, "error", err)
			return
		}
		whole.ChannelID, whole.GuildID, whole.Edited = m.ChannelID, m.GuildID, cmp.Or(whole.Edited, m.Edited)
		d.queue.Add(m.ChannelID, func() { d.edit(whole) })
	})
}

func (d *Discord) edit(m message) {
	ctx := d.work.Context()
	p := d.locate(ctx, m.ChannelID, m.GuildID)
	in, ok := d.inbound(m, p)
	if !ok {
		return
	}
	if t, err := time.Parse(time.RFC3339, m.Edited); err == nil {
		in.Time = t
	}
	name := p.conversation(m.ChannelID)
	store := func() { d.retry(ctx, func() error { return d.hub.Edit(ctx, name, in) }) }
	if !in.Incomplete {
		store()
		return
	}
	d.work.Start(func(ctx context.Context) {
		in, _ = d.Complete(ctx, name, in) // a file that cannot be fetched stays described
		d.queue.Add(m.ChannelID, store)
	})
}

// deleted queues deletions.
func (d *Discord) deleted(e deletion) {
	if e.ID != "" {
		e.IDs = append(e.IDs, e.ID)
	}
	if len(e.IDs) == 0 {
		return
	}
	d.queue.Add(e.ChannelID, func() {
		ctx := d.work.Context()
		name := d.locate(ctx, e.ChannelID, e.GuildID).conversation(e.ChannelID)
		d.retry(ctx, func() error { return d.hub.Delete(ctx, name, e.IDs...) })
	})
}

// retry repeats a write of the hub until it succeeds. Only this channel waits.
func (d *Discord) retry(ctx context.Context, do func() error) {
	platform.Retry(ctx, platform.Backoff{First: time.Second, Most: time.Minute}, func() (done bool) {
		err := do()
		switch {
		case err == nil:
			d.storeIncident.End()
			return true
		case errors.Is(err, channel.ErrRefused), errors.Is(err, channel.ErrClosed), ctx.Err() != nil:
			return true
		}
		d.storeIncident.Begin(err)
		return false
	})
}

// locate looks a place up, in the state cache or over REST: an archived thread is not in the cache.
func (d *Discord) locate(ctx context.Context, id, guild string) place {
	p, known := d.state.place(id)
	if known {
		p.Guild = cmp.Or(p.Guild, guild) // an event about the channel may have left it out
		return p
	}
	if guild == "" {
		return place{}
	}
	p = place{Guild: guild}
	platform.Retry(ctx, platform.Backoff{First: time.Second, Most: time.Minute}, func() (done bool) {
		var c channelData
		err := d.rest.do(ctx, call{method: "GET", path: "/channels/" + id, into: &c})
		if err == nil && c.ID == id {
			c.GuildID = guild
			p = d.state.add(c)
		}
		return err == nil || errors.Is(err, channel.ErrGone)
	})
	return p
}
