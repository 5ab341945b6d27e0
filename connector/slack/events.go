// Events about messages are queued by channel, and acknowledged when they are stored.

package slack

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/connector/platform"
)

// events handles what Slack reports.
type events struct {
	base       *platform.Base
	self       *self
	names      *names
	recent     *recent
	translator *translator
	backfill   *backfill
	commands   *commands
	home       *home
	queue      *platform.KeyedQueue[event] // message events, by channel
}

// add queues an event. ack is called when the event is on disk, or there is nothing to store.
func (q *events) add(payload json.RawMessage, ack func()) {
	e := readEvent(payload)
	e.ack = ack
	if e.dropped > 0 {
		q.backfill.noteDropped(time.Unix(e.dropped, 0))
	}
	notePermissions(q.base, q.self, e.message)
	if e.Channel != "" && e.Type == "agent_session_stopped" {
		for _, ts := range e.Streams {
			q.recent.noteStopped(e.Channel, ts)
		}
		q.queue.Add(e.Channel, e, q.handle)
		return
	}
	if e.Type == "app_home_opened" {
		q.onHome(e.message)
		q.home.onOpened(payload)
	}
	if e.Type == "reaction_added" {
		q.commands.onReaction(e.message, ack)
		return
	}
	if slices.Contains(renames, e.Type) {
		q.names.noteRename(payload)
	}
	if e.Channel == "" || e.Type != slackgo.TYPE_MESSAGE && e.Type != "app_mention" {
		ack()
		return
	}
	q.queue.Add(e.Channel, e, q.handle)
}

// onHome handles that somebody has opened a tab of App Home.
func (q *events) onHome(e message) {
	if e.Tab == tabMessages {
		q.commands.sessions.suggest(e.Channel)
	}
}

// handle handles queued events of one channel in order.
func (q *events) handle(batch []event) {
	for len(batch) > 0 {
		n := 1 // after a panic: Slack repeats what is not acknowledged
		q.base.Work.Guard(func() { n = q.storeNext(q.base.Work.Ctx, batch) })
		batch = batch[n:]
	}
}

// storeNext stores the first events, and acknowledges them. It returns how many these are.
func (q *events) storeNext(ctx context.Context, batch []event) int {
	n, store := q.next(ctx, batch)
	if store == nil || q.base.Store(ctx, store) {
		for _, e := range batch[:n] {
			e.ack()
		}
	}
	return n
}

// next returns how to store the first event, and with it the messages of the same conversation that follow: a burst would be
// acknowledged too late if each was stored alone. n is the number of these events; store is nil if there is nothing to store.
func (q *events) next(ctx context.Context, batch []event) (n int, store func() error) {
	first := batch[0]
	if first.Type == "agent_session_stopped" {
		return 1, q.stop(ctx, first.message)
	}
	place := q.recent.placeOf(first.Channel, first.message)
	const changed, deleted = slackgo.MsgSubTypeMessageChanged, slackgo.MsgSubTypeMessageDeleted
	switch {
	case first.SubType == changed:
		return 1, q.edited(ctx, first.message)
	case first.SubType == deleted && first.DeletedTS != "":
		original := message{}
		if first.Before != nil {
			original = *first.Before
		}
		original.TS = first.DeletedTS
		return 1, q.deletion(ctx, first.Channel, original)
	case first.SubType == deleted:
		return 1, nil
	}
	var messages []channel.Inbound
	for _, e := range batch {
		if e.SubType == changed || e.SubType == deleted || e.Type == "agent_session_stopped" || q.recent.placeOf(e.Channel, e.message) != place {
			break
		}
		m, there := q.recent.current(e.Channel, e.message)
		in, relevant := q.translator.inbound(place, m)
		relevant = relevant && there
		if alone := relevant && (platform.IsCommand(in) || q.translator.steersAbove(place, in)); alone {
			if n > 0 {
				break
			}
			if platform.IsCommand(in) {
				return 1, q.command(ctx, place, in, q.recent.answeredIn(e.Channel, m))
			}
			return 1, q.steer(ctx, place, in, e.Kind)
		}
		if relevant {
			in.Audience = audience(e.Kind, place)
			if !in.Incomplete { // otherwise Complete finds out the names
				in.Label = q.names.label(place, in.Author)
			}
			messages = append(messages, in)
		}
		n++
	}
	if len(messages) == 0 {
		return n, nil
	}
	return n, func() error { return q.base.Deliver(ctx, place.String(), messages...) }
}

// command returns how to run a written command. It comes as a message and as a mention, and each may come to another process.
func (q *events) command(ctx context.Context, place chat.Place, in channel.Inbound, thread string) (store func() error) {
	return func() error {
		first, err := channel.FirstTo(ctx, q.base.Hub, place.String(), commandPrefix+in.ID)
		if err != nil || !first {
			return err
		}
		c := typed{place: place, thread: thread, line: in.Text, who: access.Person{ID: in.AuthorID, Name: in.Author}, ran: make(chan struct{})}
		q.commands.start(place.Channel+"/"+in.ID, c, q.commands.asMessage(c, in.ID))
		return nil
	}
}

// steer returns how to deliver a message for the running answer that is in a thread.
func (q *events) steer(ctx context.Context, place chat.Place, in channel.Inbound, kind string) (store func() error) {
	return func() error {
		name, err := channel.SteerTo(ctx, q.base.Hub, place.String(), in.ID)
		if err != nil {
			return err
		}
		to := chat.ParsePlace(name)
		if to.Thread == "" {
			in = q.inChannel(ctx, in, place.Thread)
		}
		in.Above = above(place)
		in.Audience = audience(kind, to)
		if !in.Incomplete {
			in.Label = q.names.label(to, in.Author)
		}
		return q.base.Deliver(ctx, name, in)
	}
}

// inChannel returns a message of a thread as one of the channel's conversation. An incomplete one would not reach the running answer.
func (q *events) inChannel(ctx context.Context, in channel.Inbound, thread string) channel.Inbound {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if isNameless(in) {
		in.Author = q.names.lookUp(ctx, in.AuthorID)
	}
	in.Text = q.names.resolveNames(ctx, in.Text)
	in.Incomplete = isNameless(in) || slices.ContainsFunc(in.Attachments, q.translator.files.Wanted)
	in.Thread = false
	in.ReplyTo = thread // where it is answered if that answer does not read it
	return in
}

// stop returns how to handle a press of Slack's stop button, which may come to several processes. The session ends in any case: after
// a crash the event comes again.
func (q *events) stop(ctx context.Context, e message) (store func() error) {
	thread := q.self.place(e.Channel, e.Thread)
	ended := q.commands.endSession(thread)
	return func() error {
		place := q.recent.placeOf(e.Channel, message{Thread: e.Thread})
		first, err := channel.FirstTo(ctx, q.base.Hub, place.String(), "stop-"+e.EventTS)
		if err != nil {
			return err
		}
		if first {
			q.commands.onStop(e, place)
		}
		select {
		case <-ended:
		case <-time.After(time.Second): // Slack waits 3 for an acknowledgement
		}
		return nil
	}
}

// edited returns how to store an edit; nil if it is of the bot's message, or changes neither text nor files, as a link preview.
func (q *events) edited(ctx context.Context, m message) (store func() error) {
	now := m.Now
	before := m.Before
	switch {
	case now == nil || now.TS == "":
		return nil
	case now.SubType == "tombstone":
		return q.deletion(ctx, m.Channel, *now)
	case now.isHuddle(): // it has ended; what was before says so, too
	case before != nil && withForwarded(*before) == withForwarded(*now) && sameFiles(before.Files, now.Files) || before == nil && now.Edited == nil:
		return nil
	}
	place := q.recent.placeOf(m.Channel, *now)
	in, relevant := q.translator.inbound(place, *now)
	if !relevant {
		return nil
	}
	in.Time = timeOf(m.TS)
	now.Edited = &struct{ TS string }{m.TS} // Slack's has no fractions of seconds, but someone may edit twice within one
	q.recent.noteEdit(m.Channel, *now)
	// Complete is not called for edits, so names are looked up here; nearly all are cached since the original message.
	limited, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	in.Text = q.names.resolveNames(limited, in.Text)
	return func() error {
		name, err := q.whereIs(ctx, place, in.ID)
		if err != nil {
			return err
		}
		if place.Thread != "" && name == above(place) {
			in = q.inChannel(ctx, in, place.Thread)
		}
		return q.base.Hub.Edit(ctx, name, in)
	}
}

// sameFiles compares the files of two versions of a message; a deleted one gets another mode.
func sameFiles(a, b []file) bool {
	return slices.EqualFunc(a, b, func(a, b file) bool { return a.ID == b.ID && a.Mode == b.Mode })
}

// deletion notes a deletion, and returns how to store it. Another process may have got the message, and know alone that it is in a thread.
func (q *events) deletion(ctx context.Context, channelID string, m message) (store func() error) {
	q.recent.noteDeletion(channelID, m.TS)
	place := q.recent.placeOf(channelID, m)
	return func() error {
		name, err := q.whereIs(ctx, place, m.TS)
		if err != nil {
			return err
		}
		return q.base.Hub.Delete(ctx, name, m.TS)
	}
}

// whereIs returns the conversation of a message whose place is known by an event, which may leave the thread out. That of a direct
// message depends on the settings, and on whether the app was an agent, when it arrived.
func (q *events) whereIs(ctx context.Context, place chat.Place, ts string) (name string, err error) {
	if place.Thread != "" && !place.Direct() {
		isAbove, err := channel.Has(ctx, q.base.Hub, above(place), ts) // see steer
		if err != nil || isAbove {
			return above(place), err
		}
		return place.String(), nil
	}
	name, err = channel.WhereIs(ctx, q.base.Hub, above(place), ts)
	if err != nil || place.Thread == "" || name != above(place) {
		return name, err
	}
	isAbove, err := channel.Has(ctx, q.base.Hub, name, ts)
	if err != nil || isAbove {
		return name, err
	}
	return place.String(), nil
}
