// Streamed replies: their pace, and that the final text wins.

package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// slowly makes a model write words one by one.
func slowly(r *rig, words int, delay time.Duration) (text string) {
	text = wordsOf(words)
	r.model.Delay = delay
	r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say(text), nil }
	return text
}

func quick(d *Discord) {
	d.pauses.firstPost, d.pauses.edit = 10*time.Millisecond, 50*time.Millisecond
}

func TestAReplyGrowsByEditsThatKeepTheirDistance(t *testing.T) {
	t.Parallel()
	const pause = 300 * time.Millisecond
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.pauses.edit = pause }).start()
	text := slowly(r, 60, 25*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) == 1 && s[0].Content == text })
	requests := append(r.Requests("POST /channels/"+r.square+"/messages"), r.Requests("PATCH /channels/*/messages/*")...)
	check.Require(t, len(requests) >= 3, "%d requests: it was not streamed", len(requests))
	for i, q := range requests[1:] {
		if apart := q.At.Sub(requests[i].At); apart < pause-50*time.Millisecond {
			t.Errorf("edit %d came %v after what was before it, want %v", i, apart, pause)
		}
	}
	check.Contains(t, "the last edit", string(requests[len(requests)-1].Body), text)
}

func TestAReplyIsSentOnceTheConnectorRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	m := r.Say(r.square, r.ann.ID, "question")
	r.open()
	for i, text := range []string{"the first half", "the second ha"} { // streamed by an earlier process
		check.Must(r.connector.create(r.ctx, r.square, newPost(r.square, text, replyTarget(i, []string{m.ID}), nonce(text)), false))(t)
	}
	r.connector.started = time.Now().Add(time.Second)
	sent := make(chan error, 1)
	go func() {
		_, err := r.connector.Reply(r.place(r.square), []string{m.ID}).Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "The answer.", To: []string{m.ID}})
		sent <- err
	}()
	check.NoError(t, platform.Sleep(r.ctx, 50*time.Millisecond))
	r.run()
	check.NoError(t, <-sent)
	check.EqualAll(t, "messages", r.contents(r.square), []string{"The answer."})
}

func TestAShortReplyIsPostedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.converse("quick", 1)
	r.idle(r.place(r.square))
	check.Equal(t, "edits of a reply that was whole at once", len(r.Requests("PATCH /channels/*/messages/*")), 0)
}

func TestTheFinalTextWinsWhateverMeetsTheStream(t *testing.T) {
	t.Parallel()
	const edits = "PATCH /channels/*/messages/*"
	for name, faults := range map[string][]discordtest.Fault{
		"a 429 in the middle":                    {{Route: edits, Status: 429, RetryAfter: 700 * time.Millisecond, Skip: 1}},
		"a 429 for all routes":                   {{Route: edits, Status: 429, RetryAfter: 500 * time.Millisecond, Global: true}},
		"an edit that hangs":                     {{Route: edits, Delay: 800 * time.Millisecond}},
		"an edit that took effect and failed":    {{Route: edits, Status: 502, Done: true, Times: 2}},
		"a first message without an answer":      {{Route: "POST /channels/*/messages", Cut: true, Done: true}},
		"a channel in which nobody sees it type": {{Route: "POST /channels/*/typing", Status: 403, Code: 50013, Times: 9}},
		"a second message that came and failed":  {{Route: "POST /channels/*/messages", Status: 502, Done: true, Skip: 1}},
		"a second message that did not come":     {{Route: "POST /channels/*/messages", Status: 502, Skip: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}, quick).start()
			text := slowly(r, 40, 30*time.Millisecond)
			if faults[0].Skip > 0 && strings.HasPrefix(faults[0].Route, "POST") {
				text = slowly(r, 400, 3*time.Millisecond)
			}
			r.Fail(faults...)
			m := r.ask(r.square, "tell me slowly")
			r.shows(r.square, text)
			r.idle(r.place(r.square))
			check.Equal(t, "messages", len(r.Sent(r.square)), len(r.connector.Split(text)))
			for i, piece := range r.sent(r.square) { // only the first refers to the question
				check.Equal(t, "it refers to the question", piece.MessageReference != nil && piece.MessageReference.MessageID == m.ID, i == 0)
			}
		})
	}
}

// wordsOf makes a text of so many words.
func wordsOf(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("word", i))
	}
	return strings.Join(all, " ")
}

// contents are what the bot's messages say in a place.
func (r *rig) contents(place string) (all []string) {
	for _, m := range r.sent(place) {
		all = append(all, m.Content)
	}
	return all
}

// shows waits until the bot's messages say just the pieces of a text.
func (r *rig) shows(place, text string) {
	r.t.Helper()
	r.until("all pieces", func() bool { return slices.Equal(r.contents(place), r.connector.Split(text)) })
}

// sendAll has a writer send all pieces of a text.
func (r *rig) sendAll(w channel.Writer, text string, to ...string) {
	r.t.Helper()
	pieces := r.connector.Split(text)
	for i, piece := range pieces {
		check.Must(w.Send(r.ctx, channel.Piece{Reply: "r", Part: i, Parts: len(pieces), Text: piece, To: to}))(r.t)
	}
}

func TestEveryPieceOfALongReplyGrowsWhileItIsWritten(t *testing.T) {
	t.Parallel()
	for name, final := range map[string]string{
		"and is finished in its place":          wordsOf(1000),
		"and goes if the reply ends shorter":    wordsOf(300),
		"and leaves one if it is short at last": "Sorry, no.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}, quick).start()
			w := r.connector.Reply(r.place(r.square), nil)
			for _, n := range []int{10, 350, 400, 700} { // one piece, two, two, three
				w.Show(wordsOf(n))
				r.shows(r.square, wordsOf(n))
			}
			first := r.sent(r.square)
			r.sendAll(w, final)
			r.shows(r.square, final)
			for i, m := range r.sent(r.square) {
				check.That(t, i >= len(first) || m.ID == first[i].ID, "piece %d is another message", i)
			}
		})
	}
}

// TestPiecesThatAnEarlierProcessStreamedAreTakenOver is the crash while the second piece
// of a reply was streamed.
func TestPiecesThatAnEarlierProcessStreamedAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		streamed bool
		final    string
	}{
		"by a reply that is sent":          {false, wordsOf(500)},
		"by a reply that is streamed anew": {true, wordsOf(500)},
		"by a shorter one":                 {false, "Short."},
		"by a shorter one, streamed":       {true, "Short."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}, quick).start()
			m := r.Say(r.square, r.ann.ID, "question")
			create := func(text, to string) string {
				made := check.Must(r.connector.create(r.ctx, r.square, newPost(r.square, text, to, nonce(text)), false))(t)
				return made.ID
			}
			first := create("the first half", m.ID)
			r.Say(r.square, r.ann.ID, "chatter")
			r.heard(r.place(r.square), 2)
			r.notice(r.square, "older messages were summarized")
			create("the second ha", "")
			other := r.Say(r.square, r.ann.ID, "another question")
			create("another answer", other.ID)
			check.NoError(t, platform.Sleep(r.ctx, 5*time.Millisecond))
			r.connector.started = time.Now() // a new process
			w := r.connector.Reply(r.place(r.square), []string{m.ID})
			if c.streamed {
				w.Show("Well,")
				r.until("the edit", func() bool { return r.contents(r.square)[0] == "Well," })
			}
			r.sendAll(w, c.final, m.ID)
			want := r.connector.Split(c.final)
			r.until("the reply, and what is not of it", func() bool {
				got := r.contents(r.square)
				n := slices.Index(got, "older messages were summarized")
				if n >= 0 {
					got = slices.Delete(got, n, n+1)
				}
				return n == 1 && len(got) == len(want)+1 && slices.Equal(got[:len(want)], want) && got[len(want)] == "another answer"
			})
			check.Equal(t, "the first piece is another message", r.sent(r.square)[0].ID, first)
		})
	}
}

func TestTypingShowsUntilTheReplyIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.pauses.typing = 50 * time.Millisecond }).start()
	typing := func() int { return len(r.Requests("POST /channels/" + r.square + "/typing")) }
	for _, c := range []struct {
		name string
		end  func(w *writer)
	}{
		{"an answer", func(w *writer) {
			check.Error(t, check.ErrorOf(w.Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "done"})), nil)
			<-w.Live.Done()
		}},
		{"nothing to be said", func(w *writer) { w.Cancel(); <-w.Live.Done() }},
		{"an answer that was shown before", func(w *writer) {
			n, before := len(r.sent(r.square)), typing()
			w.Show("Well,")
			r.until("the words", func() bool { return len(r.sent(r.square)) > n })
			r.until("typing goes on", func() bool { return typing() >= before+4 })
			check.Error(t, check.ErrorOf(w.Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "Well, done"})), nil)
			<-w.Live.Done()
		}},
	} {
		w := r.connector.Reply(r.place(r.square), nil).(*writer)
		before := typing()
		w.Working()
		r.until("typing, again and again", func() bool { return typing() >= before+4 })
		c.end(w)
		n := typing()
		if err := platform.Sleep(r.ctx, 200*time.Millisecond); err != nil || typing() > n+1 { // one may have been on its way
			t.Errorf("after %s it types on", c.name)
		}
	}
	if all := len(r.Requests("POST /channels/*/typing")); all != typing() {
		t.Errorf("it typed %d times elsewhere", all-typing())
	}
}
