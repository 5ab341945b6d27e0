package channel_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// journal is a log that tests can read.
type journal struct{ check.Buffer }

// lines counts the lines of a level that contain words.
func (j *journal) lines(level slog.Level, words string) (n int) {
	for line := range strings.Lines(j.String()) {
		if strings.Contains(line, "level="+level.String()+" ") && strings.Contains(line, words) {
			n++
		}
	}
	return n
}

func (j *journal) count(words string) int {
	return strings.Count(j.String(), words)
}

// captureLog gives the rig a log that the test can read.
func (r *rig) captureLog() *journal {
	j := new(journal)
	r.stop()
	r.opts.Log = slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.start()
	return j
}

func (r *rig) countFailures() (n int) {
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	for _, p := range r.connector.sent {
		if p.Failure {
			n++
		}
	}
	return n
}

func TestCallsPerHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo).withRules(channel.Rules{CallsPerHour: 8})
		log := r.captureLog()
		for range 12 {
			r.ask("hello")
			time.Sleep(time.Minute)
		}
		sent := r.connector.texts()
		if n := len(r.model.Requests()); n != 8 || len(sent) != 12 || r.countFailures() != 4 {
			t.Fatalf("got %d calls, %d replies, %d failure notices; want 8, 12 and 4", n, len(sent), r.countFailures())
		}
		check.Contains(t, "answer", sent[8], "ask again in 52 minutes")
		check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 1)
		check.Contains(t, "answer to /context", r.run("/context"), "calls     8 of 8 in the last hour")
		time.Sleep(48 * time.Minute) // the first call is an hour old
		r.ask("and now?")
		r.ask("and then?")
		if sent := r.connector.texts(); sent[12] != "answer 9" || r.countFailures() != 4 && r.countFailures() != 5 {
			t.Errorf("after an hour: got replies %q", sent[12:])
		}
		time.Sleep(time.Hour)
		r.ask("at last")
		check.Equal(t, "rows in the transcript", len(r.transcript()), 15+len(r.model.Requests()))
		r.stop()
	})
}

// TestSummariesUseLimitedShareOfCalls: people still get answers when summaries have used up their
// share; the extractive summarizer keeps the window in bounds, and a model repairs its summaries
// later.
func TestSummariesUseLimitedShareOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		r.model.Tokens = 6000
		worker := r.withWorker(func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			return summary(fmt.Sprint("Summary ", n, " of what they said: the tea of the north pier.")), nil
		})
		worker.Tokens = 6000
		r = r.withRules(channel.Rules{CallsPerHour: 40})
		log := r.captureLog()
		for i := range 36 {
			r.ask(fmt.Sprint("note ", i, " ", strings.Repeat("the tea of the north pier is cold again ", 20)))
			synctest.Wait() // the summaries have ended too
		}
		turns, summaries := len(r.model.Requests()), len(worker.Requests())
		if turns+summaries > 40 || summaries == 0 {
			t.Fatalf("%d calls for turns and %d for summaries, of 40", turns, summaries)
		}
		check.That(t, turns >= 20, "got %d calls for turns, want at least 20", turns)
		extractive := func() (n int) {
			answer := r.run("/context")
			return strings.Count(answer, "by "+string(compactor.ByExtractive)) + strings.Count(answer, "by "+string(compactor.ByEmergency))
		}
		if extractive() == 0 {
			t.Errorf("got no summary made without the model:\n%s", r.run("/context"))
		}
		check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 1)
		for range 4 { // the last repair shows only in the next request
			time.Sleep(2 * time.Hour)
			r.ask("how are you?")
			synctest.Wait() // the summaries have ended too
		}
		time.Sleep(time.Hour)
		if n := extractive(); n != 0 {
			t.Errorf("got %d unrepaired rows, want none:\n%s", n, r.run("/context"))
		}
		r.stop()
	})
}

// TestTurnRequestLimit: a server that fails every attempt but the last costs no more than a
// turn may.
func TestTurnRequestLimit(t *testing.T) {
	server := llmtest.NewServer(func(x *llmtest.Exchange) {
		if x.N%4 != 0 {
			x.Refuse(503, "", "busy")
			return
		}
		x.Use(fmt.Sprint(x.N), "recall", `{"query":"tea"}`)
	})
	defer server.Close()
	model := check.Must(openai.New(openai.Options{BaseURL: server.URL, RetryDelay: time.Millisecond}))(t)
	r := newRig(t, nil)
	r.stop()
	r.agent.Model = model
	r.start()
	r.ask("where is the tea?")
	if sent := r.connector.texts(); len(sent) != 1 || len(server.Requests()) > 48 {
		t.Errorf("got %d requests, sent %q", len(server.Requests()), sent)
	}
}
