package channel_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

func TestForgetMe(t *testing.T) {
	const other = "test:server/other"
	r := newRig(t, echo)
	r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold = 0 }) // only the memories saved here
	for i := range 60 {
		r.sayAs("u1", "Ada", place, fmt.Sprintf("I like parrots, number %d", i))
		r.sayAs("u2", "Ada", place, fmt.Sprintf("I like tea, number %d", i)) // same name, different person
	}
	r.sayAs("u1", "Ada", other, "parrots here too")
	if got := r.finished(r.runAs(ada, place, "/remember my parrot is called Coco")); !strings.Contains(got, "as memory 1") {
		t.Fatal(got)
	}
	t.Run("without confirmation it lists the data, and deletes nothing", func(t *testing.T) {
		got := r.finished(r.runAs(ada, place, "/forget me"))
		check.Contains(t, "answer", got, "60 messages and 1 memory of yours in this conversation", "/forget me yes")
		check.Contains(t, "answer to /forget ME everywhere", r.finished(r.runAs(ada, place, "/forget ME everywhere")), "61 messages and 1 memory", "/forget me everywhere yes")
		check.Equal(t, "answer to another person of the same name", r.finished(r.runAs(channel.Person{ID: "u9", Name: "Ada"}, place, "/forget me")), "I have nothing of yours in this conversation.")
		check.Contains(t, "answer", r.finished(r.runAs(ada, place, "/forget me not")), `"not"`)
		check.Equal(t, "messages left", len(r.transcript()), 120)
	})
	t.Run("a person of the same name cannot delete another's data", func(t *testing.T) {
		check.Lacks(t, "answer", r.finished(r.runAs(channel.Person{ID: "u2", Name: "Ada"}, place, "/forget 1")), "is forgotten")
	})
	t.Run("confirmed, it deletes the data of the channel, also from the prompt", func(t *testing.T) {
		got := r.finished(r.runAs(ada, place, "/forget me yes"))
		check.HasPrefix(t, "answer", got, "Deleted: everything of yours in this conversation.")
		r.sayAs("u1", "Ada", place, "good morning")
		r.ask("what do I like?")
		asked := r.lastRequestText()
		check.Lacks(t, "prompt", asked, "parrot")
		check.Contains(t, "prompt", asked, "tea, number 59", "good morning")
		all := strings.Join(r.transcript(), "\n")
		check.Lacks(t, "the transcript", all, "parrot")
		check.Contains(t, "the transcript", all, "tea, number 0")
		check.Lacks(t, "memories", r.finished(r.runAs(bo, place, "/memories")), "Coco")
	})
	t.Run("with everywhere, it deletes the data of all channels", func(t *testing.T) {
		check.HasPrefix(t, "answer to /forget me everywhere yes", r.finished(r.runAs(ada, place, "/forget me everywhere yes")), "Deleted: everything of yours across all our conversations")
		check.Equal(t, "answer to the second /forget me", r.finished(r.runAs(ada, place, "/forget me everywhere")), "I have nothing of yours across all our conversations.")
		c := check.Must(r.store.Conversation(t.Context(), other))(t)
		check.Equal(t, "left", len(check.Must(c.Transcript().Page(t.Context(), 1, 10))(t)), 0)
	})
}

func TestForgetMeResumesAfterRestart(t *testing.T) {
	r := newRig(t, echo)
	r.sayAs("u1", "Ada", place, "parrots")
	r.sayAs("u2", "Bo", place, "tea")
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	if _, err := privacy.In(r.store).Erase(t.Context(), "u1", c); err != nil { // the process dies at this point
		t.Fatal(err)
	}
	r.restart()
	r.erased()
	check.EqualAll(t, "the transcript", r.transcript(), []string{"user: tea"})
}

// What a person said while the database was rewritten came before their /forget me, too.
func TestForgetMeReachesHeldMessages(t *testing.T) {
	r := newRig(t, echo)
	r.sayAs("u1", "Ada", place, "parrots")
	m := r.inbound("more parrots", false)
	var row bytes.Buffer
	check.NoError(t, gob.NewEncoder(&row).Encode(store.Delivery{Conversation: place, Messages: []channel.Inbound{m}}))
	file := check.Must(sql.Open("sqlite3", filepath.Join(r.dir, "cairn.held")))(t)
	check.Must(file.Exec("CREATE TABLE held (id INTEGER PRIMARY KEY, delivery BLOB NOT NULL) STRICT"))(t)
	check.Must(file.Exec("INSERT INTO held (delivery) VALUES (?)", row.Bytes()))(t)
	check.NoError(t, file.Close())
	check.HasPrefix(t, "answer", r.finished(r.runAs(ada, place, "/forget me yes")), "Deleted: everything of yours")
	check.NoError(t, r.store.Held().Deliver(t.Context()))
	r.waitForReplies()
	check.Len(t, "messages left", r.transcript(), 0)
}

// No one waits: while thousands of messages are deleted, others get answers.
func TestForgetMeDoesNotBlock(t *testing.T) {
	r := newRig(t, echo)
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	for i := 0; i < 3000; i += 100 {
		var page []channel.Inbound
		for j := range 100 {
			m := r.inbound(fmt.Sprintf("parrot number %d is green", i+j), false)
			m.ID = fmt.Sprint("old", i+j)
			page = append(page, m)
		}
		check.Must(c.Inbox().DeliverAll(t.Context(), page))(t)
		check.Must(c.Inbox().Dequeue(t.Context(), store.All, 1<<30, time.Time{}))(t)
	}
	began := time.Now()
	answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u1", Name: "Ada"}, "/forget me yes")
	check.NoError(t, err)
	var slowest time.Duration
	for i := range 5 {
		started := time.Now()
		m := r.inbound(fmt.Sprintf("question %d", i), true)
		m.AuthorID, m.Author = "u2", "Bo"
		r.deliverMessage(m)
		slowest = max(slowest, time.Since(started))
	}
	r.waitForReplies()
	done := r.finished(answer)
	took := time.Since(began)
	check.HasPrefix(t, "answer", done, "Deleted: everything of yours")
	t.Logf("the slowest delivery took %v, the deletion %v", slowest, took)
	if slowest > 2*time.Second && slowest > took/3 { // on a busy machine both take longer
		t.Errorf("a delivery took %v of the %v of the deletion", slowest, took)
	}
	all := strings.Join(r.transcript(), "\n")
	check.Lacks(t, "the transcript", all, "parrot")
	check.Equal(t, "questions in the transcript", strings.Count(all, "question"), 5)
}

func TestOptOut(t *testing.T) {
	saves := func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
			return llmtest.Say("tool: " + last.Text), nil
		}
		return llmtest.Use(llmtest.Call("1", "memory_save", map[string]any{"content": fmt.Sprintf("she likes parrots, %d", n), "kind": "preference"})), nil
	}
	r := newRig(t, saves)
	r.finished(r.runAs(ada, place, "/remember I like tea"))
	got := r.finished(r.runAs(ada, place, "/optout"))
	check.Contains(t, "answer", got, "From now on nothing you say becomes a memory", "What I already remember of you stays until /forget me", "its summaries still contain what you said", "/optout off")
	r.ask("remember that I like parrots")
	check.Contains(t, "turn context", strings.Join(r.connector.texts(), "\n"), "wants to be in no memory")
	check.Equal(t, "/remember", r.finished(r.runAs(ada, "test:server/elsewhere", "/remember I like parrots")), "Ada has opted out of my memories, so I cannot remember that.")
	check.Equal(t, "answer to another person's /remember", r.finished(r.runAs(bo, place, "/remember Ada likes parrots")), "Ada has opted out of my memories, so I cannot remember that.")
	if got := r.finished(r.runAs(bo, place, "/memories")); strings.Contains(got, "parrots") || !strings.Contains(got, "tea") {
		t.Errorf("got memories %q", got)
	}
	check.HasPrefix(t, "answer", r.finished(r.runAs(ada, place, "/optout off")), "From now on, what you say may become a memory again")
	check.Contains(t, "answer to /remember", r.finished(r.runAs(ada, place, "/remember I like parrots")), "as memory")
}

// If the running turn has found a message that is then deleted, the search result is stored, and
// shown from then on, without that message.
func TestForgetMeReachesRunningTurn(t *testing.T) {
	var r *rig
	r = newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Role == llm.RoleTool:
			if !strings.Contains(last.Text, "Coco") {
				return llmtest.Say("I found nothing"), nil
			}
			if err := r.hub.Delete(context.Background(), place, "m1"); err != nil {
				return llm.Response{}, err
			}
			return llmtest.Say("it has a name"), nil
		case strings.Contains(last.Text, "its name"):
			return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "parrot"})), nil
		}
		return llmtest.Say("well"), nil
	})
	r.say("my parrot is called Coco", false)
	r.waitForReplies()
	r.ask("what is its name?")
	if sent := strings.Join(r.connector.texts(), "|"); sent != "it has a name" {
		t.Fatalf("got notice %q", sent)
	}
	check.Lacks(t, "the transcript", strings.Join(r.transcript(), "\n"), "Coco")
	r.ask("and now?")
	asked := r.lastRequestText()
	check.Lacks(t, "prompt", asked, "Coco")
	check.Contains(t, "prompt", asked, "has been deleted")
}

// thinker is a model whose server demands the reasoning of earlier turns with tool calls back.
type thinker struct {
	*llmtest.Model
	facts llm.Learnt
}

func (m *thinker) Learnt() *llm.Learnt { return &m.facts }

// What the model thought in a running turn may repeat a message that is deleted meanwhile.
func TestDeletionReachesReasoningOfRunningTurn(t *testing.T) {
	var r *rig
	r = newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			resp := llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "tea"}))
			resp.Message.Native = []byte(`{"reasoning":"the parrot is called Coco"}`)
			return resp, nil
		}
		check.NoError(t, r.hub.Delete(ctx, place, "m1"))
		return llmtest.Say("well"), nil
	})
	m := &thinker{Model: r.model}
	m.facts.NeedReasoning()
	r.agent.Model = m
	r.reopen()
	r.say("my parrot is called Coco", false)
	r.waitForReplies()
	r.ask("hello")
	check.Equal(t, "messages with reasoning", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE native <> ''"), 0)
}

func TestDeletionReachesRecallInOtherConversations(t *testing.T) {
	const source = "test:server/other"
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			return llmtest.Use(llmtest.Call("c1", "memory_search", map[string]any{"query": "pet"})), nil
		}
		return llmtest.Say("I see."), nil
	})
	memory.In(r.store).Share(true)
	said := r.inbound("the pet is called Wumpus", false)
	said.Audience = channel.ServerWide
	check.Must(r.hub.Deliver(t.Context(), source, said))(t)
	check.NoError(t, r.hub.Idle(t.Context(), source))
	c := check.Must(r.store.Conversation(t.Context(), source))(t)
	save := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})[3]
	check.Must(save.Run(t.Context(), []byte(`{"content":"The pet is called Wumpus","kind":"fact","messages":[1]}`)))(t)
	ask := r.inbound("what is it called?", true)
	ask.Audience = channel.ServerWide
	r.deliverMessage(ask)
	r.waitForReplies()
	if !strings.Contains(r.lastRequestText(), "Wumpus") {
		t.Fatalf("got no recalled message:\n%s", r.lastRequestText())
	}
	check.NoError(t, r.hub.Delete(t.Context(), source, said.ID))
	r.ask("and now?")
	check.Lacks(t, "prompt", r.lastRequestText(), "Wumpus")
}
