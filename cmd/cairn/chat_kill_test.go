package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/llm/llmtest"
)

// replyCounts counts the replies to each message. After a kill a line may come again with its ID.
type replyCounts struct {
	count map[string]int
	known map[any]bool
}

func (r replyCounts) add(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range parse[struct {
		Type string
		ID   any // a number in a compaction's line
		To   []string
	}](t, strings.Join(lines, "\n")) {
		if line.Type != "reply" || r.known[line.ID] {
			continue
		}
		r.known[line.ID] = true
		for _, id := range line.To {
			r.count[id]++
		}
	}
}

// TestKill ends the program the hard way in the middle of a compaction.
func TestKill(t *testing.T) {
	t.Parallel()
	killed := make(chan struct{})
	server := llmtest.NewServer(func(x *llmtest.Exchange) {
		switch {
		case !isWorker(x):
			x.Say("Noted.")
		case !x.Wait(100 * time.Millisecond):
		default:
			select {
			case <-killed:
				x.Use("s", "summarize", `{"summary":"They told numbered stories about the garden."}`)
			default:
				x.Wait(time.Minute) // until the client is gone
			}
		}
	})
	defer server.Close()
	p := newFolder(t)
	settingsFor(p, server, "[agents.compaction]", "prepare_threshold = 0") // what is summarized is shown at once
	message := func(n int) string {
		return fmt.Sprintf(`{"text":"Story %d of the garden: %s","id":"m%d"}`, n, strings.Repeat("the roses grew and the gate was painted green. ", 12), n)
	}

	l := p.start("chat", "--json")
	replies := replyCounts{count: map[string]int{}, known: map[any]bool{}}
	said := 0
	for working := false; !working; {
		said++
		if said > 100 {
			t.Fatal("no compaction began")
		}
		l.say(message(said))
		lines := l.until(`"reply"`)
		replies.add(t, lines)
		working = strings.Contains(strings.Join(lines, "\n"), `"started"`)
	}
	noError(t, l.cmd.Process.Kill())
	lines, _ := l.rest()
	replies.add(t, lines)
	close(killed)

	before := p.must("", "transcript", "--json")
	l = p.start("chat", "--json")
	for n := said; n <= said+3; n++ { // the last one once more
		l.say(message(n))
		if n > said {
			replies.add(t, l.until(`"reply"`))
		}
	}
	_ = l.in.Close()
	lines, code := l.rest()
	replies.add(t, lines)
	expect(t, "exit code", code, 0)

	t.Run("every message is there once, as it was", func(t *testing.T) {
		after := p.must("", "transcript", "--json")
		if !strings.HasPrefix(after, before) {
			t.Error("the transcript of before the kill has changed")
		}
		seen := map[string]int{}
		for i, r := range messagesOf(t, after) {
			if r.Seq != int64(i)+1 {
				t.Errorf("message %d follows %d", r.Seq, i)
			}
			if r.ID != "" {
				seen[r.ID]++
			}
		}
		for n := 1; n <= said+3; n++ {
			if id := fmt.Sprintf("m%d", n); seen[id] != 1 || replies.count[id] != 1 {
				t.Errorf("%s stands there %d times and was answered %d times", id, seen[id], replies.count[id])
			}
		}
	})
	t.Run("the compaction is made up for", func(t *testing.T) { wantCompacted(t, p) })
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("a strict server refuses: %q", refused)
	}
}

// wantCompacted checks that the worker has summarized the stories.
func wantCompacted(t *testing.T, p folder) {
	gauge := parse[struct {
		Messages int
		Verbatim int
		Stack    []struct {
			By   string
			Text string
		}
	}](t, p.must("", "context", "--json"))[0]
	if len(gauge.Stack) == 0 || gauge.Stack[0].By != "worker" || !strings.Contains(gauge.Stack[0].Text, "numbered stories") {
		t.Errorf("got %+v", gauge)
	}
	if gauge.Verbatim >= gauge.Messages {
		t.Errorf("%d of %d messages are verbatim", gauge.Verbatim, gauge.Messages)
	}
}
