package channel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func editMessageAt(r *rig, id, text string, at time.Time) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Edit(r.t.Context(), place, channel.Inbound{ID: id, Text: text, Time: at}))
	r.waitForReplies()
}

func TestEdits(t *testing.T) {
	t.Run("an edit starts no turn, the model sees the new text, and a deleted message leaves the prompt for good", func(t *testing.T) {
		r := newRig(t, echo)
		r.say("the secret is swordfish", false)
		r.ask("the code is 1234")
		editMessageAt(r, "m2", "the code is 4711", time.Now())
		editMessageAt(r, "m2", "the code is 0000", time.Now().Add(-time.Hour)) // an older edit arrives late
		editMessageAt(r, "nobody", "was never said", time.Now())
		check.NoError(t, r.hub.Delete(t.Context(), place, "m1", "nobody"))
		r.ask("what is it?")
		before := r.lastRequestText()
		check.Contains(t, "prompt", before, "4711")
		check.Lacks(t, "prompt", before, "1234", "swordfish")
		r.post(pastMessage("m1", "the secret is swordfish", 0, true)) // a repeated delivery
		r.restart()
		r.ask("once more?")
		check.HasPrefix(t, "prompt after a restart", r.lastRequestText(), before)
		check.Equal(t, "transcript", texts(r.transcript()),
			"user: the code is 4711 | assistant: answer 1 | user: what is it? | assistant: answer 2 | user: once more? | assistant: answer 3")
	})
	t.Run("an edited waiting message is answered as edited, and a deleted one is not answered", func(t *testing.T) {
		held := make(chan struct{})
		r := newRig(t, while(func(int) { <-held }, echo))
		r.say("one", true)
		r.connector.until(t, "the first turn", func() bool { return r.connector.countTaken() == 1 })
		r.say("tow", true)
		check.NoError(t, r.hub.Edit(t.Context(), place, channel.Inbound{ID: "m2", Text: "two", Time: time.Now()}))
		r.say("three", true)
		check.NoError(t, r.hub.Delete(t.Context(), place, "m3"))
		close(held)
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "assistant: answer 1", "user: two", "assistant: answer 2"})
	})
}

func TestDeletionDuringTurn(t *testing.T) {
	deleting := func(then script) *rig {
		r := newRig(t, nil)
		r.model.Func = while(func(int) { check.Error(t, r.hub.Delete(t.Context(), place, "m1"), nil) }, then)
		return r
	}
	r := deleting(inTurn(useTool("recall", map[string]any{"query": "x"}), llmtest.Say("well")))
	r.say("the secret is swordfish", false)
	r.ask("hello")
	check.Lacks(t, "request 2", r.lastRequestText(), "swordfish")
	r = deleting(failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"})) // a turn without its question is not repeated
	log := r.captureLog()
	r.say("hello", true)
	r.waitForReplies()
	check.Len(t, "requests", r.model.Requests(), 1)
	r.stop()
	check.Lacks(t, "log", log.String(), "conversation_stalled")
	inBubble(t, echo, func(t *testing.T, r *rig) { // before the turn is resumed: no open turn is left, which would stop /new
		r.overhear("something")
		accept := storetest.Refuse(t, r.store, "INSERT ON outbox", "no")
		r.sayUntil("hello", "holding it back")
		check.NoError(t, r.hub.Delete(t.Context(), place, "m2"))
		accept()
		r.run("/new")
		time.Sleep(time.Minute)
		r.waitForReplies()
		check.Equal(t, "stuck conversations", r.hub.Stats().Stuck, 0)
		check.HasPrefix(t, "answer", r.ask("and now?"), "answer ")
	})
}

func (p *platform) edit(id, text string) {
	i := slices.IndexFunc(p.messages, func(m channel.Inbound) bool { return m.ID == id })
	p.messages[i].Text = text
	p.messages[i].Edited = time.Now()
}

func (p *platform) remove(ids ...string) {
	p.messages = slices.DeleteFunc(p.messages, func(m channel.Inbound) bool { return slices.Contains(ids, m.ID) })
}

// write adds messages that the bot hears at once.
func (p *platform) write(r *rig, messages ...channel.Inbound) {
	p.messages = append(p.messages, messages...)
	for _, m := range messages {
		r.deliverMessage(m)
	}
	r.waitForReplies()
	time.Sleep(time.Hour)
}

var missed = channel.Inbound{ID: "3009", AuthorID: "u1", Author: "Ada", Text: "missed"}

var changesWhileAway = map[string]struct {
	n      int // messages, "message 1" and so on, an hour before the bot goes away
	change func(r *rig, p *platform)
	want   string // the transcript
}{
	"edits and deletions, and what was missed comes too": {4, func(_ *rig, p *platform) {
		p.edit("1002", "corrected")
		p.remove("1003")
		p.messages = append(p.messages, missed)
	}, "user: message 1 | user: corrected | user: message 4 | user: missed"},
	"the last message": {2, func(_ *rig, p *platform) { p.remove("1002") }, "user: message 1"},
	"the only message": {1, func(_ *rig, p *platform) { p.remove("1001") }, ""},
	"what is behind more of the bot's own messages than a page has": {1, func(r *rig, p *platform) {
		for i := range 250 {
			p.messages = append(p.messages, channel.Inbound{ID: fmt.Sprint(2000 + i), AuthorID: "bot"})
		}
		p.write(r, pastMessage("3001", "gone", 0, false), pastMessage("3002", "wrong", 0, false), pastMessage("3003", "gone", 0, false))
		p.remove("3001", "3003")
		p.edit("3002", "corrected")
		p.messages = append(p.messages, missed)
	}, "user: message 1 | user: corrected | user: missed"},
	"nothing that an older edit says": {1, func(r *rig, p *platform) {
		p.edit("1001", "old")
		time.Sleep(time.Minute)
		check.NoError(r.t, r.hub.Edit(r.t.Context(), place, channel.Inbound{ID: "1001", Text: "newest", Time: time.Now()}))
	}, "user: newest"},
	"nothing where it is not known what is on the page":               {2, func(_ *rig, p *platform) { p.blind = true; p.remove("1001") }, "user: message 1 | user: message 2"},
	"nothing that was stored just now, and is not in the history yet": {1, func(r *rig, _ *platform) { r.post(pastMessage("1005", "just now", 0, false)) }, "user: message 1 | user: just now"},
	"nothing that has an id of another kind": {1, func(r *rig, p *platform) {
		p.write(r, pastMessage("import-abc", "from elsewhere", 0, false))
		p.remove("import-abc")
	}, "user: message 1 | user: from elsewhere"},
}

func TestMissedEditsAndDeletions(t *testing.T) {
	for name, c := range changesWhileAway {
		withPlatform(t, c.n, func(r *rig, p *platform) {
			c.change(r, p)
			r.restart()
			r.away()
			r.catchUp()
			check.Equal(t, name, texts(r.transcript()), c.want)
		})
	}
	withPlatform(t, 80, func(r *rig, p *platform) { // a page cut short by the server ends the comparison
		p.pageSize = 20
		p.hides = true
		p.remove("1040") // of the newest 50, these are the first 40 that are shown
		r.away()
		r.catchUp()
		check.Len(t, "stored", r.transcript(), 79)
		check.Lacks(t, "stored", texts(r.transcript()), "message 40 |")
	})
	withPlatform(t, 1, func(r *rig, p *platform) { // a question deleted before its answer is not answered
		r.reopen()
		storetest.DeliverOnly(t, storetest.Find(t, r.store, place), pastMessage("1004", "never mind", 0, true)) // and then the process dies
		time.Sleep(10 * time.Minute)
		p.messages = append(p.messages, missed)
		r.reopen()
		r.away()
		r.catchUp()
		check.EqualAll(t, "stored", r.transcript(), []string{"user: message 1", "user: missed"})
		check.Len(t, "sent", r.connector.texts(), 0)
	})
}

// A history may lack what was said a moment ago, so it is read once more before a message younger than a minute is deleted.
func TestMissedChangesOfYoungMessages(t *testing.T) {
	for claim, meanwhile := range map[string]func(r *rig){
		"the bot stays": func(*rig) {},
		"it is started once more, and nothing was missed since": func(r *rig) { r.restart(); r.away(); r.catchUp() },
	} {
		withPlatform(t, 1, func(r *rig, p *platform) {
			for _, m := range []channel.Inbound{pastMessage("1005", "teh plan", 0, false), pastMessage("1006", "a secret", 0, false)} {
				p.messages = append(p.messages, m)
				r.post(m)
			}
			r.post(pastMessage("1007", "just now", 0, false))
			time.Sleep(time.Second)
			p.edit("1005", "the plan")
			p.remove("1006")
			r.restart()
			r.away()
			r.catchUp()
			check.Equal(t, claim+": at once", texts(r.transcript()), "user: message 1 | user: the plan | user: a secret | user: just now")
			p.note(func() { p.messages = append(p.messages, pastMessage("1007", "just now", 0, false)) })
			meanwhile(r)
			time.Sleep(2 * time.Minute)
			r.waitForReplies()
			check.Equal(t, claim+": once they are old enough", texts(r.transcript()), "user: message 1 | user: the plan | user: just now")
			read := len(p.requests)
			time.Sleep(time.Hour)
			check.Len(t, claim+": pages read", p.requests, read)
		})
	}
}

func withPlatform(t *testing.T, n int, f func(r *rig, p *platform)) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		p := &platform{}
		r.throughConnector(p)
		var all []channel.Inbound
		for i := range n {
			all = append(all, pastMessage(fmt.Sprint(1001+i), fmt.Sprint("message ", i+1), 0, false))
		}
		p.write(r, all...)
		f(r, p)
	})
}

func lacking(id string, age time.Duration, addressed bool) channel.Inbound {
	m := pastMessage(id, id, age, addressed)
	m.Incomplete = true
	return m
}

// TestMessageThatCrashesProcessIsGivenUp: a killed start leaves its tries on disk.
func TestMessageThatCrashesProcessIsGivenUp(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		var mu sync.Mutex // guards log: one request at a time
		var log []string
		p := &platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			check.That(t, mu.TryLock(), "requests run in parallel")
			defer mu.Unlock()
			log = append(log, m.ID)
			time.Sleep(time.Second) // so that parallel requests, if any, would overlap with it
			m.Text += ", completed"
			return m, nil
		}}
		c := check.Must(r.store.Conversation(t.Context(), place))(t)
		bad := lacking("2", 3*time.Minute, false)
		innocent := lacking("3", 2*time.Minute, false)
		other := lacking("4", time.Minute, true)
		storetest.DeliverOnly(t, c, bad, innocent, other)
		for _, tried := range [][]store.Inbound{{bad, innocent, other}, {bad}, {bad}, {bad}, {bad}} { // all three together, then the bad one alone
			check.NoError(t, c.Inbox().Try(t.Context(), tried))
			check.Must(c.Inbox().TryPast(t.Context()))(t)
		}
		p.messages = []channel.Inbound{lacking("1", time.Hour, false), other}
		r.throughConnector(p)
		check.NoError(t, r.hub.Recover(context.Background(), func(string) bool { return true }))
		r.waitForReplies()
		lines := slices.Sorted(slices.Values(r.transcript()))
		check.EqualAll(t, "transcript", lines, []string{"assistant: answer 1", "user: 1", "user: 2", "user: 3, completed", "user: 4, completed"})
		check.EqualAll(t, "completion requests", log, []string{"3", "4"})
	})
}

func TestEditMakesWaitingMessageIncomplete(t *testing.T) {
	r := newRig(t, echo).throughConnector(&platform{})
	model := &windowRecorder{Model: r.model, do: func() { // between complete and TakeUp
		m := channel.Inbound{ID: "2", Text: "hello @U7", Time: time.Now().Add(time.Second), Incomplete: true}
		check.Error(t, r.hub.Edit(t.Context(), place, m), nil)
	}}
	r.agent.Model = model
	r.reopen()
	r.post(pastMessage("1", "one", 0, true))
	model.armed.Store(true)
	r.deliverMessage(pastMessage("2", "hello", 0, true))
	r.connector.until(t, "the second message", func() bool { return r.connector.countTaken() == 2 })
	r.waitForReplies()
	check.Contains(t, "transcript", texts(r.transcript()), "@U7")
}

func TestMessageThatCannotBeCompletedIsAnswered(t *testing.T) {
	for claim, complete := range map[string]func(channel.Inbound) (channel.Inbound, error){
		"the connector completes nothing": nil,
		"it returns nothing":              func(channel.Inbound) (m channel.Inbound, err error) { return m, nil },
		"it fails":                        func(channel.Inbound) (m channel.Inbound, err error) { return m, errors.New("no such user") },
		"it panics":                       func(channel.Inbound) (channel.Inbound, error) { panic("complete") },
	} {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			if complete != nil {
				r.throughConnector(&platform{complete: complete})
			}
			r.post(lacking("1", 0, true))
			check.EqualAll(t, claim, r.transcript(), []string{"user: 1", "assistant: answer 1"})
		})
	}
	// Completion runs before a message gets its seq.
	release := make(chan struct{})
	r := newRig(t, echo).throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
		<-release
		m.Author = "Grace"
		m.Text = "ask @Ada"
		return m, nil
	}})
	r.deliverMessage(lacking("1", 0, true))
	r.say("second", false)
	close(release)
	r.waitForReplies()
	check.EqualAll(t, "transcript", r.transcript(), []string{"user: ask @Ada", "user: second", "assistant: answer 1"})
	check.Contains(t, "prompt", r.lastRequestText(), "Grace")
}
