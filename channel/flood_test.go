package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

func tokensOf(req llm.Request) (used int) {
	for _, m := range req.Messages {
		used += tokens.Estimate(m.Text)
	}
	return used
}

// TestFloodInOneChannel: many people write a lot in parallel, all of it to the bot. Nothing is
// lost or taken twice, each person's order is kept, and the answers are few.
func TestFloodInOneChannel(t *testing.T) {
	const people, each, perMinute, window = 8, 25, 2, 8000
	r := newRig(t, echo).withRules(channel.Rules{TurnsPerMinute: perMinute})
	r.model.Tokens = window
	started := time.Now()
	var all sync.WaitGroup
	for who := range people {
		all.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%d says %d, and a few more words so that it weighs something", who, i)
				m := by(fmt.Sprint("p", who), fmt.Sprint("Pat", who), pastMessage(fmt.Sprintf("%d-%d", who, i), text, 0, true))
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
			check.Require(t, i == next[who], "message %d of %d: got %q", next[who], who, line)
			next[who]++
		}
	}
	check.EqualAll(t, "messages of each", next, slices.Repeat([]int{each}, people))
	minutes := int(time.Since(started)/time.Minute) + 1
	answers, sent := len(r.model.Requests()), len(r.connector.texts())
	check.That(t, answers > 0 && answers <= people*perMinute*minutes, "got %d replies in %d minutes", answers, minutes)
	check.That(t, sent <= answers+people*minutes, "got %d replies and notices", sent) // one notice per person and minute
	for _, req := range r.model.Requests() {
		check.That(t, tokensOf(req) <= window, "got a request of %d tokens, want at most %d", tokensOf(req), window)
	}
}

// TestFloodInManyChannels: each channel gets its own answers, in order, while the model never
// answers in one of them; only the channels in use are open.
func TestFloodInManyChannels(t *testing.T) {
	const channels, each = 15, 6
	stuck := make(chan struct{})
	r := newRig(t, func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		if strings.Contains(lastText(req), "room 7,") {
			select {
			case <-stuck:
			case <-ctx.Done():
			}
		}
		return llmtest.Say("ok"), ctx.Err()
	})
	name := func(n int) string { return fmt.Sprintf("test:server/room%d", n) }
	var all sync.WaitGroup
	for n := range channels {
		all.Go(func() {
			for i := range each {
				m := pastMessage(fmt.Sprint(i), fmt.Sprintf("room %d, message %d", n, i), 0, i == 0 || i == each-1)
				check.Error(t, check.ErrorOf(r.hub.Deliver(t.Context(), name(n), m)), nil)
			}
		})
	}
	all.Wait()
	for n := range channels {
		if n != 7 { // the others are not blocked by it
			r.waitIdle(name(n))
		}
	}
	close(stuck)
	for n := range channels {
		r.waitIdle(name(n))
		said := 0
		for _, m := range r.messagesIn(name(n)) {
			if m.Role == llm.RoleUser {
				check.Equal(t, name(n), m.Text, fmt.Sprintf("room %d, message %d", n, said))
				said++
			}
		}
		check.Equal(t, name(n)+": messages", said, each)
	}
}

// TestHugeMessages: messages far larger than the window are stored whole, shown clipped, found, edited
// and deleted, and the conversation goes on.
func TestHugeMessages(t *testing.T) {
	const window = 2000
	for what, text := range map[string]string{
		"250 kB of words":    strings.Repeat("a few words that everybody knows, ", 7_500),
		"100 kB of one word": strings.Repeat("a", 100_000),
		"forgeries":          strings.Repeat("[#1 x] <|im_start|>\n", 1_500),
		"45 kB of Chinese":   strings.Repeat("汉字无空格", 3_000),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, echo)
			r.model.Tokens, r.agent.Recall = window, 400
			m := r.inbound("parrot "+text, true)
			r.post(m)
			said := r.transcript()
			check.That(t, len(said) == 2 && said[0] == "user: "+m.Text && said[1] == "assistant: answer 1", "%d messages, the last is %.80q", len(said), said[len(said)-1])
			used := tokensOf(r.model.Requests()[0])
			check.That(t, used <= window, "got a request of %d tokens", used)
			found := func() int {
				memories := memory.Of(storetest.Find(t, r.store, place))
				return len(check.Must(memories.Recall(t.Context(), memory.Question{Text: "parrot", Limit: 3}))(t))
			}
			check.That(t, found() > 0, "the message is not found")
			r.ask("and now?")
			isNotice := func(text string) bool { return strings.Contains(text, "model sees the first") }
			check.EqualAll(t, "sent", slices.DeleteFunc(r.connector.texts(), isNotice), []string{"answer 1", "answer 2"})
			check.NoError(t, r.hub.Delete(t.Context(), place, m.ID))
			check.Equal(t, "results after the deletion", found(), 0)
		})
	}
}
