package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

const notAsked = "this is a test"

// triedIn runs a trial in a conversation, which nothing may be left of. report gets each step, too; it may be nil.
func (r *rig) triedIn(ctx context.Context, conversation, noPress string, report func(platform.Step)) (steps []platform.Step) {
	r.T.Helper()
	trial, err := r.trial(ctx, conversation)
	check.Require(r.T, err == nil, "the trial cannot begin: %v", err)
	trial.Run(ctx, noPress, func(s platform.Step) {
		steps = append(steps, s)
		if report != nil {
			report(s)
		}
	})
	left := slices.DeleteFunc(r.w.Posted(), func(m slacktest.Message) bool { return m.OnlyFor != "" })
	check.Len(r.T, "messages that are left", left, 0)
	for _, s := range steps {
		check.Lacks(r.T, "the report of "+s.Name, s.Seen, slacktest.TeamID, "C000", "U000", slacktest.BotToken, "question")
	}
	return steps
}

func (r *rig) trial(ctx context.Context, conversation string) (*platform.Trial, error) {
	r.T.Helper()
	r.connector = check.Must(New(r.opts))(r.T)
	r.connector.times.edit = 20 * time.Millisecond
	r.Open(r.connector)
	return r.connector.Trial(ctx, r.Hub, conversation)
}

// outcomes are the names of steps, with what came of them.
func outcomes(steps []platform.Step) (all []string) {
	for _, s := range steps {
		switch {
		case s.Skipped:
			all = append(all, s.Name+" skipped")
		case !s.OK:
			all = append(all, s.Name+" differs")
		default:
			all = append(all, s.Name)
		}
	}
	return all
}

func stepNamed(t *testing.T, steps []platform.Step, name string) platform.Step {
	t.Helper()
	i := slices.IndexFunc(steps, func(s platform.Step) bool { return s.Name == name })
	check.Require(t, i >= 0, "no step %s in %v", name, steps)
	return steps[i]
}

func TestTrial(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.opts.ReplyIn = replyAuto
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a question"})
	pressed := make(chan struct{})
	go func() { // ann presses the button, once it is there
		defer close(pressed)
		check.Soon(func() bool {
			for _, m := range r.botMessages(general) {
				if len(r.w.Sockets()) > 0 && strings.Contains(m.Text, "press the button") {
					r.w.Press(general, m.TS, ann, actionPrefix+"sources")
					return true
				}
			}
			return false
		})
	}()
	steps := r.triedIn(t.Context(), "slack:"+general, "", nil)
	<-pressed
	check.EqualAll(t, "outcomes", outcomes(steps), []string{"post", "find", "again", "working", "edit", "answer", "stop", "press", "upload skipped", "clean up"})
	check.Contains(t, "post", stepNamed(t, steps, "post").Seen, "chat.postMessage: ok, ")
	check.Contains(t, "answer", stepNamed(t, steps, "answer").Seen, "chat.startStream: ok", "chat.appendStream: ok", "chat.stopStream: ok")
	check.Contains(t, "stop", stepNamed(t, steps, "stop").Seen, "chat.startStream: ok", "chat.stopStream: ok", "chat.delete: ok")
	check.Contains(t, "press", stepNamed(t, steps, "press").Seen, "the press arrived, and was answered", "response_url: ok")
	check.Contains(t, "clean up", stepNamed(t, steps, "clean up").Seen, "messages deleted: 4; left: 0")
	check.Len(t, "what ann alone reads", r.botMessages(general, ann), 1)
}

func TestTrialReportsWhatSlackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		fault slacktest.Fault
		want  []string
		seen  string // of the first step that differs
	}{
		"no posts": {slacktest.Fault{Of: "chat.postMessage", Times: -1, Error: "restricted_action"}, []string{"post differs", "clean up"}, "chat.postMessage: restricted_action, "},
		"no streams": {
			slacktest.Fault{Of: "chat.startStream", Times: -1, Error: "unknown_method"},
			[]string{"post", "find", "again", "working", "edit", "answer differs", "stop differs", "press", "upload skipped", "clean up"},
			"chat.startStream: unknown_method, ",
		},
		"no deletions": {slacktest.Fault{Of: "chat.delete", Skip: 1, Times: 1, Error: "cant_delete_message"}, []string{
			"post", "find", "again", "working", "edit", "answer", "stop", "press", "upload skipped", "clean up differs",
		}, "chat.delete: cant_delete_message, "},
	} {
		t.Run(name, func(t *testing.T) {
			r, general, ann := town(t, slacktest.Options{}, answerN)
			r.opts.ReplyIn = replyAuto
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a question"})
			r.w.Fail(c.fault)
			trial, err := r.trial(t.Context(), conversation(general))
			check.NoError(t, err)
			var steps []platform.Step
			trial.Run(t.Context(), notAsked, func(s platform.Step) { steps = append(steps, s) })
			check.EqualAll(t, "outcomes", outcomes(steps), c.want)
			i := slices.IndexFunc(steps, func(s platform.Step) bool { return !s.OK && !s.Skipped })
			check.Contains(t, "the first difference", steps[i].Seen, c.seen)
		})
	}
}

// A server without metadata, and one that says less in its history, differ from Slack.
func TestTrialFindsDifferences(t *testing.T) {
	r, general, _ := town(t, slacktest.Options{Histories: func(m map[string]any) { delete(m, "metadata") }}, answerN)
	steps := r.triedIn(t.Context(), conversation(general), notAsked, nil)
	check.EqualAll(t, "outcomes", outcomes(steps), []string{"post", "find differs", "again differs", "working", "edit differs", "answer skipped", "stop", "press", "upload skipped", "clean up"})
	check.Contains(t, "find", stepNamed(t, steps, "find").Seen, "differs: the history does not have its mark")
}

// Whatever the trial was doing when somebody ends it, it leaves nothing.
func TestTrialCleansUpAfterItself(t *testing.T) {
	for _, method := range []string{"chat.postMessage", "chat.update", "chat.startStream", "chat.appendStream", "chat.stopStream"} {
		t.Run(method, func(t *testing.T) {
			r, general, ann := town(t, slacktest.Options{}, answerN)
			r.opts.ReplyIn = replyAuto
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a question"})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.w.Fail(slacktest.Fault{Of: method, Done: true, Delay: 300 * time.Millisecond}) // it takes effect, and nobody reads the answer
			go func() {
				check.Soon(func() bool { return r.w.Seen(method) > 0 })
				cancel()
			}()
			steps := r.triedIn(ctx, conversation(general), notAsked, nil)
			check.HasPrefix(t, "the last step", fmt.Sprint(outcomes(steps)[len(steps)-1]), "clean up")
			check.Contains(t, "the last step", steps[len(steps)-1].Seen, "left: 0")
		})
	}
}

// A request may take effect after its client has gone.
func TestTrialCleansUpWhatArrivesLate(t *testing.T) {
	r, general, _ := town(t, slacktest.Options{}, answerN)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.w.Fail(slacktest.Fault{Of: "chat.postMessage", Late: true, Delay: 300 * time.Millisecond})
	go func() {
		check.Soon(func() bool { return r.w.Seen("chat.postMessage") > 0 })
		cancel()
	}()
	steps := r.triedIn(ctx, conversation(general), notAsked, nil)
	check.Contains(t, "the last step", steps[len(steps)-1].Seen, "messages deleted: 1; left: 0")
}

// Slack would send the press to either connection. The bot takes no notice of the rest.
func TestTrialBesideABot(t *testing.T) {
	r, general, _ := connectedRig(t, slacktest.Options{}, answerN)
	beside := check.Must(New(r.opts))(t)
	beside.times.edit = 20 * time.Millisecond
	trial, err := beside.Trial(t.Context(), r.Hub, conversation(general))
	check.NoError(t, err)
	var steps []platform.Step
	trial.Run(t.Context(), "", func(s platform.Step) { steps = append(steps, s) })
	check.EqualAll(t, "outcomes", outcomes(steps), []string{"post", "find", "again", "working", "edit", "answer skipped", "stop", "press skipped", "upload skipped", "clean up"})
	check.Contains(t, "press", stepNamed(t, steps, "press").Seen, "another connection of this app is open")
	r.stored(conversation(general))
	check.Len(t, "messages", r.w.Posted(), 0)
}

func TestTrialSaysWhereItCannotBegin(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	elsewhere := r.w.AddChannel("elsewhere", ann)
	r.w.Leave(elsewhere, slacktest.BotUserID)
	closed := r.w.AddChannel("closed", ann)
	r.w.Restrict(closed, "is_archived")
	for conversation, want := range map[string]string{
		"slack:general":               "names no channel: write slack:C0123456789",
		"slack:T000000009/" + general: "is of another workspace",
		"slack:C000000999":            "there is no channel C000000999, or it is private and the bot is not in it: add it there with /invite @app",
		"slack:" + elsewhere:          "the bot is not in this channel: add it there with /invite @app",
		"slack:" + closed:             "this channel is archived",
	} {
		_, err := r.trial(t.Context(), conversation)
		check.Contains(t, conversation, fmt.Sprint(err), want)
		r.end()
	}
	check.Len(t, "messages", r.w.Posted(), 0)
}

// In a direct message, an agent answers in a thread, by a stream.
func TestTrialOfAnAgent(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{Agent: true}, answerN)
	r.opts.ReplyIn = replyAuto
	dm := r.w.DM(ann)
	for _, place := range []string{dm, general} {
		r.w.Say(slacktest.Post{Channel: place, User: ann, Text: "a question"})
		steps := r.triedIn(t.Context(), conversation(place), notAsked, nil)
		check.EqualAll(t, "outcomes", outcomes(steps), []string{"post", "find", "again", "working", "edit", "answer", "stop", "press", "upload skipped", "clean up"})
		working := stepNamed(t, steps, "working")
		check.Contains(t, "working", working.Seen, setSession+": ok")
		check.Contains(t, "what is expected of it", working.Expected, setSession)
		check.Contains(t, "answer", stepNamed(t, steps, "answer").Seen, "chat.startStream: ok", "chat.appendStream: ok", "chat.stopStream: ok")
		check.Contains(t, "stop", stepNamed(t, steps, "stop").Seen, "chat.startStream: ok", "chat.stopStream: ok", "chat.delete: ok")
		check.Equal(t, "sessions that Slack shows as busy", r.w.Processing(), 0)
		r.end()
	}
}
