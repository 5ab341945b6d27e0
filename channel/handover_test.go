package channel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// What happens while another agent answers its second request.
func TestDuringConsult(t *testing.T) {
	const before = "user: we build the bridge of wood | assistant: answer 1"
	edit := func(text string) func(r *rig) {
		return func(r *rig) {
			m := channel.Inbound{ID: "m2", AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
			check.NoError(r.t, r.hub.Edit(r.t.Context(), place, m))
		}
	}
	for claim, c := range map[string]struct {
		during func(r *rig)
		want   string   // what follows in the transcript
		asked  []string // the questions of its requests
	}{
		"/stop keeps what people saw, under the agent's name": {
			func(r *rig) { r.wantAnswer("/stop", "Stopped") },
			" | user: @critic is it firm? | assistant: critic: It",
			[]string{"is it firm?", "is it firm?"},
		},
		"a deletion of the question ends it": {
			func(r *rig) { check.NoError(r.t, r.hub.Delete(r.t.Context(), place, "m2")) },
			"",
			[]string{"is it firm?", "is it firm?"},
		},
		"an edit changes the question": {
			edit("@critic is it high?"),
			" | user: @critic is it high? | assistant: critic: No.",
			[]string{"is it firm?", "is it firm?", "is it high?"},
		},
		"an edit may take the agent's name away": {
			edit("is it high?"),
			" | user: is it high? | assistant: critic: No.",
			[]string{"is it firm?", "is it firm?", "is it high?"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, echo)
			critic := r.withCritic(nil)
			lookUp := useTool("recall", map[string]any{"query": "bridge"})
			critic.Func = inSteps(always(lookUp), func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
				c.during(r)
				if ctx.Err() != nil {
					return llmtest.Say("It will"), ctx.Err()
				}
				return lookUp, nil
			}, alwaysSay("No."))
			r.ask("we build the bridge of wood")
			r.say("@critic is it firm?", true)
			r.waitForReplies()
			check.Equal(t, "transcript", texts(r.transcript()), before+c.want)
			requests := critic.Requests()
			check.Len(t, "requests to the critic", requests, len(c.asked))
			for i, req := range requests {
				_, question, _ := strings.Cut(req.Messages[1].Text, "<question>")
				check.Contains(t, "question", question, ">"+c.asked[i]+"<")
			}
		})
	}
}

// The agent gets what is left of the turn, not the text that was deleted.
func TestDeletionOfOneOfTwoQuestions(t *testing.T) {
	r := newRig(t, echo)
	critic := r.withCritic(nil)
	critic.Func = inSteps(func(context.Context, int, llm.Request) (llm.Response, error) {
		return useTool("recall", map[string]any{"query": "bridge"}), r.hub.Delete(context.Background(), place, "m2")
	}, alwaysSay("No."))
	first, second := r.inbound("is it high?", true), r.inbound("@critic is it firm?", true)
	check.NoError(t, r.hub.DeliverAll(t.Context(), place, []channel.Inbound{first, second}))
	r.waitForReplies()
	check.Equal(t, "transcript", texts(r.transcript()), "user: is it high? | assistant: critic: No.")
	check.Len(t, "requests to the critic", critic.Requests(), 2)
	check.Contains(t, "request 1", textOf(critic.Requests()[0]), "is it firm?")
	check.Lacks(t, "request 2", textOf(critic.Requests()[1]), "is it firm?")
}

func TestConsultIsRepeatedAfterRestart(t *testing.T) {
	r := newRig(t, echo)
	asked := make(chan struct{}, 1)
	critic := r.withCritic(nil)
	critic.Func = inSteps(func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		asked <- struct{}{}
		return blockUntilCanceled(ctx, n, req)
	}, alwaysSay("No."))
	r.say("@critic is it firm?", true)
	<-asked
	r.restart()
	r.waitForReplies()
	check.EqualAll(t, "sent", r.connector.texts(), []string{"critic: No."})
	check.Len(t, "requests to the critic", critic.Requests(), 2)
}

// A model whose server takes less than it says gets a shorter briefing, twice.
func TestConsultAfterOverflow(t *testing.T) {
	tooLong := failing(&llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"})
	for want, f := range map[string]script{
		"critic: No.":            inSteps(tooLong, tooLong, alwaysSay("No.")),
		"too long for the model": tooLong,
	} {
		r := newRig(t, echo)
		critic := r.withCritic(f)
		critic.Tokens = 8000
		for range 40 {
			r.say(strings.Repeat("word ", 300), false)
		}
		check.Contains(t, "answer", r.ask("@critic is it firm?"), want)
		requests := critic.Requests()
		check.Len(t, "requests to the critic", requests, 3)
		for i := range requests[1:] {
			first, second := len(requests[i].Messages[1].Text), len(requests[i+1].Messages[1].Text)
			check.That(t, second < first*2/3, "a briefing of %d bytes follows one of %d", second, first)
		}
	}
}
