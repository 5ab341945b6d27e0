// What an earlier process left of a reply, and what is deleted again.

package discord

import (
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
)

func TestAnAnswerThatARestartBreaksOffIsFinishedInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	text := slowly(r, 200, 30*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the first words", func() bool { return len(r.sent(r.square)) == 1 })
	r.restart(func() { r.model.Delay = 0 })
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) > 0 && s[0].Content == text })
	r.idle(r.place(r.square))
	check.Equal(t, "messages", len(r.sent(r.square)), 1)
}

func TestTakingBackLeavesTheAnswerThatCameInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	m := r.Say(r.square, r.ann.ID, "a question")
	const posts = "POST /channels/*/messages"
	r.Fail(discordtest.Fault{Route: posts, Cut: true}) // it did not arrive, but nobody knows
	broken := r.connector.Reply(r.place(r.square), []string{m.ID}).(*writer)
	broken.Show("half a thought")
	r.until("the first words to be lost", func() bool { return r.count(posts) == 1 })
	broken.Stop()
	whole := r.connector.Reply(r.place(r.square), []string{m.ID})
	check.Must(whole.Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "the answer", To: []string{m.ID}}))(t)
	broken.deleteStreamed(r.ctx, 0)
	r.answers(r.square, 1)
}

// begun is the writer of an answer that an earlier process may have begun, and of which half is shown.
func (r *rig) begun() (w channel.Writer, question string) {
	r.t.Helper()
	m := r.Say(r.square, r.ann.ID, "question")
	r.heard(r.place(r.square), 1)
	check.NoError(r.t, platform.Sleep(r.ctx, 5*time.Millisecond))
	r.connector.started = time.Now()
	w = r.connector.Reply(r.place(r.square), []string{m.ID})
	w.Show("half an answer")
	r.until("the words", func() bool { return len(r.sent(r.square)) == 1 })
	return w, m.ID
}

// After a failed attempt at an answer comes another one, or a sentence that says so.
func TestWhatIsCanceledIsNotTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	w, question := r.begun()
	r.Fail(discordtest.Fault{Route: "DELETE /channels/*/messages/*", Delay: 500 * time.Millisecond})
	w.Cancel()
	r.sendAll(r.connector.Reply(r.place(r.square), []string{question}), "That did not work.", question)
	r.until("the end of the first attempt", func() bool { return r.count("DELETE /channels/*/messages/*") == 1 })
	r.stop() // what was begun is done
	check.Equal(t, "it says", strings.Join(r.contents(r.square), ", "), "That did not work.")
}

func TestANoticeDoesNotTakeOverTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	w, question := r.begun()
	notice := channel.Piece{Row: 1, Reply: "shortened-1", Parts: 1, Text: "(too long)", To: []string{question}, Failure: true}
	check.Must(r.connector.Reply(r.place(r.square), notice.To).Send(r.ctx, notice))(t)
	r.sendAll(w, "the answer", question)
	check.EqualAll(t, "it says", r.contents(r.square), []string{"the answer", "(too long)"})
}

func TestPiecesStayInOrderWhereTheFirstIsDeleted(t *testing.T) {
	t.Parallel()
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

func TestAReplyThatDidNotComeWhileItGrewIsSentOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}, quick).start()
	m := r.Say(r.square, r.ann.ID, "question")
	r.Fail(discordtest.Fault{Route: "POST /channels/*/messages", Status: 502})
	w := r.connector.Reply(r.place(r.square), []string{m.ID})
	w.Show("hello")
	r.until("it is tried", func() bool { return r.count("POST /channels/"+r.square+"/messages") > 0 })
	r.sendAll(w, "hello", m.ID)
	check.EqualAll(t, "messages", r.contents(r.square), []string{"hello"})
}
