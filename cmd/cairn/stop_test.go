package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
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

// TestStopWithinTheGrace stops a bot during an answer and a summary.
func TestStopWithinTheGrace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		grace time.Duration
		hangs bool // answer and summary never arrive
		left  string
	}{
		{"what is finished in time is", time.Minute, false, "1 0 0"},
		{"what is not waits for the next start, and the summary leaves nothing", 100 * time.Millisecond, true, "0 0 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newFolder(t)
			asked, stopped := make(chan struct{}, 10), make(chan struct{})
			slow := func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
				asked <- struct{}{}
				<-stopped
				if test.hangs {
					<-ctx.Done()
					return llm.Response{}, ctx.Err()
				}
				if len(req.Tools) > 0 && req.Tools[len(req.Tools)-1].Name == "summarize" {
					return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": "Ada told of roses that grew and of a gate that was painted."})), nil
				}
				return llmtest.Say("Here I am."), nil
			}
			db := p.store()
			conv := check.Must(db.Conversation(t.Context(), "test:server/general"))(t)
			var past []store.Inbound // to summarize
			for i := range 30 {
				past = append(past, store.Inbound{ID: fmt.Sprint("p", i), AuthorID: "u", Author: "Ada", Text: strings.Repeat("the roses grew and the gate was painted. ", 8), Time: time.Unix(int64(i), 0)})
			}
			check.Must(conv.Past().Import(t.Context(), past))(t)
			connector, model := &stubConnector{}, &llmtest.Model{Func: slow}
			hub := channel.New(channel.Options{
				Store: db, Connectors: []channel.Connector{connector}, Log: slog.New(slog.DiscardHandler),
				Agent: func(string) channel.Agent {
					return channel.Agent{Model: model, Worker: model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
				},
			})
			check.Must(hub.Deliver(t.Context(), conv.Name(), channel.Inbound{ID: "q", AuthorID: "u", Author: "Ada", Text: "Where are you?", Time: time.Now(), Addressed: true}))(t)
			<-asked
			_, _, err := hub.Run(t.Context(), conv.Name(), channel.Person{ID: "u", Name: "Ada", Manager: true}, "/compact")
			check.NoError(t, err)
			<-asked

			ctx, stop := context.WithCancelCause(t.Context())
			stop(signalled{syscall.SIGTERM})
			time.AfterFunc(10*time.Millisecond, func() { close(stopped) })
			check.Equal(t, "exit code", exitCode(serve(ctx, hub, []runner{connector}, test.grace, slog.New(slog.DiscardHandler))), 143)
			check.Equal(t, "whether it was sent", connector.sent.Load() == 1, !test.hangs)
			check.NoError(t, db.Close())
			check.Equal(t, "applied summaries, unfinished ones, unanswered turns", (&recorder{folder: p}).ask(
				"count(*) FROM compactions WHERE state = 'applied'", "count(*) FROM compactions WHERE state = 'running' OR state = 'failed' AND text <> ''",
				"count(*) FROM messages WHERE answered = 0"), test.left)
		})
	}
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
