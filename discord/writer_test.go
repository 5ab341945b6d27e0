// What an earlier process left of a reply, what is deleted again, results of tasks, questions and marks.

package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestAnAnswerThatARestartBreaksOffIsFinishedInItsPlace(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	text := slowly(r, 200, 30*time.Millisecond)
	r.ask(r.square, "tell me slowly")
	r.until("the first words", func() bool { return len(r.sent(r.square)) == 1 })
	r.restart(func() { r.Model.Delay = 0 })
	r.until("the whole reply", func() bool { s := r.sent(r.square); return len(s) > 0 && s[0].Content == text })
	r.Idle(r.place(r.square))
	check.Equal(t, "messages", len(r.sent(r.square)), 1)
}

func TestTakingBackLeavesTheAnswerThatCameInItsPlace(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	m := r.Say(r.square, r.ann.ID, "a question")
	const posts = "POST /channels/*/messages"
	r.Fail(discordtest.Fault{Of: posts, Cut: true}) // it did not arrive, but nobody knows
	broken := r.connector.Reply(r.place(r.square), []string{m.ID}).(*writer)
	broken.Show("half a thought")
	r.until("the first words to be lost", func() bool { return r.count(posts) == 1 })
	broken.Stop()
	whole := r.connector.Reply(r.place(r.square), []string{m.ID})
	check.Must(whole.Send(r.ctx, channel.Piece{Reply: "r", Parts: 1, Text: "the answer", To: []string{m.ID}}))(t)
	broken.deleteStreamed(r.ctx, 0)
	r.answers(r.square, 1)
}

func TestWhatIsNoAnswerTakesOverNone(t *testing.T) {
	r := newRig(t, discordtest.Options{}, quick).start()
	half := func(place string) (w channel.Writer, question string) { // maybe by an earlier process; half of the answer is shown
		m := r.Say(place, r.ann.ID, "question")
		r.heard(r.place(place), 1)
		check.NoError(t, platform.Sleep(r.ctx, 5*time.Millisecond))
		r.connector.started = time.Now()
		w = r.connector.Reply(r.place(place), []string{m.ID})
		w.Show("half an answer")
		r.until("the words", func() bool { return len(r.sent(place)) == 1 })
		return w, m.ID
	}
	w, question := half(r.square)
	notice := channel.Piece{Row: 1, Reply: "shortened-1", Parts: 1, Text: "(too long)", To: []string{question}, Failure: true}
	check.Must(r.send(r.place(r.square), notice))(t)
	check.That(t, r.sent(r.square)[1].MessageReference == nil, "a notice replies to the question")
	r.sendAll(w, "the answer", question)
	check.EqualAll(t, "it says", r.contents(r.square), []string{"the answer", "(too long)"})

	place := r.Channel(r.guild.ID, "place").ID
	w, question = half(place) // after a failed attempt at an answer comes another one, or a sentence that says so
	r.Fail(discordtest.Fault{Of: "DELETE /channels/*/messages/*", Delay: 300 * time.Millisecond})
	w.Cancel()
	r.sendAll(r.connector.Reply(r.place(place), []string{question}), "That did not work.", question)
	r.until("the end of the first attempt", func() bool { return r.count("DELETE /channels/*/messages/*") == 1 })
	r.stop() // what was started ends
	check.EqualAll(t, "it says", r.contents(place), []string{"That did not work."})
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

func TestResultOfATaskIsAnswered(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Model.Func, r.Helper = channeltest.Delegate, &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("42"), nil }}
	r.start()
	r.ask(r.square, "count")
	check.EqualAll(t, "answers", r.answers(r.square, 2), []string{"started", "they say 42"})
	r.Idle(r.place(r.square))
	place := r.Channel(r.guild.ID, "place").ID
	for n, text := range []string{"go", "go on"} {
		r.ask(place, text)
		r.answersLast(place, n+1, "started")
	}
	r.Idle(r.place(place))
	questions := r.heard(r.place(place), 2)
	r.restart(func() { r.ask(r.square, "back?") }) // said while the bot is away after it
	r.answersLast(r.square, 3, "yes")
	for i, sending := range []bool{false, true} { // it replaces no answer, when it is sent and when it may have been sent
		piece := channel.Piece{Row: 99, Reply: fmt.Sprint("reply-", i), Parts: 1, Text: fmt.Sprint("they say ", i), To: []string{questions[i].ID}, Sending: sending}
		check.Must(r.send(r.place(place), piece))(t)
	}
	check.EqualAll(t, "answers", r.answers(place, 4), []string{"started", "started", "they say 0", "they say 1"})
}

func TestAToolIsAllowedByAButton(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.Tools, r.Model.Func = box, channeltest.Add
	bob := r.User("bob")
	r.Rules.Access = map[string]channel.Access{"discord": {Owners: []string{r.ann.ID}}}
	r.start().registered()
	r.ask(r.square, "please add")
	r.until("the question", func() bool {
		s := r.contents(r.square)
		return len(s) > 0 && strings.Contains(s[0], "May I call calc_add")
	})
	question := r.sent(r.square)[0]
	_, rest, _ := strings.Cut(string(check.Must(json.Marshal(question.Components))(t)), `"custom_id":"`)
	allow, _, _ := strings.Cut(rest, `"`)
	check.Contains(t, "a stranger is told", r.privately(r.Click(r.square, bob.ID, question.ID, allow)), "people who manage this place")
	check.Len(t, "calls that a stranger allowed", box.Called(), 0)
	r.Click(r.square, r.ann.ID, question.ID, allow)
	r.until("the answer", func() bool {
		all := r.sent(r.square)
		return strings.Contains(all[len(all)-1].Content, "The tool says: five") && strings.Contains(all[0].Content, "ann allowed the call of calc_add") && len(all[0].Components) == 0
	})
}

// marks are the reactions on the messages of the square, all on one of them.
func (r *rig) marks(id string) (names []string) {
	for _, m := range r.Messages(r.square) {
		for _, reaction := range m.Reactions {
			check.That(r.T, m.ID == id, "a mark stands on %q", m.Content)
			names = append(names, fmt.Sprintf("%s%d", reaction.Emoji.Name, reaction.Count))
		}
	}
	return names
}

const reactions = "PUT /channels/*/messages/*/reactions/*/@me"

func TestACompactionIsMarkedOnTheNewestMessage(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start()
	for i := range 12 {
		r.Say(r.square, r.ann.ID, fmt.Sprintf("message %d %s", i, strings.Repeat("the quick brown fox ", 20)))
	}
	newest := r.ask(r.square, "hello").ID
	r.answers(r.square, 1)
	r.heard(r.place(r.square), 13)
	r.Fail(
		discordtest.Fault{Of: reactions, Status: 429, RetryAfter: 50 * time.Millisecond},
		discordtest.Fault{Of: reactions, Cut: true, Done: true}, // the answer is lost
	)
	r.tell("/settings compaction.notify reaction")
	r.Idle(r.place(r.square))
	text := r.tell("/compact").Then(r.ctx)
	check.HasPrefix(t, "the result", text, "Summarized")
	r.until("the mark", func() bool { return len(r.marks(newest)) > 0 && r.count(reactions) > 2 })
	r.restart() // waits for what still asks
	check.EqualAll(t, "the marks", r.marks(newest), []string{summarizedReaction + "1"})
	check.Equal(t, "requests", r.count(reactions), 3)
	check.Equal(t, "the bot has said things", len(r.sent(r.square)), 1)

	place := r.Channel(r.guild.ID, "place").ID
	r.Deny(place, discordgo.PermissionAddReactions)
	m := r.Say(place, r.ann.ID, "hello")
	for range 3 { // it is told once that it may not
		check.NoError(t, r.connector.React(r.ctx, r.place(place), m.ID))
	}
	check.Equal(t, "refusals logged", strings.Count(r.Log.String(), "reaction_refused"), 1)
	check.Contains(t, "the log", r.Log.String(), "level=WARN msg=reaction_refused", "Add Reactions", place)
}
