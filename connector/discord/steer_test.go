// People talk to an answer that is being written.

package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
)

// adding has a model that announces a call of a tool that people have to allow, and then answers with the newest message.
func adding(r *rig) *rig {
	r.Tools = &channeltest.Box{Approve: channel.ApproveAlways}
	r.Model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return echo(ctx, n, req)
		}
		call := llmtest.Use(llmtest.Call("1", "calc_add", map[string]any{"a": 2}))
		call.Message.Text = "Let me add that."
		return call, nil
	}
	return r
}

// shown waits for a message of the bot that begins with a text.
func (r *rig) shown(place, begin string) (found discordtest.Message) {
	r.T.Helper()
	r.until(fmt.Sprintf("a message that begins with %q", begin), func() bool {
		for _, m := range r.sent(place) {
			if strings.HasPrefix(m.Content, begin) {
				found = m
			}
		}
		return found.ID != ""
	})
	return found
}

// button returns the id of a message's button whose command line contains a text.
func (r *rig) button(m discordtest.Message, line string) string {
	r.T.Helper()
	var rows []struct {
		Components []struct {
			ID string `json:"custom_id"`
		}
	}
	check.NoError(r.T, json.Unmarshal(check.Must(json.Marshal(m.Components))(r.T), &rows))
	for _, row := range rows {
		for _, b := range row.Components {
			if strings.Contains(b.ID, line) {
				return b.ID
			}
		}
	}
	r.T.Fatalf("%q has no button %q: %+v", m.Content, line, rows)
	return ""
}

func (r *rig) allow(place string) {
	r.T.Helper()
	question := r.shown(place, "(May I call")
	r.Click(place, r.ann.ID, question.ID, r.button(question, "/allow"))
}

func TestAReplyToAnAnswerThatIsBeingWrittenReachesIt(t *testing.T) {
	r := adding(newRig(t, discordtest.Options{}, quick)).start().registered()
	bob := r.User("bob")
	asked := r.ask(r.square, "please add")
	draft := r.shown(r.square, "Let me add")
	r.until("the answer to the request", func() bool { return r.connector.history.translator.drafts.has(draft.ID) }) // until then it is a question
	waiting := func(n int) {
		r.until("what waits", func() bool { return r.Hub.Operator().Approvals(r.place(r.square)) != nil && r.waiting() == n })
	}
	reply := r.Post(r.square, bob.ID, discordtest.Post{Content: "in French", ReplyTo: draft.ID})
	waiting(1)
	r.Post(r.square, bob.ID, discordtest.Post{Content: "is it done?", ReplyTo: asked.ID}) // is no reply to the bot
	waiting(2)
	r.allow(r.square)
	r.shown(r.square, "Let me add that.\n\necho: in French")
	said := r.heard(r.place(r.square), 3)
	check.That(t, said[1].ID == reply.ID && said[1].Turn == said[0].Seq && said[1].Author == "bob", "it heard %+v", said[1])
	check.That(t, said[2].Turn != said[0].Seq, "it heard %+v", said[2])
	r.Idle(r.place(r.square))
	r.Post(r.square, bob.ID, discordtest.Post{Content: "and now?", ReplyTo: draft.ID}) // it is complete
	r.shown(r.square, "echo: and now?")
	r.Delete(r.square, reply.ID)
	r.forgets("in French")
}

func TestSteerIsACommandThatAllSee(t *testing.T) {
	r := adding(newRig(t, discordtest.Options{}, quick)).start().registered()
	bob := r.User("bob")
	r.ask(r.square, "please add")
	r.shown(r.square, "(May I call")
	used := r.answered(r.Slash(r.square, bob.ID, "steer", discordtest.Option{Name: "text", Value: "in French"}))
	check.That(t, used.Answer.Content == "bob: in French" && !ephemeral(used.Answer), "it is answered with %+v", used.Answer)
	r.allow(r.square)
	r.shown(r.square, "Let me add that.\n\necho: in French")
	said := r.heard(r.place(r.square), 2)
	check.That(t, said[1].Author == "bob" && said[1].AuthorID == bob.ID && said[1].Turn == said[0].Seq, "it heard %+v", said[1])
	r.Click(r.square, bob.ID, used.Answer.ID, r.button(*used.Answer, "/forget"))
	r.forgets("in French")

	r.Idle(r.place(r.square)) // nothing is being written: it is a question
	r.Slash(r.square, bob.ID, "steer", discordtest.Option{Name: "text", Value: "and two more?"})
	r.shown(r.square, "echo: and two more?")
	r.ask(r.square, "/steer written as a message")
	r.shown(r.square, "echo: written as a message")
}

// A slash command in the thread that an answer has opened is for that answer, and what comes too late for it is answered there.
func TestSteerInAThreadThatComesTooLateIsAnsweredThere(t *testing.T) {
	r := adding(threaded(t, quick))
	adds := r.Model.Func
	writes := make(chan struct{})
	ends := make(chan struct{})
	r.Model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 2 {
			close(writes)
			<-ends
		}
		return adds(ctx, n, req)
	}
	r.start().registered()
	asked := r.ask(r.square, "please add")
	r.shown(asked.ID, "(May I call")
	r.allow(asked.ID)
	<-writes
	used := r.answered(r.Slash(asked.ID, r.ann.ID, "steer", discordtest.Option{Name: "text", Value: "in French"}))
	check.That(t, used.Answer.Content == "ann: in French", "it is answered with %+v", used.Answer)
	check.Equal(t, "messages that wait", r.waiting(), 1)
	close(ends)
	r.shown(asked.ID, "echo: in French")
}

// waiting returns how many messages wait in the square.
func (r *rig) waiting() int {
	r.T.Helper()
	c := check.Must(r.Store.Conversation(r.ctx, r.place(r.square)))(r.T)
	return check.Must(c.Inbox().Due(r.ctx))(r.T).Waiting
}

// forgets waits until no message of people in the square says a text.
func (r *rig) forgets(text string) {
	r.T.Helper()
	r.until("that it is forgotten", func() bool {
		return !slices.ContainsFunc(r.Transcript(r.place(r.square)), func(m chat.Message) bool { return m.Role == llm.RoleUser && m.Text == text })
	})
}
