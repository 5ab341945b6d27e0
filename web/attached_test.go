package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/llm"
	"cairn/testkit/check"
)

// seen is a terminal that records what it is shown.
type seen struct {
	mu    sync.Mutex
	lines []string
}

func (s *seen) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// all returns the lines that begin with a word.
func (s *seen) all(word string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.lines), func(line string) bool { return !strings.HasPrefix(line, word+" ") })
}

func (s *seen) until(t *testing.T, word string, want ...string) {
	t.Helper()
	check.Soon(func() bool { return len(s.all(word)) >= len(want) })
	check.EqualAll(t, word, s.all(word), want)
}

func (s *seen) Name() string                                { return "terminal" }
func (s *seen) Split(text string) []string                  { return []string{text} }
func (s *seen) Attended(string) bool                        { return false }
func (s *seen) Talks(string) bool                           { return true }
func (s *seen) Follows(string) bool                         { return false }
func (s *seen) Compaction(string, channel.Event)            {}
func (s *seen) Remembered(string, int64, string, string)    {}
func (s *seen) Used(string, string, string, report.Expense) {}
func (s *seen) Task(string, channel.Task)                   {}

func (s *seen) Accepted(_, id string, seq int64)           { s.add("accepted %s %d", id, seq) }
func (s *seen) Reply(_ string, to []string) channel.Writer { return &seenReply{s, to} }
func (r *seenReply) Show(text string)                      { r.s.add("shown %s", text) }
func (r *seenReply) Cancel()                               {}
func (r *seenReply) line(p channel.Piece) string           { return fmt.Sprint(r.to, " ", p.Text) }
func (r *seenReply) Send(_ context.Context, p channel.Piece) (string, error) {
	r.s.add("reply %s", r.line(p))
	return p.Reply, nil
}

type seenReply struct {
	s  *seen
	to []string
}

func message(id, text string) channel.Inbound {
	return channel.Inbound{ID: id, AuthorID: "Bo", Author: "Bo", Text: text, Time: time.Now(), Addressed: true}
}

func TestAttachedTerminal(t *testing.T) {
	goOn := make(chan struct{})
	host := &seen{}
	r := newRig(t, rigOptions{local: host, model: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		switch text := req.Messages[len(req.Messages)-1].Text; {
		case strings.Contains(text, "slow"):
			<-goOn
			return said("Done.")
		case strings.Contains(text, "fail"):
			<-goOn
			return llm.Response{}, &llm.Error{Status: 401, Message: "a wrong key"}
		}
		return said("Noted.")
	}})
	guest := &seen{}
	f := NewAttachment(guest, "")
	client := Client{Transport: &r.client, Base: r.url}
	a := must(f.Connect(t.Context(), client))
	check.NoError(t, a.Deliver(t.Context(), garden, message("1", "/usr is full")))
	check.NoError(t, a.Answered(t.Context(), garden, "1"))
	guest.until(t, "accepted", "accepted 1 1")
	guest.until(t, "reply", "reply [1] Noted.")
	check.Contains(t, "what is stored", fmt.Sprint(r.do(200, nil, "GET "+at(garden, "/messages"), "")), `"text":"/usr is full"`, `"author":"Bo"`)
	answer := must(a.Command(t.Context(), garden, access.Person{ID: "Bo", Name: "Bo"}, "/remember the gate is green"))
	check.Contains(t, "the answer to a command", answer.String(), "Saved as memory")

	// The connection is lost while the model works. What is said then is shown once, by the next one: from events, and after a reset.
	for i, last := range []string{"", "0"} {
		id := fmt.Sprint("slow", i)
		check.NoError(t, a.Deliver(t.Context(), garden, message(id, "slow")))
		a.Close()
		check.Error(t, a.Answered(t.Context(), garden, id), ErrLost)
		goOn <- struct{}{}
		check.NoError(t, r.hub.Idle(t.Context(), garden))
		if last != "" {
			f.last = last
		}
		a = must(f.Connect(t.Context(), client))
		check.NoError(t, a.Idle(t.Context(), garden))
	}
	guest.until(t, "reply", "reply [1] Noted.", "reply [slow0] Done.", "reply [slow1] Done.")

	check.NoError(t, a.Deliver(t.Context(), garden, message("4", "fail")))
	a.Close()
	goOn <- struct{}{}
	check.NoError(t, r.hub.Idle(t.Context(), garden))
	a = must(f.Connect(t.Context(), client))
	check.That(t, check.Soon(func() bool { return len(guest.all("reply")) == 4 }), "the failure is not shown: %q", guest.all("reply"))
	check.Contains(t, "the failure", guest.all("reply")[3], "Something went wrong while I was answering")
	a.Close()
	check.Len(t, "what the terminal of the bot's process is shown of it", append(host.all("reply"), host.all("accepted")...), 0)
}
