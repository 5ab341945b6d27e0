// Slack's stop button, which is /stop: Slack reports a click on it by an event, if the app is declared as an agent and subscribed
// (reference/events/agent_session_stopped), and by refusing more text for the stream.

package slack

import (
	"context"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
)

// codeStopped is the error of a stream that a person has stopped.
const codeStopped = "stopped_by_user"

// onStop handles the event of a click.
func (r *commands) onStop(e message) {
	click := e.EventTS
	if len(e.Streams) > 0 {
		click = e.Streams[0]
	}
	r.stop(e.Channel+"/"+click, r.self.place(e.Channel, e.Thread), e.User)
}

// stopped handles the refusal of more text. Slack does not say who clicked; it streams to the author of the question.
func (w *writer) stopped() {
	person, _, _ := w.recent.author(w.place.Channel, w.answers)
	w.commands.stop(w.place.Channel+"/"+w.draft.ts, w.place, person)
}

// stop runs /stop for a person, once for a click. Only that person sees what came of it.
func (r *commands) stop(click string, place chat.Place, person string) {
	c := typed{place: place, line: "/stop", who: access.Person{ID: person}}
	show := r.asMessage(c, "stop-"+click)
	r.start("stop/"+click, c, func(ctx context.Context, a command.Answer) error {
		a.Private = true
		return show(ctx, a)
	})
}
