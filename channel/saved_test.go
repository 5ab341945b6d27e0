package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// savingRig has a model that saves memories with these contents, and then answers.
func savingRig(t testing.TB, notice string, contents ...string) *rig {
	r := newRig(t, nil)
	var list []map[string]any
	for _, content := range contents {
		list = append(list, map[string]any{"content": content, "kind": "preference"})
	}
	r.model.Func = inTurn(useTool("memory_save", map[string]any{"memories": list}), llmtest.Say("noted"))
	r.agent.SaveNotice = notice
	r.reopen()
	return r
}

func TestPeopleSeeWhatTheModelSaves(t *testing.T) {
	t.Run("by a line below the answer, whose button undoes it", func(t *testing.T) {
		r := savingRig(t, channel.SaveNoticeLine, "Ada likes green tea")
		r.say("I like green tea", true)
		r.waitForReplies()
		check.EqualAll(t, "sent", r.connector.texts(), []string{"noted", "(I have saved this as memory 1: Ada likes green tea. /forget 1 undoes that.)"})
		buttons := channel.Buttons(r.connector.sent[1])
		check.EqualAll(t, "buttons", buttons, []command.Button{{Label: "Undo", Line: "/forget 1"}})
		check.EqualAll(t, "the transcript has no line", r.turns(), []string{"1 user: I like green tea", "1 assistant:", "1 tool: found", "1 assistant: noted"})
		r.says(bo, place, buttons[0].Line, "did not come from you")
		r.says(ada, place, buttons[0].Line, "Memory 1 is forgotten")
		r.restart()
		r.ask("and what else?") // a turn that saves nothing
		check.Len(t, "sent", r.connector.texts(), 3)
	})
	t.Run("several in one line, with a button each", func(t *testing.T) {
		r := savingRig(t, channel.SaveNoticeLine, "Ada likes green tea", "Ada lives in Turin")
		r.say("I like green tea, and live in Turin", true)
		r.waitForReplies()
		check.Equal(t, "the line", r.lastText(), "(I have saved these as memories: 1: Ada likes green tea; 2: Ada lives in Turin. /forget and a number undoes one.)")
		buttons := channel.Buttons(r.connector.sent[1])
		check.EqualAll(t, "buttons", buttons, []command.Button{{Label: "Undo 1", Line: "/forget 1"}, {Label: "Undo 2", Line: "/forget 2"}})
	})
	t.Run("not without the setting, nor where somebody has opted out, nor of what is known", func(t *testing.T) {
		for _, notice := range []string{"", "off"} {
			r := savingRig(t, notice, "Ada likes green tea")
			r.ask("I like green tea")
			check.Len(t, "sent", r.connector.texts(), 1)
		}
		r := savingRig(t, channel.SaveNoticeLine, "Ada likes green tea")
		r.sayAs(bo.ID, bo.Name, place, "hello")
		r.says(bo, place, "/optout", "From now on")
		r.ask("I like green tea")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"noted"})
		check.Contains(t, "memories", r.says(ada, place, "/memories"), "green tea")
		r = savingRig(t, channel.SaveNoticeLine, "Ada likes green tea")
		r.says(ada, place, "/remember Ada likes green tea", "memory 1")
		r.ask("I like green tea")
		check.Lacks(t, "sent", strings.Join(r.connector.texts(), "|"), "I have saved")
	})
	t.Run("by a reaction on the message", func(t *testing.T) {
		c := &silentConnector{}
		r := savingRig(t, channel.SaveNoticeReaction, "Ada likes green tea").throughConnector(c)
		r.say("I like green tea", true)
		r.connector.until(t, "the reaction", func() bool { return len(c.marks) == 1 })
		check.EqualAll(t, "reactions", c.marks, []string{place + " m1"})
		r.waitForReplies()
		check.EqualAll(t, "sent", r.connector.texts(), []string{"noted"})
	})
}
