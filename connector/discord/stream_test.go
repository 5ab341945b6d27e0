// Streamed replies: their pace, and that the final text wins.

package discord

import (
	"context"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func slowly(r *rig, words int, delay time.Duration) (text string) {
	text = wordsOf(words)
	r.Model.Delay = delay
	r.Model.Func = func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say(text), nil }
	return text
}

func quick(d *Discord) {
	d.pauses.firstPost = 10 * time.Millisecond
	d.pauses.edit = 50 * time.Millisecond
}

// recording is a connector whose requests are recorded, without a network.
type recording struct {
	*Discord
	mu    sync.Mutex                 // guards the others
	times map[string][]time.Duration // of requests, by method and end of the path
	text  string                     // the latest
}

func recorded(t *testing.T) *recording {
	t.Helper()
	r := &recording{times: map[string][]time.Duration{}}
	begin := time.Now()
	r.Discord = offline(t, func(q *http.Request) (int, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		kind := q.Method + " " + path.Base(q.URL.Path)
		r.times[kind] = append(r.times[kind], time.Since(begin))
		if q.Body != nil {
			body, _ := io.ReadAll(q.Body) // it is in memory
			r.text = read[message](body).text()
		}
		return 200, `{"id":"1","content":` + strconv.Quote(r.text) + `}`
	})
	return r
}

func (r *recording) came(kind string) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.times[kind]
}

func TestAReplyGrowsByEditsThatKeepTheirDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := recorded(t)
		w := d.Reply("discord:9/20", nil)
		for n := range 100 {
			w.Show(wordsOf(n + 1))
			time.Sleep(50 * time.Millisecond)
		}
		check.Must(w.Send(t.Context(), channel.Piece{Reply: "r", Parts: 1, Text: wordsOf(101)}))(t)
		check.EqualAll(t, "it was posted", d.came("POST messages"), []time.Duration{d.pauses.firstPost})
		edits := d.came("PATCH 1")
		check.Len(t, "edits", edits, 4)
		for i, at := range edits {
			check.Equal(t, "an edit", at, d.pauses.firstPost+time.Duration(i+1)*d.pauses.edit)
		}
		check.Equal(t, "the last edit", d.text, wordsOf(101))
	})
	synctest.Test(t, func(t *testing.T) { // what is short is posted whole
		d := recorded(t)
		w := d.Reply("discord:9/20", nil)
		w.Show("hel")
		time.Sleep(d.pauses.firstPost / 2)
		check.Must(w.Send(t.Context(), channel.Piece{Reply: "r", Parts: 1, Text: "hello"}))(t)
		check.Len(t, "posts", d.came("POST messages"), 1)
		check.Len(t, "edits", d.came("PATCH 1"), 0)
		check.Equal(t, "it says", d.text, "hello")
	})
}

func TestTypingShowsUntilTheReplyIsSent(t *testing.T) {
	send := func(t *testing.T, w *writer) {
		check.Must(w.Send(t.Context(), channel.Piece{Reply: "r", Parts: 1, Text: "Well, done"}))(t)
	}
	for claim, end := range map[string]func(t *testing.T, w *writer){
		"an answer":          send,
		"nothing to be said": func(_ *testing.T, w *writer) { w.Cancel() },
		"an answer that was shown before": func(t *testing.T, w *writer) {
			w.Show("Well,")
			time.Sleep(time.Second)
			send(t, w)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := recorded(t)
			w := d.Reply("discord:9/20", nil).(*writer)
			w.Working()
			time.Sleep(3*d.pauses.typing + time.Second)
			end(t, w)
			time.Sleep(time.Minute)
			want := []time.Duration{0, d.pauses.typing, 2 * d.pauses.typing, 3 * d.pauses.typing}
			check.EqualAll(t, claim+": it typed", d.came("POST typing"), want)
		})
	}
}

func TestAReplyIsSentOnceTheConnectorRuns(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	m := r.Say(r.square, r.ann.ID, "question")
	r.open()
	for i, text := range []string{"the first half", "the second ha"} { // streamed by an earlier process, while this one stood by
		check.Must(r.connector.poster.create(r.ctx, r.square, newPost(r.square, text, replyTarget(i, []string{m.ID}), nonce(text)), false))(t)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := r.connector.Reply(r.place(r.square), []string{m.ID}).Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "The answer.", To: []string{m.ID}})
		sent <- err
	}()
	check.NoError(t, platform.Sleep(r.ctx, 50*time.Millisecond))
	r.Run()
	check.NoError(t, <-sent)
	check.EqualAll(t, "messages", r.contents(r.square), []string{"The answer."})
}

func TestTheFinalTextWinsWhateverMeetsTheStream(t *testing.T) {
	t.Parallel()
	const posts, edits = "POST /channels/*/messages", "PATCH /channels/*/messages/*"
	for name, faults := range map[string][]discordtest.Fault{
		"edits that fail one after the other": {
			{Of: edits, Status: 429, RetryAfter: 150 * time.Millisecond, Skip: 1},
			{Of: edits, Delay: 200 * time.Millisecond}, // it hangs
			{Of: edits, Status: 502, Done: true, Times: 2},
			{Of: "POST /channels/*/typing", Status: 403, Code: 50013, Times: 9}, // nobody sees it type
		},
		"a 429 for all routes":                  {{Of: edits, Status: 429, RetryAfter: 250 * time.Millisecond, Global: true}},
		"a first message without an answer":     {{Of: posts, Cut: true, Done: true}},
		"a second message that came and failed": {{Of: posts, Status: 502, Done: true, Skip: 1}},
		"a second message that did not come":    {{Of: posts, Status: 502, Skip: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, discordtest.Options{}, quick).start()
			text := slowly(r, 40, 15*time.Millisecond)
			if faults[0].Skip > 0 && faults[0].Of == posts {
				text = slowly(r, 400, 2*time.Millisecond)
			}
			r.Fail(faults...)
			m := r.ask(r.square, "tell me slowly")
			r.shows(r.square, text)
			r.Idle(r.place(r.square))
			check.Equal(t, "messages", len(r.Sent(r.square)), len(r.connector.Split(text)))
			for i, piece := range r.sent(r.square) { // only the first refers to the question
				check.Equal(t, "it refers to the question", piece.MessageReference != nil && piece.MessageReference.MessageID == m.ID, i == 0)
			}
		})
	}
}

func wordsOf(n int) string { return strings.Join(numbered("word", n), " ") }

// shows waits until the bot's messages say just the pieces of a text.
func (r *rig) shows(place, text string) {
	r.T.Helper()
	r.until("all pieces", func() bool { return slices.Equal(r.contents(place), r.connector.Split(text)) })
}

func (r *rig) sendAll(w channel.Writer, text string, to ...string) {
	r.T.Helper()
	pieces := r.connector.Split(text)
	for i, piece := range pieces {
		check.Must(w.Send(r.ctx, channel.Piece{Reply: "r", Part: i, Parts: len(pieces), Text: piece, To: to}))(r.T)
	}
}

func TestEveryPieceOfALongReplyGrowsWhileItIsWritten(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	for name, final := range map[string]string{
		"and is finished in its place":          wordsOf(1000),
		"and goes if the reply ends shorter":    wordsOf(300),
		"and leaves one if it is short at last": "Sorry, no.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := r.Channel(r.guild.ID, "place").ID
			w := r.connector.Reply(r.place(place), nil)
			for _, n := range []int{10, 400, 700} { // one piece, two, three
				w.Show(wordsOf(n))
				r.shows(place, wordsOf(n))
			}
			first := r.sent(place)
			r.Fail(discordtest.Fault{Of: "DELETE /channels/" + place + "/messages/*", Delay: 100 * time.Millisecond})
			r.sendAll(w, final)
			check.EqualAll(t, "the messages when it is sent", r.contents(place), r.connector.Split(final))
			for i, m := range r.sent(place) {
				check.That(t, i >= len(first) || m.ID == first[i].ID, "piece %d is another message", i)
			}
		})
	}
}

// TestPiecesThatAnEarlierProcessStreamedAreTakenOver is the crash while the second piece of a reply was streamed.
func TestPiecesThatAnEarlierProcessStreamedAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, final := range map[string]string{"by a reply that is sent": wordsOf(500), "by a shorter one, streamed": "Short."} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, discordtest.Options{}, quick).start()
			m := r.Say(r.square, r.ann.ID, "question")
			create := func(text, to string) string {
				return check.Must(r.connector.poster.create(r.ctx, r.square, newPost(r.square, text, to, nonce(text)), false))(t).ID
			}
			first := create("the first half", m.ID)
			r.Say(r.square, r.ann.ID, "chatter")
			r.heard(r.place(r.square), 2)
			outcome := store.Outcome{Reply: "a notice", Pieces: []string{"older messages were summarized"}, Failure: true}
			check.NoError(t, storetest.Find(t, r.Store, r.place(r.square)).Outbox().Post(r.ctx, outcome))
			r.restart() // so that it is posted
			r.Idle(r.place(r.square))
			create("the second ha", "")
			other := r.Say(r.square, r.ann.ID, "another question")
			create("another answer", other.ID)
			check.NoError(t, platform.Sleep(r.ctx, 5*time.Millisecond))
			r.connector.shards.list()[0].opened = time.Now() // a new process
			w := r.connector.Reply(r.place(r.square), []string{m.ID})
			if final == "Short." {
				w.Show("Well,")
				r.until("the edit", func() bool { return r.contents(r.square)[0] == "Well," })
			}
			r.sendAll(w, final, m.ID)
			want := append(r.connector.Split(final), "another answer")
			r.until("the reply, and what is not of it", func() bool {
				got := r.contents(r.square)
				n := slices.Index(got, "older messages were summarized")
				return n == 1 && slices.Equal(slices.Delete(got, 1, 2), want)
			})
			check.Equal(t, "the first piece is another message", r.sent(r.square)[0].ID, first)
		})
	}
}

func TestPiecesStayInOrderWhereTheFirstIsDeleted(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	for name, shown := range map[string]bool{"before the stream notices": false, "after it noticed": true} {
		t.Run(name, func(*testing.T) {
			place := r.Channel(r.guild.ID, "place").ID
			w := r.connector.Reply(r.place(place), nil)
			w.Show(wordsOf(400))
			r.shows(place, wordsOf(400))
			r.Delete(place, r.sent(place)[0].ID)
			if shown {
				edits := r.count("PATCH /channels/*/messages/*")
				w.Show("Well, " + wordsOf(400))
				r.until("an edit", func() bool { return r.count("PATCH /channels/*/messages/*") > edits })
			}
			r.sendAll(w, "So, "+wordsOf(500))
			r.shows(place, "So, "+wordsOf(500))
		})
	}
	t.Run("and where their thread is archived", func(*testing.T) {
		thread := r.Thread(r.square, r.ann.ID, "plans").ID
		w := r.connector.Reply(r.place(r.square)+"/"+thread, nil)
		w.Show(wordsOf(400))
		r.shows(thread, wordsOf(400))
		r.Archive(thread, false)
		r.sendAll(w, wordsOf(500))
		r.shows(thread, wordsOf(500))
	})
}
