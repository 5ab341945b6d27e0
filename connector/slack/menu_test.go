// The menu of a message, and buttons under answers.

package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

func TestTheMenuOfAMessage(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	ben := r.w.AddUser("ben")
	r.w.Admin(ben)
	r.w.Join(general, ben)
	said := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "The launch is on Friday."})
	r.stored(conversation(general), "user: The launch is on Friday.")
	n := map[string]int{}
	choose := func(who, entry string) slacktest.Message {
		t.Helper()
		r.w.Menu(general, said, who, entry)
		n[who]++
		return r.awaitPrivate(general, who, n[who])
	}
	press := func(m slacktest.Message, label, want string) slacktest.Message {
		t.Helper()
		r.w.Press(general, m.TS, ben, actionPrefix+label)
		last := func() slacktest.Message { return r.botMessages(general, ben)[n[ben]-1] }
		r.eventually(label, func() bool { return strings.Contains(last().Shown(), want) })
		return last()
	}
	m := choose(ben, "remember")
	check.Contains(t, "it is saved", m.Shown(), "Saved as memory 1: The launch is on Friday.")
	check.Contains(t, "whose memory it is", r.run(general, ben, "/memories about:ann").String(), "The launch is on Friday.")
	m = press(m, "forget", "Memory 1 is forgotten")
	m = press(m, "undo", "Memory 1 is restored")
	press(m, "pin", "Memory 1 is pinned")
	check.Contains(t, "who may not pin", choose(ann, "pin").Shown(), "only for people who manage this place")
	press(choose(ben, "pin"), "unpin", "Message #1 is no longer pinned")
	check.Contains(t, "an entry of another version", choose(ann, "dance").Shown(), command.TextNoButton)
	check.Contains(t, "her own", choose(ann, "forget").Shown(), "I have deleted that message")
	check.Contains(t, "a recap of what is deleted", choose(ann, "recap").Shown(), "I do not have that message")
	check.Lacks(t, "what is left", r.run(general, ben, "/memories").String(), "Friday")
}

func TestSourcesAreUnderAnAnswer(t *testing.T) {
	recall := func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
			return llmtest.Say("It is on Friday."), nil
		}
		return llmtest.Use(llmtest.Call("1", "recall", map[string]string{"query": "launch"})), nil
	}
	r, general, ann := connectedRig(t, slacktest.Options{}, recall)
	said := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "The launch is on Friday."})
	r.stored(conversation(general), "user: The launch is on Friday.")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "when is the launch?"})
	r.answered(general, "It is on Friday.")
	answer := r.botMessages(general)[0]
	r.w.Press(general, answer.TS, ann, actionPrefix+"sources")
	shown := r.awaitPrivate(general, ann, 1)
	check.Contains(t, "sources", shown.Shown(), "The launch is on Friday.", strings.ReplaceAll(said, ".", ""))
	check.Equal(t, "the answer", r.botMessages(general)[0].Shown(), "It is on Friday.")
}

func TestSourcesAreUnderAStream(t *testing.T) {
	r := idle(t)
	q := r.question(true)
	w := r.replying(q)
	r.send(w, channel.Piece{Reply: "r1.sources-1.en", Parts: 1, Text: "One two"})
	own := r.botMessages(q.channel)
	check.Len(t, "messages", own, 1)
	check.That(t, own[0].Streamed && strings.Contains(string(own[0].Blocks), actionPrefix+"sources"), "a stream has no sources: %+v", own[0])
}

func TestTheManifestHasEachEntryOfTheMenu(t *testing.T) {
	var manifest struct {
		Features struct {
			Shortcuts []struct{ Type, Name, Callback_ID, Description string }
		}
	}
	check.NoError(t, json.Unmarshal(manifestJSON, &manifest))
	check.Equal(t, "entries", len(manifest.Features.Shortcuts), len(command.Menu))
	for _, s := range manifest.Features.Shortcuts {
		known := slices.ContainsFunc(command.Menu, func(a command.Action) bool {
			return a.Command == s.Callback_ID && a.Label == s.Name && strings.EqualFold(a.Help, s.Description)
		})
		check.That(t, known && s.Type == "message" && len(s.Name) <= 24 && len(s.Description) <= 150, "the manifest has %+v", s)
	}
}

// Slack shows a warning for what is not acknowledged within 3 seconds.
func TestCallbacksDoNotWaitForTheModel(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	said := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "are you there?"})
	before := len(r.w.Deliveries())
	for range 200 {
		r.w.Menu(general, said, ann, "remember")
	}
	var calls []slacktest.Delivery
	r.eventually("all are acknowledged", func() bool {
		calls = r.w.Deliveries()[before:]
		return len(calls) >= 200 && !slices.ContainsFunc(calls, func(d slacktest.Delivery) bool { return d.Acked.IsZero() })
	})
	longest := time.Duration(0)
	for _, d := range calls {
		longest = max(longest, d.Acked.Sub(d.Sent))
	}
	t.Logf("the longest of %d took %v", len(calls), longest)
}

func TestAnItemOfAListIsChosen(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	for n := range 12 {
		r.run(general, ann, fmt.Sprintf("/remember tea number %d is %s", n, strings.Repeat("green ", 30)))
	}
	r.w.Command(general, ann, "/cairn", "memories")
	list := r.awaitPrivate(general, ann, 1)
	choose := func(item, want string, n int) slacktest.Message {
		t.Helper()
		r.w.Choose(general, list.TS, ann, item+`"`)
		m := r.awaitPrivate(general, ann, n)
		check.Contains(t, "chosen", m.Shown(), want)
		return m
	}
	m := choose("/memories show 10", "(10)", 2)
	r.w.Press(general, m.TS, ann, actionPrefix+"forget")
	r.eventually("it is forgotten", func() bool { return strings.Contains(r.botMessages(general, ann)[1].Shown(), "Memory 10 is forgotten") })
	choose("/memories show 10", "has no memory 10", 3)
	check.Contains(t, "the list", r.botMessages(general, ann)[0].Shown(), "(10)")
}
