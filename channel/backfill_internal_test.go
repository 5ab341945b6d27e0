package channel

import (
	"log/slog"
	"testing"
	"time"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestPastMessagesFollowTheRules(t *testing.T) {
	rules := access.Rules{Access: map[string]access.Access{"test": {Deny: []string{"mallory"}}}}
	b := backfill{
		site:    &site{name: "test:s1/c1", environment: &environment{access: access.New(rules, nil, slog.New(slog.DiscardHandler))}},
		catchUp: time.Hour,
	}
	now := time.Now()
	said := []Inbound{
		{ID: "1", AuthorID: "ada", Addressed: true, Text: "old", Time: now.Add(-2 * time.Hour)},
		{ID: "2", AuthorID: "mallory", Addressed: true, Text: "denied", Time: now},
		{AuthorID: "ada", Text: "without an id", Time: now},
		{ID: "3", AuthorID: "ada", Addressed: true, Text: "new", Time: now},
		{ID: "4", AuthorID: "bo", Text: "talk", Time: now},
	}
	texts := func(messages []Inbound) []string {
		return storetest.Map(messages, func(m Inbound) string { return m.Text })
	}
	heard := b.classifyPast(said)
	check.EqualAll(t, "heard", texts(heard), []string{"old", "new", "talk"})
	check.EqualAll(t, "addressed", storetest.Map(heard, func(m Inbound) bool { return m.Addressed }), []bool{false, true, false})
	past, late := b.unanswered([]Inbound{said[0], said[3], said[4]})
	check.EqualAll(t, "what may still need an answer", texts(late), []string{"new", "talk"})
	check.EqualAll(t, "what is only context", texts(past), []string{"old"})
	fit := b.fitting(said, 60)
	check.That(t, len(fit) > 0 && len(fit) < 3, "the newest messages that fit: %q", texts(fit))
	check.Equal(t, "the last that fits", fit[len(fit)-1].Text, "talk")
}

// A page of history may have a message as it was before an edit that arrives while the page is read.
func TestEditsAreRepeatedAfterReading(t *testing.T) {
	records := storetest.NewConversation(t)
	e := edits{records: records, wake: func() {}, forgotten: func(string, []string) {}}
	text := func() string {
		page := check.Must(records.Transcript().Page(t.Context(), 1, 10))(t)
		check.Len(t, "messages", page, 1)
		return page[0].Text
	}
	apply := func(text string) {
		m := storetest.Said(1, text)
		m.Time = time.Now()
		check.NoError(t, e.apply(t.Context(), change{edited: &m}))
	}
	e.startReading()
	apply("the code is 0000") // the message is not there yet
	storetest.Deliver(t, records, storetest.Said(1, "the code is 4711"))
	check.Equal(t, "as the page had it", text(), "the code is 4711")
	check.NoError(t, e.repeat(t.Context()))
	check.Equal(t, "after the page", text(), "the code is 0000")
	check.NoError(t, e.repeat(t.Context()))
	check.Len(t, "edits that wait", e.during, 0)
	apply("the code is 1234")
	check.Len(t, "edits that wait while nothing is read", e.during, 0)
}
