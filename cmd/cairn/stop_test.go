package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// stubConnector is a connector that stays open until its context ends.
type stubConnector struct{ sent atomic.Int32 }

var _ runner = (*stubConnector)(nil)

func (h *stubConnector) Name() string                          { return "test" }
func (h *stubConnector) Split(text string) []string            { return []string{text} }
func (h *stubConnector) Reply(string, []string) channel.Writer { return h }
func (h *stubConnector) Show(string)                           {}
func (h *stubConnector) Cancel()                               {}

func (h *stubConnector) Run(ctx context.Context, _ *channel.Hub) error {
	<-ctx.Done()
	return nil
}

func (h *stubConnector) Send(_ context.Context, piece channel.Piece) (string, error) {
	h.sent.Add(1)
	return fmt.Sprint(piece.Row), nil
}

// TestStopWithinTheGrace: what is finished in time is sent, what is not waits for the next start.
func TestStopWithinTheGrace(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 9), make(chan struct{})
	p, _, r := served(t, func(x *llmtest.Exchange) {
		if !isStartCheck(x.Request) {
			asked <- struct{}{}
			<-goOn
		}
		x.Say("Here I am.")
	})
	p.sayOnDiscord("Where are you?")
	<-asked
	r.signal(syscall.SIGTERM)
	p.logs(r, `"msg":"stopping`)
	close(goOn)
	r.exits(143)
	check.EqualAll(t, "answers", p.onDiscord(), []string{"Here I am."})
	t.Run("an answer that does not come", func(t *testing.T) {
		f := newFolder(t)
		db := f.store()
		model := &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}}
		connector, log := &stubConnector{}, slog.New(slog.DiscardHandler)
		hub := channel.New(channel.Options{
			Store: db, Connectors: []channel.Connector{connector}, Log: log,
			Agent: func(string) channel.Agent { return channel.Agent{Model: model, Policy: compactor.DefaultPolicy} },
		})
		check.Must(hub.Deliver(t.Context(), "test:server/general", channel.Inbound{ID: "q", AuthorID: "u", Author: "Ada", Text: "Where are you?", Time: time.Now(), Addressed: true}))(t)
		<-asked
		ctx, stop := context.WithCancelCause(t.Context())
		stop(signalled{syscall.SIGTERM})
		check.Equal(t, "exit code", exitCode(serve(ctx, hub, []runner{connector}, 100*time.Millisecond, log)), 143)
		check.Equal(t, "sent", connector.sent.Load(), 0)
		check.NoError(t, db.Close())
		check.Equal(t, "unanswered turns", f.count("SELECT count(*) FROM messages WHERE answered = 0"), 1)
	})
}

func TestSecondStopSignal(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		t.Run(signal.String()+": the second one ends it at once, and the next start answers, once", func(t *testing.T) {
			t.Parallel()
			asked, again := make(chan struct{}, 10), make(chan struct{})
			p, f, r := served(t, func(x *llmtest.Exchange) {
				select {
				case <-again:
					x.Say("Here I am.")
				default:
					if !isStartCheck(x.Request) {
						asked <- struct{}{}
					}
					x.Wait(time.Minute) // until the client is gone
				}
			})
			p.sayOnDiscord("Where are you?")
			<-asked
			r.signal(signal)
			p.logs(r, `"msg":"stopping`)
			start := time.Now()
			r.signal(signal)
			<-r.ended
			status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
			check.That(t, status.Signaled() && 128+int(status.Signal()) == code && time.Since(start) < grace/2, "got exit %v after %v", r.cmd.ProcessState, time.Since(start))
			close(again)
			r = f.start("run")
			p.until(r, "the answer", func() bool { return p.answers("Here I am.")[0] == 1 })
			r.signal(signal)
			r.exits(code)
			check.Len(t, "answers", p.onDiscord(), 1)
			(&recorder{folder: f}).examined()
		})
	}
}
