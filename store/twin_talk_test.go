package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// talk is a random history of people who talk, are remembered, ask and want to be forgotten, in two conversations of a server. It checks
// nothing itself.
type talk struct {
	t    *testing.T
	s    *store.Store
	all  []*store.Conversation
	said int
}

// words of the talk: with cases, accents, other scripts, and characters that SQL or JSON would take for their own.
var wordsOfTalk = strings.Fields(`tea Tea TEA boat boats Oslo oslo Ägypten ägypten ångström 日本 日本語 театр Театр don't 100% a_b "quoted" \back ? what who yesterday Tuesday
	2 2.5 lives moved to in Lisbon lisbon dog dogs`)

func (w *talk) c(rt *rapid.T) *store.Conversation { return rapid.SampledFrom(w.all).Draw(rt, "in") }

func sentence(rt *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(wordsOfTalk), 1, 8).Draw(rt, "words"), " ")
}

func (w *talk) number(rt *rapid.T) int { return rapid.IntRange(1, max(w.said, 1)).Draw(rt, "message") }

func (w *talk) say(rt *rapid.T) {
	c := w.c(rt)
	for range rapid.IntRange(1, 4).Draw(rt, "messages") {
		w.said++
		m := storetest.Within(store.ServerWide, said(w.said, sentence(rt)))
		m.Time = storetest.Day.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours")) * time.Hour)
		m.Addressed = rapid.Bool().Draw(rt, "addressed")
		m.Steers = m.Addressed && rapid.Bool().Draw(rt, "steers")
		if rapid.Bool().Draw(rt, "replies") {
			m.ReplyTo = fmt.Sprintf("m%d", w.number(rt))
			m.Quote = sentence(rt)
		}
		deliverOnly(w.t, c, m)
	}
	check.Must(c.Inbox().Steering(ctx))(rt)
	if rapid.Bool().Draw(rt, "dequeue") {
		check.Must(c.Inbox().Dequeue(ctx, store.All, rapid.IntRange(1, 100).Draw(rt, "budget"), storetest.Day))(rt)
	}
}

func (w *talk) remember(rt *rapid.T) {
	c := w.c(rt)
	n := check.Must(c.Transcript().Counts(ctx))(rt).Messages
	if n == 0 {
		return
	}
	saved := fmt.Sprintf(`{"content": %q, "kind": %q, "about": %q, "messages": [%d], "attribute": %q, "value": %q, "since": %q}`, sentence(rt),
		rapid.SampledFrom([]string{"fact", "decision", "identity", "event"}).Draw(rt, "kind"), rapid.SampledFrom([]string{"Ann", "bob", "the boat"}).Draw(rt, "about"),
		rapid.IntRange(1, n).Draw(rt, "source"), rapid.SampledFrom([]string{"home", "Home", "pet", ""}).Draw(rt, "attribute"),
		rapid.SampledFrom([]string{"Oslo", "oslo", "Lisbon"}).Draw(rt, "value"), rapid.SampledFrom([]string{"", "2026-02", "2026-03-02"}).Draw(rt, "since"))
	if rapid.Bool().Draw(rt, "by the model") {
		_, _ = storetest.Call(storetest.ToolsAt(c, 1), "memory_save", saved)
	} else {
		person := rapid.SampledFrom([]string{"Ann", "Bob"}).Draw(rt, "by")
		_, _ = memory.Of(c).Keep(ctx, memory.KeepRequest{Person: person, PersonID: storetest.People[person], MemoryDraft: summarize.MemoryDraft{
			Kind: "fact", Content: sentence(rt), Messages: []int64{int64(rapid.IntRange(1, n).Draw(rt, "of"))},
		}})
	}
}

func (w *talk) ask(rt *rapid.T) {
	memories := memory.Of(w.c(rt))
	q := memory.Question{
		Text: sentence(rt), By: rapid.SampledFrom([]string{"", "Ann", "bo", "1", "me", "assistant"}).Draw(rt, "by"), Asker: "Ann",
		Order: rapid.SampledFrom(append([]string{""}, memory.Orders...)).Draw(rt, "order"), Limit: 10, Now: storetest.Day.Add(time.Hour),
	}
	if rapid.Bool().Draw(rt, "since") {
		q.Since = storetest.Day.Add(10 * time.Hour)
	}
	_, _ = memories.Recall(ctx, q)
	_, _, _ = memories.List(ctx, memory.Filter{
		Query: rapid.SampledFrom([]string{"", sentence(rt)}).Draw(rt, "query"), State: rapid.SampledFrom([]string{"", "known", "all", "expired"}).Draw(rt, "state"),
		About: rapid.SampledFrom([]string{"", "Ann", "BOB"}).Draw(rt, "about"), Sort: rapid.SampledFrom(memory.Sorts).Draw(rt, "sort"), Limit: 5,
	})
	check.Must(memories.Completed(ctx, "Te", 5))(rt)
	_, _ = memories.Profile(ctx, "Ann")
	check.Must(memories.Statistics(ctx, memory.Filter{}))(rt)
}

func (w *talk) change(rt *rapid.T) {
	c := w.c(rt)
	n := w.number(rt)
	m := said(n, sentence(rt))
	m.Time = m.Time.AddDate(0, 0, 1)
	_, _, err := privacy.Of(c).Edit(ctx, m)
	check.NoError(rt, err)
	if rapid.Bool().Draw(rt, "delete") {
		check.NoError(rt, privacy.Of(c).Delete(ctx, []string{m.ID}))
	}
	id := int64(rapid.IntRange(1, 5).Draw(rt, "memory"))
	memories := memory.Of(c)
	_ = rapid.SampledFrom([]func() error{
		func() error { return memories.Forget(ctx, id) }, func() error { return memories.Restore(ctx, id) }, func() error { return memories.Purge(ctx, id) },
		func() error { return memories.Pin(ctx, id, true) }, func() error { return memories.Edit(ctx, id, sentence(rt)) },
	}).Draw(rt, "change")()
}

func (w *talk) forget(rt *rapid.T) {
	if rapid.IntRange(0, 4).Draw(rt, "rarely") > 0 {
		return
	}
	c := w.c(rt)
	who := store.Person{Connector: "discord", ID: "1", Name: "Bob"}
	check.Must(privacy.Of(c).OptOut(ctx, who.ID, who.Name, rapid.Bool().Draw(rt, "out")))(rt)
	check.Must(privacy.In(w.s).Erase(ctx, who, c))(rt)
	for done := false; !done; {
		done = check.Must(privacy.Of(c).EraseSome(ctx, who.ID))(rt).Done
	}
	if rapid.Bool().Draw(rt, "purge") {
		check.NoError(rt, privacy.Of(c).Purge(ctx))
	}
}

func (w *talk) look(rt *rapid.T) {
	_, _, err := w.s.Places(ctx, rapid.SampledFrom([]string{"", "GENERAL", "é"}).Draw(rt, "words"), rapid.SampledFrom([]int{-1, 1, 5}).Draw(rt, "limit"), 0)
	check.NoError(rt, err)
	check.Must(w.s.Upkeep().Vitals(ctx))(rt)
	check.Must(w.s.Unfinished(ctx))(rt)
	check.Must(w.c(rt).Compactions().Load(ctx))(rt)
	check.NoError(rt, check.ErrorOf(w.s.Away(ctx, "discord", func(string) bool { return true }, func(newest, _ string) string { return newest })))
}

// After random talk, memories, questions, edits and deletions, each statement has had the same result on both.
func TestTwinsTalk(t *testing.T) {
	tw := newTwins(t)
	s := tw.open(t, t.TempDir())
	s.Sharing.Store(true)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		w := &talk{t: t, s: s}
		for _, name := range []string{"general", "random"} {
			w.all = append(w.all, find(t, s, fmt.Sprintf("discord:%d/%s", round, name)))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"say": w.say, "say more": w.say, "remember": w.remember, "ask": w.ask, "change": w.change, "forget": w.forget, "look": w.look,
		})
		tw.wantSame(t)
		if t.Failed() {
			rt.FailNow()
		}
	})
	check.Must(s.Upkeep().Check(ctx))(t)
	tw.wantSame(t)
}
