package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// stubConnector is a connector that stays open until its context ends.
type stubConnector struct {
	mu   sync.Mutex // guards sent
	sent []string
}

var _ runner = (*stubConnector)(nil)

func (h *stubConnector) Name() string                          { return "test" }
func (h *stubConnector) Split(text string) []string            { return []string{text} }
func (h *stubConnector) Reply(string, []string) channel.Writer { return stubWriter{h} }

func (h *stubConnector) Run(ctx context.Context, _ *channel.Hub) error {
	<-ctx.Done()
	return nil
}

type stubWriter struct{ h *stubConnector }

func (stubWriter) Show(string) {}
func (stubWriter) Cancel()     {}

func (w stubWriter) Send(_ context.Context, piece channel.Piece) (string, error) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	w.h.sent = append(w.h.sent, piece.Text)
	return fmt.Sprint(piece.Row), nil
}

// TestStopWithinTheGrace stops a bot during an answer and a summary.
func TestStopWithinTheGrace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		grace   time.Duration
		hangs   bool // answer and summary never arrive
		sent    int
		applied int
	}{
		{"what is finished in time is", time.Minute, false, 1, 1},
		{"what is not waits for the next start, and the summary leaves nothing", 100 * time.Millisecond, true, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newFolder(t)
			dir, asked, stopped := filepath.Join(p.dir, "data"), make(chan struct{}, 10), make(chan struct{})
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
			db := check.Must(store.Open(t.Context(), store.Options{Dir: dir}))(t)
			defer db.Close()
			conv := talkedIn(t, db)
			connector, model := &stubConnector{}, &llmtest.Model{Func: slow}
			hub := channel.New(channel.Options{
				Store: db, Connectors: []channel.Connector{connector}, Log: slog.New(slog.DiscardHandler),
				Agent: func(string) channel.Agent {
					return channel.Agent{Model: model, Worker: model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
				},
			})
			check.Must(hub.Deliver(t.Context(), conv.Name(), channel.Inbound{ID: "q", AuthorID: "u", Author: "Ada", Text: "Where are you?", Time: time.Now(), Addressed: true}))(t)
			<-asked
			if _, _, err := hub.Run(t.Context(), conv.Name(), channel.Person{ID: "u", Name: "Ada", Manager: true}, "/compact"); err != nil {
				t.Fatal(err)
			}
			<-asked

			ctx, stop := context.WithCancelCause(t.Context())
			stop(signalled{syscall.SIGTERM})
			time.AfterFunc(10*time.Millisecond, func() { close(stopped) })
			err := serve(ctx, hub, []runner{connector}, test.grace, slog.New(slog.DiscardHandler))
			check.Equal(t, "exit code", exitCode(err), 143)
			check.Len(t, "sent", connector.sent, test.sent)
			if _, waits, err := conv.Turns().Unanswered(t.Context()); err != nil || waits != test.hangs {
				t.Errorf("got waiting turn: %v, %v", waits, err)
			}
			check.NoError(t, db.Close())
			w := &recorder{folder: p}
			check.Equal(t, "applied summaries", w.count("SELECT count(*) FROM compactions WHERE state = 'applied'"), test.applied)
			check.Equal(t, "unfinished rows", w.count("SELECT count(*) FROM compactions WHERE state = 'running' OR state = 'failed' AND text <> ''"), 0)
		})
	}
}

// talkedIn is a conversation with messages to summarize.
func talkedIn(t *testing.T, db *store.Store) *store.Conversation {
	t.Helper()
	conv := check.Must(db.Conversation(t.Context(), "test:server/general"))(t)
	var past []store.Inbound
	for i := range 30 {
		past = append(past, store.Inbound{ID: fmt.Sprint("p", i), AuthorID: "u", Author: "Ada", Text: strings.Repeat("the roses grew and the gate was painted. ", 8), Time: time.Unix(int64(i), 0)})
	}
	check.Must(conv.Past().Import(t.Context(), past))(t)
	return conv
}

func TestSecondStopSignal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		signal syscall.Signal
		code   int // of the shell
	}{{syscall.SIGTERM, 143}, {syscall.SIGINT, 130}} {
		t.Run(test.signal.String()+": the second one ends it at once, and the next start answers, once", func(t *testing.T) {
			t.Parallel()
			asked, again := make(chan struct{}, 10), make(chan struct{})
			p, f, r := served(t, func(x *llmtest.Exchange) {
				select {
				case <-again:
					x.Say("Here I am.")
				default:
					if strings.Contains(x.Request.Last().Text(), "Where are you?") { // otherwise it is the start check
						asked <- struct{}{}
					}
					x.Wait(time.Minute) // until the client is gone
				}
			})
			p.sayOnDiscord("Where are you?")
			<-asked
			r.signal(test.signal)
			p.until(r, "it says that it stops", func() bool { return strings.Contains(r.errs.String(), `"msg":"stopping`) })
			start := time.Now()
			r.signal(test.signal)
			<-r.ended
			status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || 128+int(status.Signal()) != test.code || time.Since(start) > grace/2 {
				t.Errorf("got exit %v after %v", r.cmd.ProcessState, time.Since(start))
			}
			close(again)
			r = f.start("run")
			p.until(r, "the answer", func() bool { return p.answers("Here I am.")[0] == 1 })
			r.signal(test.signal)
			r.exits(test.code)
			check.Equal(t, "output", len(p.onDiscord()), 1)
			(&recorder{folder: f}).examined()
		})
	}
}
