// How people see that the bot works on a reply: by a session or a status of the thread, or a reaction.

package slack

import (
	"cmp"
	"context"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/connector/platform"
)

const (
	workingEmoji = "eyes"
	placeholder  = "Thinking…"
)

// showWorking shows that the bot is working, until the writer stops: by a session, which release ends, or a status, or by a reaction
// where Slack shows neither, which is in a thread that the reply itself starts: no one would see it.
func (w *writer) showWorking(ctx context.Context) {
	w.locate(ctx)
	session := w.working == workingStatus && w.begin(ctx)
	if session && w.isSeen() {
		return
	}
	if w.working == workingStatus && !w.sessions.exist() && w.isSeen() && w.status(ctx) {
		w.afterwards(ctx, func(ctx context.Context) { w.setStatus(ctx, "") })
	} else if w.working != workingOff {
		w.showReaction(ctx)
	}
}

// afterwards starts what removes a sign that the bot works. Cancel waits for it.
func (w *writer) afterwards(ctx context.Context, remove func(ctx context.Context)) {
	w.removed.Add(1)
	run := func(ctx context.Context) {
		defer w.removed.Done()
		// The shutdown waits for this request instead of canceling it: nothing else would remove the sign.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout/3)
		defer cancel()
		remove(ctx)
	}
	if !w.base.Work.Start(run) {
		run(ctx)
	}
}

// showReaction shows a reaction until the writer stops, if Slack's limit leaves a request to remove it: Slack lets the bot put more
// reactions than it lets it remove.
func (w *writer) showReaction(ctx context.Context) {
	release, wait := w.api.gates.of("reactions.remove").keep()
	if wait > 0 {
		return
	}
	if !w.react(ctx) {
		release()
		return
	}
	<-w.Live.Done()
	w.afterwards(ctx, func(ctx context.Context) {
		defer release()
		if w.unreact(ctx) {
			return
		}
		w.base.Work.Start(func(ctx context.Context) {
			platform.Retry(ctx, platform.Backoff{First: time.Second, Max: time.Minute}, func() (done bool) { return w.unreact(ctx) })
		})
	})
}

func (w *writer) question() slackgo.ItemRef {
	return slackgo.NewRefToMessage(w.place.Channel, w.answers)
}

// react adds the reaction to the answered message, unless an earlier process has. It returns false if there is none then.
func (w *writer) react(ctx context.Context) bool {
	if !isTS(w.answers) {
		return false
	}
	err := w.api.once.AddReactionContext(ctx, workingEmoji, w.question())
	return err == nil || mayHaveTakenEffect(err) || codeOf(err) == "already_reacted"
}

// unreact removes the reaction. It returns false if a retry may remove it.
func (w *writer) unreact(ctx context.Context) (done bool) {
	err := w.api.write.RemoveReactionContext(ctx, workingEmoji, w.question())
	if err != nil {
		w.base.Log.Debug("remove_reaction_failed", "error", err)
	}
	return err == nil || isRefused(err)
}

// isSeen reports whether people see the thread of the reply before it is posted there.
func (w *writer) isSeen() bool {
	return w.conversation.Thread != "" || w.conversation.Direct() && w.answers != ""
}

// begin opens the session of the thread.
func (w *writer) begin(ctx context.Context) bool {
	person, _, _ := w.recent.author(w.place.Channel, w.answers)
	if !w.sessions.begin(ctx, w.conversation.String(), w.place, w.answers, person) {
		return false
	}
	w.busy.Store(true)
	return true
}

// release ends the session of the thread if this reply has left it busy, or an earlier process may have.
func (w *writer) release(ctx context.Context) {
	if !w.busy.Swap(false) && !w.mayHaveStarted() {
		return
	}
	w.removed.Add(1)
	thread := w.place // which the next piece may change
	answers := w.answers
	end := func(ctx context.Context) {
		defer w.removed.Done()
		w.sessions.end(ctx, thread, answers)
	}
	if !w.base.Work.Start(end) {
		end(ctx)
	}
}

// status keeps the status set until the writer stops. It returns false where Slack shows none.
func (w *writer) status(ctx context.Context) bool {
	for w.setStatus(ctx, "is thinking…") {
		if platform.Sleep(w.Live, w.times.status) != nil {
			return true
		}
	}
	return false
}

// setStatus sets the status; an empty text clears it. It returns false where Slack shows none.
func (w *writer) setStatus(ctx context.Context, text string) bool {
	thread := w.place
	thread.Thread = cmp.Or(thread.Thread, w.answers)
	return w.sessions.words(ctx, thread, text)
}
