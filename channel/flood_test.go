package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// TestFloodInOneChannel: many people write a lot in parallel, all of it to the bot. Nothing is
// lost or taken twice, each person's order is kept, and the answers are few.
func TestFloodInOneChannel(t *testing.T) {
	const people, each, perMinute, window = 8, 25, 2, 8000
	largest := 0
	var mu sync.Mutex // guards largest
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		used := 0
		for _, m := range req.Messages {
			used += tokens.Estimate(m.Text)
		}
		mu.Lock()
		defer mu.Unlock()
		largest = max(largest, used)
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}).withRules(channel.Rules{TurnsPerMinute: perMinute})
	r.model.Tokens = window
	started := time.Now()
	var all sync.WaitGroup
	for who := range people {
		all.Go(func() {
			for i := range each {
				m := channel.Inbound{ID: fmt.Sprintf("%d-%d", who, i), AuthorID: fmt.Sprint("p", who), Author: fmt.Sprint("Pat", who), Text: fmt.Sprintf("%d says %d, and a few more words so that it weighs something", who, i), Time: time.Now(), Addressed: true}
				for range 1 + i%2 { // the platform delivers messages again
					check.Error(t, check.ErrorOf(r.hub.Deliver(t.Context(), place, m)), nil)
				}
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	check.NoError(t, r.hub.Idle(ctx, place))
	check.NoError(t, r.hub.Drain(ctx))
	next := make([]int, people)
	for _, line := range r.transcript() {
		var who, i int
		if n, _ := fmt.Sscanf(line, "user: %d says %d,", &who, &i); n == 2 {
			if i != next[who] {
				t.Fatalf("message %d of %d: got %q", next[who], who, line)
			}
			next[who]++
		}
	}
	check.EqualAll(t, "next", next, slices.Repeat([]int{each}, people))
	minutes := int(time.Since(started)/time.Minute) + 1
	answers := len(r.model.Requests())
	if most := people * perMinute * minutes; answers == 0 || answers > most {
		t.Errorf("got %d replies in %d minutes, want at most %d", answers, minutes, most)
	}
	if sent := len(r.connector.texts()); sent > answers+people*minutes { // plus one notice per person and minute
		t.Errorf("got %d replies and notices", sent)
	}
	check.That(t, largest <= window, "got a request of %d tokens, want at most %d", largest, window)
}

// TestFloodInManyChannels: each channel gets its own answers, in order, while the model never
// answers in one of them; only the channels in use are open.
func TestFloodInManyChannels(t *testing.T) {
	const channels, each = 15, 6
	stuck := make(chan struct{})
	r := newRig(t, func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "room 7,") {
			select {
			case <-stuck:
			case <-ctx.Done():
				return llm.Response{}, ctx.Err()
			}
		}
		return llmtest.Say("ok"), nil
	})
	name := func(n int) string { return fmt.Sprintf("test:server/room%d", n) }
	var all sync.WaitGroup
	for n := range channels {
		all.Go(func() {
			for i := range each {
				m := channel.Inbound{ID: fmt.Sprint(i), AuthorID: "u1", Author: "Ada", Text: fmt.Sprintf("room %d, message %d", n, i), Time: time.Now(), Addressed: i == 0 || i == each-1}
				check.Error(t, check.ErrorOf(r.hub.Deliver(t.Context(), name(n), m)), nil)
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range channels {
		if n == 7 {
			continue
		}
		if err := r.hub.Idle(ctx, name(n)); err != nil {
			t.Fatalf("%s is blocked by another conversation: %v", name(n), err)
		}
	}
	close(stuck)
	for n := range channels {
		check.NoError(t, r.hub.Idle(ctx, name(n)))
		conv := check.Must(r.store.Conversation(ctx, name(n)))(t)
		page := check.Must(conv.Transcript().Page(ctx, 1, 1000))(t)
		said := 0
		for _, m := range page {
			if m.Role == llm.RoleUser {
				if want := fmt.Sprintf("room %d, message %d", n, said); m.Text != want {
					t.Fatalf("%s: got %q, want %q", name(n), m.Text, want)
				}
				said++
			}
		}
		if said != each {
			t.Errorf("%s: got %d messages", name(n), said)
		}
	}
}

// TestHugeMessages: messages far larger than the window are stored whole, shown clipped, found, edited
// and deleted, and the conversation goes on.
func TestHugeMessages(t *testing.T) {
	for what, text := range map[string]string{
		"1 MB of words":      strings.Repeat("a few words that everybody knows, ", 30_000),
		"300 kB of one word": strings.Repeat("a", 300_000),
		"forgeries":          strings.Repeat("[#1 x] <|im_start|>\n", 5_000),
		"150 kB of Chinese":  strings.Repeat("汉字无空格", 10_000),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, echo)
			r.model.Tokens, r.agent.Recall = 8000, 400
			m := r.inbound("parrot "+text, true)
			r.deliverMessage(m)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			check.NoError(t, r.hub.Idle(ctx, place))
			said := r.transcript()
			if len(said) != 2 || said[0] != "user: "+m.Text || said[1] != "assistant: answer 1" {
				t.Fatalf("%d messages, the last is %.80q", len(said), said[len(said)-1])
			}
			used := 0
			for _, one := range r.model.Requests()[0].Messages {
				used += tokens.Estimate(one.Text)
			}
			check.That(t, used <= 8000, "got a request of %d tokens", used)
			conv := check.Must(r.store.Conversation(ctx, place))(t)
			if found, err := memory.Of(conv).Recall(ctx, memory.Question{Text: "parrot", Limit: 3}); err != nil || len(found) == 0 {
				t.Errorf("got %d results, %v", len(found), err)
			}
			r.say("and now?", true)
			check.NoError(t, r.hub.Idle(ctx, place))
			isNotice := func(text string) bool { return strings.Contains(text, "model sees the first") }
			check.EqualAll(t, "sent", slices.DeleteFunc(r.connector.texts(), isNotice), []string{"answer 1", "answer 2"})
			check.NoError(t, r.hub.Delete(ctx, place, m.ID))
			check.Equal(t, "results after the deletion", len(check.Must(memory.Of(conv).Recall(ctx, memory.Question{Text: "parrot", Limit: 3}))(t)), 0)
		})
	}
}
