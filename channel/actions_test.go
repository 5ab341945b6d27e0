package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/testkit/channeltest"
	"cairn/testkit/llmtest"
)

// found has the commands of the buttons and lists that people have seen.
type found struct{ buttons, choices []string }

func (f *found) add(buttons []channel.Button) {
	for _, b := range buttons {
		f.buttons = append(f.buttons, b.Line)
	}
}

// runs runs commands, and notes what their answers offer.
func (f *found) runs(r *rig, lines ...string) {
	for _, line := range lines {
		answer := r.runAs(boss, place, line)
		f.add(answer.Buttons)
		for _, c := range answer.Choices(0) {
			f.choices = append(f.choices, c.Value)
		}
		if answer.Then != nil {
			f.add(answer.Then(r.t.Context()).Buttons)
		}
	}
}

// TestActionsAreOffered finds each action that the table offers by a button, or in the menu under a list, without writing a number.
func TestActionsAreOffered(t *testing.T) {
	var f found
	r := newRig(t, echo)
	r.model.Tokens = 8000
	r.setFilePolicy(func(p *compactor.Policy) { p.StackBudget = 0.02 })
	r.withWorker(always(summary("Ada: note 1 word, note 2 word" + strings.Repeat(" word", 40))))
	r.sendNotes(40)
	f.runs(r, "/compact", "/summaries", "/summaries 1", "/undo")
	for range 8 { // so that summaries are summarized
		r.sendNotes(20)
		f.runs(r, "/compact")
	}
	f.runs(r, "/summaries")
	f.runs(r, f.choices...)
	for _, line := range f.choices {
		f.runs(r, strings.Replace(line, "summaries", "expand", 1))
	}
	f.runs(r, "/pin #5", "/unpin #5", "/remember the tea is green", "/memories", "/memories pin 1", "/forget 1", "/memories restore 1")
	f.add(channel.StopButton(nil, ""))

	asks := newRig(t, nil)
	asks.withTools(channel.ApproveAlways)
	asks.say("please add", true)
	f.add(asks.question(1))

	looks := newRig(t, inTurn(useTool("recall", map[string]any{"query": "tea"}), llmtest.Say("green")))
	looks.say("the tea is green", false)
	looks.say("which tea?", true)
	looks.waitForReplies()
	for _, p := range looks.connector.sent {
		f.add(channel.Buttons(p))
	}
	channeltest.Offers(t, command.ByButton, f.buttons)
	channeltest.Offers(t, command.InList, f.choices)
}
