package channel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
)

// rewrite blocks the database as VACUUM does, until done is called. It is for rigs in a bubble.
func (r *rig) rewrite() (done func()) {
	release := make(chan struct{})
	r.beside(func() { check.NoError(r.t, r.store.Update(context.Background(), func(*store.Tx) { <-release })) })
	return func() {
		close(release)
		synctest.Wait()
	}
}

// beside runs f in a goroutine, and returns once that has ended or waits. It is for rigs in a bubble.
func (r *rig) beside(f func()) {
	go f()
	synctest.Wait()
}

// A large database is rewritten for minutes: the answer waits, and the model is not asked again.
func TestReplyWaitsForRewrite(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		var rewritten func()
		r.model.Func = while(func(int) { rewritten = r.rewrite() }, echo)
		r.say("hello", true)
		time.Sleep(5 * time.Minute)
		check.EqualAll(t, "sent until then", r.connector.texts(), nil)
		rewritten()
		r.waitForReplies()
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
	})
}

// What connectors report waits for the database in order; what people read or stop does not wait.
func TestDeliveriesWaitForRewrite(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.ask("before")
		var stored atomic.Int64
		note := func(err error) {
			check.NoError(t, err)
			stored.Add(1)
		}
		first := r.inbound("first", false)
		second := r.inbound("second", false)
		edited := second
		edited.Text = "second, edited"
		rewritten := r.rewrite()
		r.beside(func() { note(check.ErrorOf(r.hub.Deliver(t.Context(), place, first))) })
		r.beside(func() { note(r.hub.DeliverAll(t.Context(), place, []channel.Inbound{second, first})) }) // the platform repeats the first
		r.beside(func() { note(r.hub.Edit(t.Context(), place, edited)) })
		r.beside(func() { note(r.hub.Delete(t.Context(), place, first.ID)) })
		r.beside(func() { note(r.deliverTo("test:new/place", "from somewhere new", addressed)) })
		started := time.Now()
		check.Equal(t, "/stop", r.run("/stop"), "There is nothing to stop.")
		check.Contains(t, "/context", r.run("/context"), "1.4 %")
		check.Equal(t, "people waited", time.Since(started), 0)
		time.Sleep(50 * time.Second)
		check.Equal(t, "stored during the rewrite", stored.Load(), 0)
		rewritten()
		check.Equal(t, "stored afterwards", stored.Load(), 5)
		r.waitIdle("test:new/place")
		r.ask("afterwards")
		check.EqualAll(t, "transcript", r.transcript(), []string{
			"user: before", "assistant: answer 1", "user: second, edited", "user: afterwards", "assistant: answer 3",
		})
	})
}

// What waits too long is not stored: its connector delivers it again, and its author knows.
func TestDeliveriesAreRefusedAfterLongRewrite(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.ask("before")
		m := r.inbound("meanwhile", true)
		rewritten := r.rewrite()
		var message, deletion error
		go func() { message = check.ErrorOf(r.hub.Deliver(t.Context(), place, m)) }()
		go func() { deletion = r.hub.Delete(t.Context(), place, m.ID) }()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		check.Error(t, message, context.DeadlineExceeded)
		check.Error(t, deletion, context.DeadlineExceeded)
		check.Contains(t, "a person reads", r.hub.Operator().Refusal(place, message), "Send it again later")
		rewritten()
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: before", "assistant: answer 1"})
		r.post(m)
		check.EqualAll(t, "transcript", r.transcript()[2:], []string{"user: meanwhile", "assistant: answer 2"})
	})
}

// In a thread, /stop also ends answering unasked, which is written: the answer stops before that.
func TestStopDoesNotWaitForRewrite(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		canceled := false
		r.model.Func = func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			canceled = true
			return llm.Response{}, ctx.Err()
		}
		const thread = place + "/7"
		check.NoError(t, r.deliverTo(thread, "hello", func(m *channel.Inbound) {
			m.Addressed = true
			m.Thread = true
		}))
		synctest.Wait()
		rewritten := r.rewrite()
		r.beside(func() { r.says(ada, thread, "/stop", "I will answer in this thread again when someone mentions me.") })
		time.Sleep(time.Second)
		synctest.Wait()
		check.Equal(t, "canceled", canceled, true)
		rewritten()
		r.waitIdle(thread)
	})
}
