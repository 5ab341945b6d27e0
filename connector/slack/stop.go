// Slack's stop button, which is /stop: Slack reports a click on it by an event, if the app is declared as an agent and subscribed
// (reference/events/agent_session_stopped), and by refusing more text for the stream. What people saw of the answer stays.

package slack

import (
	"cmp"
	"context"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
)

// codeStopped is the error of a stream that a person has stopped.
const codeStopped = "stopped_by_user"

// onStop handles the event of a click, in the conversation whose answers people see in the thread.
func (r *commands) onStop(e message, place chat.Place) {
	click := e.EventTS
	if len(e.Streams) > 0 {
		click = e.Streams[0]
	}
	if r.answersElsewhere(place, e.Thread) {
		return
	}
	c := typed{place: place, thread: e.Thread, who: access.Person{ID: e.User}, ran: make(chan struct{})}
	r.stop(e.Channel+"/"+click, c)
}

// answersElsewhere reports whether the running answer of a direct message is known to be in another of its threads: a click may come late,
// or again after a crash. Another process may be answering, then it is not known.
func (r *commands) answersElsewhere(place chat.Place, thread string) bool {
	to := channel.Answering(r.base.Hub, place.String())
	if len(to) == 0 || !r.recent.isOne(place.Channel) {
		return false
	}
	answers := to[len(to)-1]
	return isTS(answers) && r.poster.threadOf(r.base.Work.Ctx, place, answers) != thread
}

// endSession shows that the bot no longer works in a thread. It returns a channel that is closed when Slack shows it.
func (r *commands) endSession(thread chat.Place) <-chan struct{} {
	ended := make(chan struct{})
	if !r.base.Work.Start(func(ctx context.Context) {
		defer close(ended)
		busy, _ := r.sessions.busy.Find(thread.String())
		r.sessions.end(ctx, thread, busy)
	}) {
		close(ended)
	}
	return ended
}

// stopped handles the refusal of more text. Slack does not say who clicked; it streams to the author of the question.
func (w *writer) stopped() {
	person, _, _ := w.recent.author(w.place.Channel, w.answers)
	w.recent.noteStopped(w.place.Channel, w.draft.ts)
	c := typed{place: w.conversation, thread: w.place.Thread, who: access.Person{ID: person}}
	if w.place != w.conversation && !w.recent.isOne(w.place.Channel) {
		c.place = w.place // see commandHost.Stop
	}
	w.commands.stop(w.place.Channel+"/"+w.draft.ts, c)
}

// stop runs /stop for a person, once for a click. Only that person sees what came of it.
func (r *commands) stop(click string, c typed) {
	c.line = "/stop"
	show := r.asMessage(c, "stop-"+click)
	r.start("stop/"+click, c, func(ctx context.Context, a command.Answer) error {
		a.Private = true
		return show(ctx, a)
	})
}

// Kept implements channel.Keeper.
func (w *writer) Kept() (id string) {
	return w.recent.stopped(w.conversation.Channel, cmp.Or(w.answers, "none"))
}

// Keep implements channel.Keeper.
func (w *writer) Keep() {
	w.recent.noteFinished(w.conversation.Channel, w.Kept())
	w.recent.forgetStop(w.conversation.Channel, cmp.Or(w.answers, "none"))
	w.base.Work.Start(func(ctx context.Context) {
		w.Stop()
		w.release(ctx)
	})
}
