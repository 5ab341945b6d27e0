package channel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func pastOf(from, to int) (past []channel.Inbound) {
	for i := from; i < to; i++ {
		past = append(past, channel.Inbound{
			ID: fmt.Sprint("old", i), Author: "Ada", Time: time.Unix(int64(i*60), 0), Text: fmt.Sprintf("Ada decided to visit town %d, because of the party there.", i),
		})
	}
	return past
}

// A program beside the bot imports in parts, into a conversation whose connector is not open, and more arrives while a summary is made.
func TestImportInParts(t *testing.T) {
	const elsewhere = "terminal:past"
	r := newRig(t, echo).withWindow(4000)
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
	check.NoError(t, channel.CheckImport(t.Context(), r.hub, elsewhere, pastOf(0, 300)))
	fresh := check.Must(channel.StoreImport(t.Context(), r.hub, elsewhere, pastOf(0, 300)))(t)
	check.Equal(t, "new messages of the first part", fresh, 300)
	<-blocked
	fresh = check.Must(channel.StoreImport(t.Context(), r.hub, elsewhere, pastOf(200, 600)))(t)
	check.Equal(t, "new messages of the second part", fresh, 300)
	unread, done, err := channel.ImportLeft(t.Context(), r.hub.Operator(), elsewhere)
	check.That(t, err == nil && !done && unread > 300, "%d are not read, done: %v, %v", unread, done, err)
	close(release)
	check.That(t, check.Soon(func() bool {
		_, done, err := channel.ImportLeft(t.Context(), r.hub.Operator(), elsewhere)
		check.NoError(t, err)
		return done
	}), "it is not read")
	check.Equal(t, "messages", storetest.Number(t, r.store, "SELECT count(*) FROM messages"), 600)
	check.Len(t, "inconsistencies", check.Must(r.store.Upkeep().Check(t.Context()))(t), 0)
	now := check.Must(r.hub.Operator().Context(t.Context(), elsewhere))(t)
	check.Equal(t, "messages that the prompt knows", now.Messages, 600)
	check.That(t, len(now.Stack) > 0, "no summary: %+v", now)

	other := pastOf(0, 1)
	other[0].Text = "something else"
	check.Error(t, channel.CheckImport(t.Context(), r.hub, elsewhere, other), store.ErrOtherMessage)
	r.ask("hello")
	check.Error(t, check.ErrorOf(channel.StoreImport(t.Context(), r.hub, place, pastOf(0, 3))), store.ErrLive)
}

// What is purged leaves the conversation in memory, too: the next prompt has nothing of it, and the conversation goes on.
func TestPurgeBesideATurn(t *testing.T) {
	r := newRig(t, echo).withWindow(4000)
	r.ask("my parrot is called Ronja")
	r.askTurns(3, 100)
	r.runAsManager("/settings focus parrots")
	records := check.Must(r.store.Find(t.Context(), place))(t)
	check.NoError(t, channel.PurgeConversation(t.Context(), r.hub, records))
	check.Equal(t, "messages", storetest.Number(t, r.store, "SELECT count(*) FROM messages"), 0)
	r.ask("what did I say?")
	check.Lacks(t, "the prompt", r.lastRequestText(), "Ronja", "parrot")
	check.Lacks(t, "settings", r.run("/settings focus"), "parrots")
	check.Len(t, "inconsistencies", check.Must(r.store.Upkeep().Check(t.Context()))(t), 0)
}

// A turn that runs when its conversation is purged ends without an answer.
func TestPurgeDuringATurn(t *testing.T) {
	asked := make(chan struct{}, 100)
	canceled := make(chan struct{}, 100)
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 {
			return echo(ctx, n, req)
		}
		asked <- struct{}{}
		<-ctx.Done()
		canceled <- struct{}{}
		return llm.Response{}, ctx.Err()
	})
	r.deliverMessage(r.inbound("my parrot is called Ronja", true))
	<-asked
	check.NoError(t, channel.PurgeConversation(t.Context(), r.hub, check.Must(r.store.Find(t.Context(), place))(t)))
	<-canceled
	r.ask("what did I say?")
	check.Lacks(t, "the prompt", r.lastRequestText(), "Ronja")
	check.Equal(t, "messages", storetest.Number(t, r.store, "SELECT count(*) FROM messages"), 2)
	check.Equal(t, "messages with the secret", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE text LIKE '%Ronja%'"), 0)
	check.Len(t, "inconsistencies", check.Must(r.store.Upkeep().Check(t.Context()))(t), 0)
}
