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
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

func TestForgetMe(t *testing.T) {
	r := newRig(t, echo)
	for i := range 30 {
		r.sayAs("u1", "Ada", place, fmt.Sprintf("I like parrots, number %d", i))
		r.sayAs("u2", "Ada", place, fmt.Sprintf("I like tea, number %d", i)) // same name, different person
	}
	r.sayAs("u1", "Ada", "test:server/other", "parrots here too")
	r.says(ada, place, "/remember my parrot is called Coco", "as memory 1")
	// Without confirmation it lists the data, and deletes nothing.
	r.says(ada, place, "/forget me", "30 messages and 1 memory of yours in this conversation", "/forget me yes")
	r.says(ada, place, "/forget ME everywhere", "31 messages and 1 memory", "/forget me everywhere yes")
	r.says(channel.Person{ID: "u9", Name: "Ada"}, place, "/forget me", "I have nothing of yours in this conversation.")
	r.says(ada, place, "/forget me not", `"not"`)
	check.Len(t, "messages left", r.transcript(), 60)
	// Confirmed, it deletes the data of the channel, also from the prompt.
	r.says(ada, place, "/forget me yes", "Deleted: everything of yours in this conversation.")
	r.sayAs("u1", "Ada", place, "good morning")
	r.ask("what do I like?")
	asked, all := r.lastRequestText(), texts(r.transcript())
	check.Lacks(t, "prompt and transcript", asked+all, "parrot")
	check.Contains(t, "prompt", asked, "tea, number 29", "good morning")
	check.Contains(t, "transcript", all, "tea, number 0")
	check.Lacks(t, "memories", r.says(bo, place, "/memories"), "Coco")
	// With everywhere, it deletes the data of all channels.
	r.says(ada, place, "/forget me everywhere yes", "Deleted: everything of yours across all our conversations")
	r.says(ada, place, "/forget me everywhere", "I have nothing of yours across all our conversations.")
	check.Equal(t, "messages left", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE text LIKE '%parrots%'"), 0)
}

func TestForgetMeResumesAfterRestart(t *testing.T) {
	r := newRig(t, echo)
	r.sayAs("u1", "Ada", place, "parrots")
	r.sayAs("u2", "Bo", place, "tea")
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	check.Must(privacy.In(r.store).Erase(t.Context(), "u1", c))(t) // the process dies at this point
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
	r.says(ada, place, "/forget me yes", "Deleted: everything of yours")
	check.NoError(t, r.store.Held().Deliver(t.Context()))
	r.waitForReplies()
	check.Len(t, "messages left", r.transcript(), 0)
}

// No one waits: while hundreds of messages are deleted, others get answers.
func TestForgetMeDoesNotBlock(t *testing.T) {
	r := newRig(t, echo)
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	var past []channel.Inbound
	for i := range 300 {
		past = append(past, r.inbound(fmt.Sprintf("parrot number %d is green", i), false))
	}
	storetest.Deliver(t, c, past...)
	began := time.Now()
	answer := r.runAs(ada, place, "/forget me yes")
	var slowest time.Duration
	for range 5 {
		started := time.Now()
		r.deliverMessage(by("u2", "Bo", r.inbound("question", true)))
		slowest = max(slowest, time.Since(started))
	}
	r.waitForReplies()
	check.HasPrefix(t, "answer", r.finished(answer), "Deleted: everything of yours")
	took := time.Since(began)
	// On a busy machine both take longer.
	check.That(t, slowest <= 2*time.Second || slowest <= took/3, "a delivery took %v of the %v of the deletion", slowest, took)
	all := texts(r.transcript())
	check.Lacks(t, "the transcript", all, "parrot")
	check.Equal(t, "questions in the transcript", strings.Count(all, "question"), 5)
}

func TestOptOut(t *testing.T) {
	r := newRig(t, then(useTool("memory_save", map[string]any{"content": "she likes parrots", "kind": "preference"}), repeatLast))
	r.runAs(ada, place, "/remember I like tea")
	r.says(ada, place, "/optout", "From now on nothing you say becomes a memory", "What I already remember of you stays until /forget me",
		"its summaries still contain what you said", "/optout off")
	check.Contains(t, "the model's call", r.ask("remember that I like parrots"), "wants to be in no memory")
	const refused = "Ada has opted out of my memories, so I cannot remember that."
	r.says(ada, "test:server/elsewhere", "/remember I like parrots", refused)
	r.says(bo, place, "/remember Ada likes parrots", refused)
	check.Lacks(t, "memories", r.says(bo, place, "/memories", "tea"), "parrots")
	r.says(ada, place, "/optout off", "From now on, what you say may become a memory again")
	r.says(ada, place, "/remember I like parrots", "as memory")
}

// If the running turn has found a message that is then deleted, the search result is stored, and
// shown from then on, without that message; so is what the model thought about it.
func TestForgetMeReachesRunningTurn(t *testing.T) {
	var r *rig
	r = newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		switch {
		case n == 1:
			resp := useTool("recall", map[string]any{"query": "parrot"})
			resp.Message.Native = []byte(`{"reasoning":"the parrot is called Coco"}`)
			return resp, nil
		case n == 2 && strings.Contains(lastText(req), "Coco"):
			return llmtest.Say("it has a name"), r.hub.Delete(context.Background(), place, "m1")
		}
		return llmtest.Say("well"), nil
	})
	var page llm.Learnt
	page.NeedReasoning() // the server demands the reasoning of earlier turns with tool calls back
	r.agent.Model = learningModel{r.model, &page}
	r.overhear("my parrot is called Coco")
	check.Equal(t, "answer", r.ask("what is its name?"), "it has a name")
	check.Lacks(t, "transcript", texts(r.transcript()), "Coco")
	check.Equal(t, "messages with reasoning", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE native <> ''"), 0)
	asked := r.promptText()
	check.Lacks(t, "prompt", asked, "Coco")
	check.Contains(t, "prompt", asked, "has been deleted")
}

func TestDeletionReachesRecallInOtherConversations(t *testing.T) {
	const source = "test:server/other"
	r := newRig(t, inTurn(useTool("memory_search", map[string]any{"query": "pet"}), llmtest.Say("I see.")))
	memory.In(r.store).Share(true)
	r.tell(source, "the pet is called Wumpus", func(m *channel.Inbound) { m.Audience = channel.ServerWide })
	c := check.Must(r.store.Conversation(t.Context(), source))(t)
	save := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})[3]
	check.Must(save.Run(t.Context(), []byte(`{"content":"The pet is called Wumpus","kind":"fact","messages":[1]}`)))(t)
	r.tell(place, "what is it called?", func(m *channel.Inbound) { m.Audience, m.Addressed = channel.ServerWide, true })
	check.Contains(t, "prompt", r.lastRequestText(), "Wumpus")
	check.NoError(t, r.hub.Delete(t.Context(), source, "m1"))
	check.Lacks(t, "prompt after the deletion", r.promptText(), "Wumpus")
}
