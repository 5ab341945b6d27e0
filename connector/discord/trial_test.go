package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

const notAsked = "this is a test"

// tried runs a trial, which leaves nothing.
func (r *rig) tried(ctx context.Context, conversation, noPress string) (steps []platform.Step) {
	r.T.Helper()
	trial, err := r.trial(ctx, conversation)
	check.Require(r.T, err == nil, "the trial cannot begin: %v", err)
	trial.Run(ctx, noPress, func(s platform.Step) { steps = append(steps, s) })
	check.Len(r.T, "messages that are left", r.sent(r.square), 0)
	for _, s := range steps {
		check.Lacks(r.T, "the report of "+s.Name, s.Seen, r.square, r.guild.ID, r.Bot.ID, token)
	}
	return steps
}

func (r *rig) trial(ctx context.Context, conversation string) (*platform.Trial, error) {
	r.T.Helper()
	r.tune = append(r.tune, func(d *Discord) {
		d.pauses.firstPost = 0
		d.pauses.edit = 20 * time.Millisecond
	})
	r.open()
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

func seenIn(t *testing.T, steps []platform.Step, name string) string {
	t.Helper()
	i := slices.IndexFunc(steps, func(s platform.Step) bool { return s.Name == name })
	check.Require(t, i >= 0, "no step %s in %v", name, steps)
	return steps[i].Seen
}

func TestTrial(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Say(r.square, r.ann.ID, "a question")
	pressed := make(chan discordtest.Interaction, 1)
	go func() { // ann presses the button, once it is there
		check.Soon(func() bool {
			for _, m := range r.sent(r.square) {
				_, turn, _ := strings.Cut(m.Content, "Trial ")
				turn, _, there := strings.Cut(turn, ": please press the button")
				if there {
					pressed <- r.Click(r.square, r.ann.ID, m.ID, besidePrefix+"/sources "+turn)
				}
				if there {
					return true
				}
			}
			return false
		})
	}()
	steps := r.tried(t.Context(), "discord:"+r.square, "")
	check.EqualAll(t, "outcomes", outcomes(steps), []string{"post", "find", "again", "repeat", "working", "edit", "answer", "stop", "press", "upload skipped", "clean up"})
	check.Contains(t, "post", seenIn(t, steps, "post"), "POST /channels/*/messages: ok, ")
	check.Contains(t, "edit", seenIn(t, steps, "edit"), "POST /channels/*/messages: ok, ", "PATCH /channels/*/messages/*: ok, ")
	check.Contains(t, "stop", seenIn(t, steps, "stop"), "DELETE /channels/*/messages/*: ok, ")
	check.Contains(t, "press", seenIn(t, steps, "press"), "the press arrived, and was answered", "POST /interactions/*/*/callback: ok, ", "PATCH /webhooks/*/*/messages/@original: ok, ")
	check.Contains(t, "clean up", seenIn(t, steps, "clean up"), "messages deleted: 4; left: 0")
	check.Equal(t, "the answer to the press is for one person", r.Interaction((<-pressed).ID).Answer.Flags&discordgo.MessageFlagsEphemeral != 0, true)
	check.Equal(t, "the intents of the session", r.Connections()[0].Intents, 0)
}

func TestTrialReportsWhatDiscordRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		fault discordtest.Fault
		want  []string
		seen  string // of the first step that differs
	}{
		"no posts": {discordtest.Fault{Of: "POST /channels/*/messages", Times: -1, Status: 403, Code: 50013}, []string{"post differs", "clean up"}, "POST /channels/*/messages: HTTP 403, code 50013, "},
		"no edits": {
			discordtest.Fault{Of: "PATCH /channels/*/messages/*", Times: -1, Status: 403, Code: 50005},
			[]string{"post", "find", "again", "repeat", "working", "edit differs", "answer differs", "stop", "press", "upload skipped", "clean up"},
			"PATCH /channels/*/messages/*: HTTP 403, code 50005, ",
		},
		"no deletions": {discordtest.Fault{Of: "DELETE /channels/*/messages/*", Skip: 1, Times: 1, Status: 403, Code: 50013}, []string{
			"post", "find", "again", "repeat", "working", "edit", "answer", "stop", "press", "upload skipped", "clean up differs",
		}, "DELETE /channels/*/messages/*: HTTP 403, code 50013, "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, discordtest.Options{})
			r.Fail(c.fault)
			trial, err := r.trial(t.Context(), r.place(r.square))
			check.NoError(t, err)
			var steps []platform.Step
			trial.Run(t.Context(), notAsked, func(s platform.Step) { steps = append(steps, s) })
			check.EqualAll(t, "outcomes", outcomes(steps), c.want)
			i := slices.IndexFunc(steps, func(s platform.Step) bool { return !s.OK && !s.Skipped })
			check.Contains(t, "the first difference", steps[i].Seen, c.seen)
		})
	}
}

// Whatever the trial was doing when somebody ends it, it leaves nothing.
func TestTrialCleansUpAfterItself(t *testing.T) {
	for n, route := range []string{"POST /channels/*/messages", "PATCH /channels/*/messages/*", "DELETE /channels/*/messages/*"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := newRig(t, discordtest.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.Fail(discordtest.Fault{Of: route, Done: true, Delay: 300 * time.Millisecond}) // it takes effect, and nobody reads the answer
			go func() {
				check.Soon(func() bool { return r.count(route) > 0 })
				cancel()
			}()
			steps := r.tried(ctx, r.place(r.square), notAsked)
			check.Contains(t, "the last step", steps[len(steps)-1].Seen, "left: 0")
		})
	}
}

func TestTrialSaysWhereItCannotBegin(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	readOnly := r.Channel(r.guild.ID, "read-only").ID
	r.Deny(readOnly, discordgo.PermissionSendMessages)
	forgetful := r.Channel(r.guild.ID, "forgetful").ID
	r.Deny(forgetful, discordgo.PermissionReadMessageHistory)
	for conversation, want := range map[string]string{
		"discord:square":         "names no channel: write discord:1234567890123456",
		"discord:1":              "the bot does not see this channel (HTTP 404): check its id",
		"discord:17/" + r.square: "the channel is on another server",
		"discord:" + readOnly:    "I lack the permission Send Messages",
		r.place(forgetful):       "the bot lacks the permission Read Message History",
	} {
		_, err := r.trial(t.Context(), conversation)
		check.Contains(t, conversation, fmt.Sprint(err), want)
		r.stop()
	}
}
