// The menu of a message, and buttons under answers.

package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel/command"
	"cairn/connector/platform"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
)

// buttonsOf returns the ids of the buttons under an answer, by their labels.
func buttonsOf(t testing.TB, m *discordtest.Message) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, raw := range m.Components {
		var row struct{ Components []discordgo.Button }
		check.NoError(t, json.Unmarshal(raw, &row))
		for _, b := range row.Components {
			all[b.Label] = b.CustomID
		}
	}
	return all
}

// press clicks a button under the answer of an interaction, and waits for what it becomes.
func (r *rig) press(user string, i discordtest.Interaction, label, want string) discordtest.Interaction {
	r.T.Helper()
	id := buttonsOf(r.T, i.Answer)[label]
	check.Require(r.T, id != "", "there is no button %s under %+v", label, i.Answer)
	click := r.Click(r.square, user, i.Answer.ID, id)
	changed := check.Soon(func() bool { return strings.Contains(r.Interaction(i.ID).Answer.Content, want) })
	check.Require(r.T, changed, "%s: the answer is %+v, and beside it %+v", label, r.Interaction(i.ID).Answer, r.Interaction(click.ID).Followups)
	return r.Interaction(i.ID)
}

func TestTheMenuOfAMessage(t *testing.T) {
	r := newRig(t, discordtest.Options{Integrations: true})
	ben := r.User("ben")
	r.start().registered()
	said := r.Say(r.square, ben.ID, "The launch is on Friday.")
	r.heard(r.place(r.square), 1)
	choose := func(user, entry string) discordtest.Interaction {
		t.Helper()
		i := r.answered(r.Menu(r.square, user, said.ID, entry))
		check.That(t, ephemeral(i.Answer), "all see %q", i.Answer.Content)
		return i
	}
	i := choose(r.ann.ID, "Remember this")
	check.Contains(t, "it is saved", i.Answer.Content, "Saved as memory 1: The launch is on Friday.")
	check.Contains(t, "whose memory it is", r.tell("/memories about:ben").String(), "The launch is on Friday.")
	i = r.press(r.ann.ID, i, "Forget", "Memory 1 is forgotten")
	i = r.press(r.ann.ID, i, "Undo", "Memory 1 is restored")
	r.press(r.ann.ID, i, "Pin", "Memory 1 is pinned")

	check.Contains(t, "who may not pin", choose(ben.ID, "Pin this").Answer.Content, "only for people who manage this place")
	i = choose(r.ann.ID, "Pin this")
	check.Contains(t, "it is pinned", i.Answer.Content, "Message #1 is pinned")
	r.press(r.ann.ID, i, "Unpin", "Message #1 is no longer pinned")

	other := r.User("eve")
	check.Contains(t, "who may not forget it", choose(other.ID, "Forget this").Answer.Content, "That message is not yours")
	check.Contains(t, "his own", choose(ben.ID, "Forget this").Answer.Content, "I have deleted that message")
	check.Contains(t, "again", choose(r.ann.ID, "Forget this").Answer.Content, "I do not have that message")
	check.Lacks(t, "what is left", r.tell("/memories").String(), "Friday")
}

// A message that the bot has not read comes with its text.
func TestTheMenuOfAnUnknownMessage(t *testing.T) {
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.shards.mentionOnly = true })
	r.start().registered()
	said := r.Say(r.square, r.ann.ID, "The key is under the mat.")
	i := r.answered(r.Menu(r.square, r.ann.ID, said.ID, "Remember this"))
	check.Contains(t, "it is saved", i.Answer.Content, "Saved as memory 1: The key is under the mat.")
	for _, entry := range []string{"Recap from here", "Forget this", "Pin this"} {
		check.Contains(t, entry, r.answered(r.Menu(r.square, r.ann.ID, said.ID, entry)).Answer.Content, "I do not have that message")
	}
	other := r.Say(r.square, r.User("ben").ID, "My birthday is in May.") // he has not asked for that
	check.Contains(t, "of somebody else", r.answered(r.Menu(r.square, r.ann.ID, other.ID, "Remember this")).Answer.Content, "I do not have that message")
	scope := r.Say(r.square, r.ann.ID, "server: the port is 2222")
	check.Contains(t, "a text like an argument", r.answered(r.Menu(r.square, r.ann.ID, scope.ID, "Remember this")).Answer.Content, "server: the port is 2222")
}

func TestEachEntryOfTheMenuIsRegistered(t *testing.T) {
	r := newRig(t, discordtest.Options{}).start().registered()
	known := r.Commands()[len(command.All):]
	check.Equal(t, "entries", len(known), len(command.Menu))
	for i, a := range command.Menu {
		names := *known[i].NameLocalizations
		check.That(t, known[i].Type == discordgo.MessageApplicationCommand && known[i].Name == a.Label && len(names) == 7, "%+v is known as %+v", a, known[i])
	}
}

func TestAnAnswerIsStoppedByItsButton(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Model.Delay = 100 * time.Millisecond // between words
	r.Model.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say("Once upon a time" + strings.Repeat(" there was a king", 500)), nil
	}
	r.start().registered()
	r.ask(r.square, "tell me a story")
	r.until("the beginning", func() bool {
		return len(r.sent(r.square)) == 1 && strings.Contains(r.sent(r.square)[0].Content, "Once upon")
	})
	draft := r.sent(r.square)[0]
	stop := buttonsOf(t, &draft)["Stop"]
	said := r.answered(r.Click(r.square, r.ann.ID, draft.ID, stop))
	check.That(t, ephemeral(said.Answer), "all see %q", said.Answer.Content)
	r.until("the end, without the button", func() bool {
		all := r.sent(r.square)
		return len(all) == 1 && len(all[0].Components) == 0 && strings.Contains(all[0].Content, "Once upon a time")
	})
}

func TestSourcesAreUnderAnAnswer(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Model.Func = func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.RoleTool {
			return llmtest.Say("It is on Friday."), nil
		}
		query := map[string]string{"query": "launch"}
		return llmtest.Use(llmtest.Call("1", "recall", query), llmtest.Call("2", "memory_search", query)), nil
	}
	r.start().registered()
	said := r.Say(r.square, r.ann.ID, "The launch is on Friday.")
	r.heard(r.place(r.square), 1)
	r.tell("/remember the launch is kept secret")
	r.ask(r.square, "when is the launch?")
	r.answersLast(r.square, 1, "It is on Friday.")
	answer := r.sent(r.square)[0]
	id := buttonsOf(t, &answer)["Sources"]
	check.Require(t, id != "", "the answer has no sources: %s", answer.Components)
	shown := r.answered(r.Click(r.square, r.ann.ID, answer.ID, id)).Answer
	check.Contains(t, "sources", shown.Content, "The launch is on Friday.", r.guild.ID+"/"+r.square+"/"+said.ID)
	check.That(t, ephemeral(shown), "all see %q", shown.Content)
	check.Contains(t, "sources", shown.Content, "kept secret")
	r.restart()
	again := r.answered(r.Click(r.square, r.ann.ID, answer.ID, id)).Answer
	check.Equal(t, "after a restart", again.Content, shown.Content)
	r.tell("/forget 1")
	check.Lacks(t, "what was forgotten", r.answered(r.Click(r.square, r.ann.ID, answer.ID, id)).Answer.Content, "kept secret")
}

// Discord says "This interaction failed" if there is no response within 3 seconds.
func TestCallbacksDoNotWaitForTheModel(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Model.Func = func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	}
	r.start().registered()
	said := r.ask(r.square, "are you there?")
	r.until("a request", func() bool { return len(r.Model.Requests()) == 1 })
	var clicks []discordtest.Interaction
	for range 100 {
		clicks = append(clicks, r.Menu(r.square, r.ann.ID, said.ID, "Remember this"), r.Slash(r.square, r.ann.ID, "context"))
	}
	longest := time.Duration(0)
	for _, c := range clicks {
		r.until("a response", func() bool { return !r.Interaction(c.ID).Answered.IsZero() })
		longest = max(longest, r.Interaction(c.ID).Answered.Sub(c.At))
	}
	t.Logf("the longest of %d took %v", len(clicks), longest)
	check.Len(t, "requests", r.Model.Requests(), 1)
}

func TestAnItemOfAListIsChosen(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.start().registered()
	for n := range 12 {
		r.tell(fmt.Sprintf("/remember tea number %d is %s", n, strings.Repeat("green ", 30)))
	}
	list := r.answered(r.Slash(r.square, r.ann.ID, "memories"))
	shown := r.answered(r.Choose(r.square, r.ann.ID, list.Answer.ID, menuID, "/memories show 10")).Answer
	check.That(t, ephemeral(shown) && strings.HasPrefix(shown.Content, "(10) "), "chosen: %q", shown.Content)
	i := discordtest.Interaction{Answer: shown}
	check.EqualAll(t, "its buttons", slices.Sorted(maps.Keys(buttonsOf(t, i.Answer))), []string{"Forget", "Pin"})
	r.Click(r.square, r.ann.ID, list.Answer.ID, buttonsOf(t, list.Answer)["Next"])
	r.until("the next page", func() bool { return strings.Contains(r.Interaction(list.ID).Answer.Content, "(page 2 of 2)") })
	last := r.answered(r.Choose(r.square, r.ann.ID, list.Answer.ID, menuID, "/memories show 1")).Answer
	check.Contains(t, "of the second page", last.Content, "tea number 0")
	r.tell("/forget 1")
	gone := r.answered(r.Choose(r.square, r.ann.ID, list.Answer.ID, menuID, "/memories show 1")).Answer
	check.Contains(t, "of a memory that is forgotten", gone.Content, "has no memory 1")
}

// A button that was pressed runs its command, whatever it is about.
func TestEachButtonIsKnown(t *testing.T) {
	for _, a := range command.Actions {
		line := "/" + a.Command + " 123456789"
		for _, beside := range []bool{false, true} {
			all := commandButtons([]command.Button{{Label: a.Command, Line: line, Beside: beside}})
			check.Require(t, len(all) == 1, "%s has no button", line)
			runs, _, ok := parseCustomID(all[0].(discordgo.Button).CustomID)
			check.That(t, ok && runs == line && platform.KnowsButton(runs), "the button of %s runs %q", line, runs)
		}
	}
}
