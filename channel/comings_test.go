package channel_test

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// People write to a platform while the bot comes and goes: in the end the transcript matches what
// the platform shows.
func TestWhatThePlatformShowsIsWhatIsKept(t *testing.T) {
	for seed := range int64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { comeAndGo(t, seed) })
	}
}

func comeAndGo(t *testing.T, seed int64) {
	rnd := rand.New(rand.NewSource(seed))
	var mu sync.Mutex
	var said []channel.Inbound
	p := &reader{}
	r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		time.Sleep(time.Millisecond)
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}).reads(p)
	p.history = func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		var page []channel.Inbound
		for _, m := range said {
			if before != "" && m.ID < before || before == "" && m.ID > after {
				page = append(page, m)
			}
		}
		if before != "" {
			return page[max(0, len(page)-100):], "", false, nil
		}
		more := len(page) > 3
		last := ""
		if more {
			page = page[:3]
		}
		if len(page) > 0 {
			last = page[len(page)-1].ID
		}
		return append([]channel.Inbound(nil), page...), last, more, nil
	}
	p.complete = func(_ context.Context, m channel.Inbound) (channel.Inbound, error) {
		time.Sleep(500 * time.Microsecond)
		m.Author = "Ada Full"
		return m, nil
	}
	start, ctx := time.Now(), t.Context()
	connected := true
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 150 {
		switch k := rnd.Intn(20); {
		case k < 12: // post
			m := channel.Inbound{
				ID: fmt.Sprintf("m%05d", i), AuthorID: fmt.Sprint(i % 3), Author: "Ada", Text: fmt.Sprintf("text %d", i),
				Time: start.Add(time.Duration(i) * time.Millisecond), Addressed: rnd.Intn(3) == 0, Incomplete: rnd.Intn(3) == 0,
			}
			mu.Lock()
			said = append(said, m)
			mu.Unlock()
			if connected {
				_, err := r.hub.Deliver(ctx, place, m)
				check(err)
			}
		case k < 15: // edit
			mu.Lock()
			if len(said) == 0 {
				mu.Unlock()
				continue
			}
			j := len(said) - 1 - rnd.Intn(min(len(said), 5))
			said[j].Text = fmt.Sprintf("edited %s %d", said[j].ID, i)
			m := said[j]
			mu.Unlock()
			if connected {
				m.Time = start.Add(time.Hour + time.Duration(i)*time.Millisecond)
				check(r.hub.Edit(ctx, place, m))
			}
		case k < 17 && connected: // delete
			mu.Lock()
			if len(said) == 0 {
				mu.Unlock()
				continue
			}
			j := len(said) - 1 - rnd.Intn(min(len(said), 5))
			id := said[j].ID
			said = append(said[:j:j], said[j+1:]...)
			mu.Unlock()
			check(r.hub.Delete(ctx, place, id))
		case k == 17:
			if !connected {
				_, err := r.hub.Away(ctx, "test", nil)
				check(err)
				check(r.hub.CatchUp(ctx, place, "m"))
				connected = true
			} else {
				connected = false
			}
		case k == 18:
			time.Sleep(time.Duration(rnd.Intn(4000)) * time.Microsecond)
		}
	}
	_, err := r.hub.Away(ctx, "test", nil)
	check(err)
	check(r.hub.CatchUp(ctx, place, "m"))
	r.idle()
	r.idle()
	have := map[string]int{}
	for _, line := range r.transcript() {
		if text, ok := strings.CutPrefix(line, "user: "); ok {
			have[text]++
		}
	}
	for _, m := range said {
		n := have[m.Text]
		if n == 0 && strings.HasPrefix(m.Text, "edited") { // the bot does not read edits of known messages that were made while it was away
			for text, k := range have {
				if text == fmt.Sprintf("text %d", atoi(m.ID)) || strings.HasPrefix(text, "edited "+m.ID) {
					n = k
				}
			}
		}
		if n != 1 {
			t.Errorf("%s %q stands %d times", m.ID, m.Text, n)
		}
		delete(have, m.Text)
	}
	asked := map[string]bool{}
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	for _, piece := range r.connector.sent {
		for _, id := range piece.To {
			if asked[id] {
				t.Errorf("%s is answered twice", id)
			}
			asked[id] = true
			if strings.Contains(piece.Text, "disk") {
				t.Errorf("told: %s", piece.Text)
			}
		}
	}
	for _, m := range said {
		if m.Addressed && !asked[m.ID] {
			t.Errorf("%s is never answered", m.ID)
		}
	}
}

func atoi(id string) int {
	var n int
	fmt.Sscanf(id, "m%d", &n)
	return n
}
