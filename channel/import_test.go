package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/store"
	"cairn/testkit/check"
)

func TestImport(t *testing.T) {
	r := newRig(t, echo).withWindow(4000)
	past := func(n int) (all []channel.Inbound) {
		for i := range n {
			text := fmt.Sprintf("Ada visited town %d. %s", i, strings.Repeat("word ", 20+i%25/24*2000))
			all = append(all, channel.Inbound{ID: fmt.Sprint("old", i), Author: "Ada", Time: time.Unix(int64(i*60), 0), Text: text})
		}
		return all
	}
	done := 0
	ignore := func(channel.ImportProgress) {}
	check.Equal(t, "imported messages", check.Must(r.hub.Import(t.Context(), place, past(100), func(p channel.ImportProgress) { done = p.Stored - p.Unread }))(t), 100)
	check.Equal(t, "progress", done, 100)
	for _, e := range r.connector.events {
		check.That(t, e.Trigger != compactor.OnEmergency && e.BeforeTokens <= e.Window, "an emergency while importing: %+v", e)
	}
	applied := len(r.eventsIn(compactor.EventApplied))
	check.That(t, applied >= 3, "got %d applied compactions", applied)
	check.Equal(t, "messages imported by the second import", check.Must(r.hub.Import(t.Context(), place, past(110), ignore))(t), 10)
	check.Len(t, "model calls", r.model.Requests(), 0)
	r.ask("hello")
	check.Error(t, check.ErrorOf(r.hub.Import(t.Context(), place, past(120), ignore)), store.ErrLive)
}

// A question in a conversation whose import is not summarized yet is answered immediately: nobody waits for a compaction. The summaries
// of the rest follow.
func TestQuestionDuringAnImport(t *testing.T) {
	const messages = 600
	for claim, early := range map[string]bool{"it comes while the import is read": false, "it was there at the start": true} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, echo).withWindow(4000)
			var past []channel.Inbound
			for i := range messages {
				text := fmt.Sprintf("Ada decided to visit town %d. %s", i, strings.Repeat("word ", 20))
				past = append(past, channel.Inbound{ID: fmt.Sprint("old", i), Author: "Ada", Time: time.Unix(int64(i*60), 0), Text: text})
			}
			c := check.Must(r.store.Conversation(t.Context(), place))(t)
			check.Must(c.Past().ImportUnread(t.Context(), past))(t)
			if early {
				check.Must(c.Inbox().Deliver(t.Context(), store.Inbound(r.inbound("hello", true))))(t)
			}
			blocked := make(chan struct{}, 1000)
			release := make(chan struct{})
			r.opts.Before = func(ctx context.Context, _ string, _ compactor.Proposal) (string, error) {
				blocked <- struct{}{}
				select {
				case <-release:
				case <-ctx.Done():
				}
				return "", nil
			}
			r.restart()
			<-blocked // a summary is being made, and is not ready
			if !early {
				r.deliverMessage(r.inbound("hello", true))
			}
			r.connector.until(t, "the answer", func() bool { return len(r.connector.sent) > 0 })
			check.Equal(t, "the answer", r.connector.texts()[0], "answer 1")
			unread := check.Must(check.Must(r.store.Find(t.Context(), place))(t).Past().Unread(t.Context()))(t)
			check.That(t, unread > messages/2, "only %d messages were not read when it was answered", unread)
			close(release)
			r.waitForReplies()
			check.NoError(t, r.hub.Drain(t.Context()))
			check.Equal(t, "messages that are not read", check.Must(check.Must(r.store.Find(t.Context(), place))(t).Past().Unread(t.Context()))(t), 0)
			state := check.Must(check.Must(r.store.Find(t.Context(), place))(t).Compactions().Load(t.Context()))(t)
			covered := int64(1)
			for _, row := range state.Head.Stack {
				check.That(t, row.Kind != compactor.Placeholder && row.Text != "", "%d is not summarized", row.ID)
				check.Equal(t, "the next summary begins", row.From, covered)
				covered = row.To + 1
			}
			check.Equal(t, "verbatim from", state.Messages[0].Seq, covered)
			found, err := r.store.Upkeep().Check(t.Context())
			check.NoError(t, err)
			check.Len(t, "inconsistencies", found, 0)
		})
	}
}
