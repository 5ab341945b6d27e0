// Streamed replies: their pace, and that the final text wins.

package discord

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// slowly makes a model write words one by one.
func slowly(r *rig, words int, delay time.Duration) (text string) {
	var all []string
	for i := range words {
		all = append(all, fmt.Sprint("word", i))
	}
	text = strings.Join(all, " ")
	r.model.Delay = delay
	r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say(text), nil }
	return text
}

func quick(d *Discord) {
	d.pauses.shown, d.pace.every = 10*time.Millisecond, 50*time.Millisecond
}

func TestAReplyGrowsByEditsThatKeepTheirDistance(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	text := slowly(r, 60, 80*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) == 1 && s[0].Content == text })
	requests := append(r.Requests("POST /channels/"+r.square+"/messages"), r.Requests("PATCH /channels/*/messages/*")...)
	if len(requests) < 3 {
		t.Fatalf("%d requests: it was not streamed", len(requests))
	}
	for i, q := range requests[1:] {
		if apart := q.At.Sub(requests[i].At); apart < editEvery-50*time.Millisecond {
			t.Errorf("edit %d came %v after what was before it, want %v", i, apart, editEvery)
		}
	}
	if last := requests[len(requests)-1]; !strings.Contains(string(last.Body), text) {
		t.Errorf("the last edit is not the whole text: %s", last.Body)
	}
}

func TestAShortReplyIsPostedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.ask(r.square, "quick")
	r.answers(r.square, 1)
	r.idle(r.place(r.square))
	if n := len(r.Requests("PATCH /channels/*/messages/*")); n != 0 {
		t.Errorf("%d edits of a reply that was whole at once", n)
	}
}

func TestTheFinalTextWinsWhateverMeetsTheStream(t *testing.T) {
	t.Parallel()
	const edits = "PATCH /channels/*/messages/*"
	for name, faults := range map[string][]discordtest.Fault{
		"a 429 in the middle":                    {{Route: edits, Status: 429, RetryAfter: 700 * time.Millisecond, Skip: 1}},
		"a 429 for all routes":                   {{Route: edits, Status: 429, RetryAfter: 500 * time.Millisecond, Global: true}},
		"a 429 for the first message":            {{Route: "POST /channels/*/messages", Status: 429, RetryAfter: 500 * time.Millisecond}},
		"an edit that hangs":                     {{Route: edits, Delay: 800 * time.Millisecond}},
		"an edit that took effect and failed":    {{Route: edits, Status: 502, Done: true, Times: 2}},
		"a first message that came and failed":   {{Route: "POST /channels/*/messages", Status: 502, Done: true}},
		"a first message without an answer":      {{Route: "POST /channels/*/messages", Cut: true, Done: true}},
		"an answer that breaks off in its body":  {{Route: "POST /channels/*/messages", CutBody: true}},
		"a channel in which nobody sees it type": {{Route: "POST /channels/*/typing", Status: 403, Code: 50013, Times: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}, quick).start()
			text := slowly(r, 40, 30*time.Millisecond)
			r.Fail(faults...)
			r.ask(r.square, "tell me slowly")
			r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) > 0 && s[len(s)-1].Content == text })
			r.idle(r.place(r.square))
			if s := r.Sent(r.square); len(s) != 1 {
				t.Errorf("%d messages, want one", len(s))
			}
		})
	}
}

func TestAStreamedMessageThatSomebodyDeletesIsPostedAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	text := slowly(r, 40, 30*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the first words", func() bool { return len(r.Sent(r.square)) == 1 })
	r.Delete(r.square, r.Sent(r.square)[0].ID)
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) == 1 && s[0].Content == text })
}

func TestALongReplyShowsItsFirstPieceWhileItIsWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	text := slowly(r, 500, 2*time.Millisecond)
	r.ask(r.square, "tell me everything")
	pieces := r.door.Split(text)
	got := r.answers(r.square, len(pieces))
	for i, piece := range pieces {
		if got[i] != piece {
			t.Errorf("piece %d is %q, want %q", i, got[i], piece)
		}
	}
}

func TestWhatIsNotSentIsTakenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	w := r.door.Reply(r.place(r.square), nil)
	w.Show("half a thought")
	r.until("the first words", func() bool { return len(r.sent(r.square)) == 1 })
	w.Cancel()
	r.until("it to be gone", func() bool { return len(r.sent(r.square)) == 0 })
}

func TestTypingShowsUntilThereIsSomethingToSee(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.pauses.typing = 50 * time.Millisecond }).start()
	typing := func() int { return len(r.Requests("POST /channels/" + r.square + "/typing")) }
	for _, c := range []struct {
		name string
		end  func(w channel.Writer, s *stream)
	}{
		{"an answer", func(w channel.Writer, s *stream) {
			if _, err := w.Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "done"}); err != nil {
				t.Error(err)
			}
			<-s.done
		}},
		{"nothing to be said", func(w channel.Writer, s *stream) { w.Cancel(); <-s.done }},
		{"the first words", func(w channel.Writer, _ *stream) {
			n := len(r.sent(r.square))
			w.Show("Well,")
			r.until("the words", func() bool { return len(r.sent(r.square)) > n })
		}},
	} {
		w := r.door.Reply(r.place(r.square), nil)
		s := w.(*writer).stream
		before := typing()
		r.until("typing, again and again", func() bool { return typing() >= before+4 })
		c.end(w, s)
		n := typing()
		if err := sleep(r.ctx, 200*time.Millisecond); err != nil || typing() > n+1 { // one may have been on its way
			t.Errorf("after %s it types on", c.name)
		}
	}
	if all := len(r.Requests("POST /channels/*/typing")); all != typing() {
		t.Errorf("it typed %d times elsewhere", all-typing())
	}
}

func TestAnAnswerThatARestartBreaksOffIsFinishedInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	text := slowly(r, 200, 30*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the first words", func() bool { return len(r.sent(r.square)) == 1 })
	r.stop()
	r.model.Delay = 0
	r.start()
	if err := r.hub.Recover(r.ctx, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) > 0 && s[0].Content == text })
	r.idle(r.place(r.square))
	if n := len(r.sent(r.square)); n != 1 {
		t.Errorf("%d messages, want one", n)
	}
}

func TestTakingBackLeavesTheAnswerThatCameInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	m := r.Say(r.square, r.ann.ID, "a question")
	const posts = "POST /channels/*/messages"
	r.Fail(discordtest.Fault{Route: posts, Cut: true}) // it did not arrive, but nobody knows
	broken := r.door.Reply(r.place(r.square), []string{m.ID})
	broken.Show("half a thought")
	r.until("the first words to be lost", func() bool { return len(r.Requests(posts)) == 1 })
	s := broken.(*writer).stream
	if err := s.stop(r.ctx); err != nil {
		t.Fatal(err)
	}
	whole := r.door.Reply(r.place(r.square), []string{m.ID})
	if _, err := whole.Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "the answer", To: []string{m.ID}}); err != nil {
		t.Fatal(err)
	}
	if err := broken.(*writer).takeBack(r.ctx, s); err != nil {
		t.Fatal(err)
	}
	r.answers(r.square, 1)
}
