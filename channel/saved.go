package channel

import (
	"context"
	"fmt"
	"strings"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

// What people see when the model saves a memory while it answers.

// How they see it.
const (
	SaveNoticeReaction = "reaction" // on the message
	SaveNoticeLine     = "line"     // below the answer, with buttons that undo it

	maxUndo      = 5   // buttons below a line
	maxSavedText = 100 // characters of a memory in a line
)

// savedInTurn reports a memory that the model of the running turn has saved.
func (c *conversation) savedInTurn(m memory.Memory) {
	c.remembered(m.ID, m.Kind, m.Content)
	if turn := c.turn.Load(); turn != nil {
		turn.saved = append(turn.saved, m)
	}
}

// noticeSaved shows people of an answer what was saved during it, as the settings say.
func (t *turn) noticeSaved(ctx context.Context) {
	saved := t.saved
	t.saved = nil
	how := t.agent.SaveNotice
	if len(saved) == 0 || t.task != nil || how != SaveNoticeLine && how != SaveNoticeReaction {
		return
	}
	out, err := store.View(ctx, t.records, "look who has opted out", func(tx *store.Tx) bool { return t.records.People(tx).AnyOutHere() })
	switch {
	case err != nil:
		t.log.Warn("notify_failed", "notice", "saved memories", "error", err)
	case out:
	case how == SaveNoticeReaction && len(t.To) > 0:
		t.sender.react(t.To[len(t.To)-1], ReactionRemembered)
	case how == SaveNoticeLine:
		id := replyID{kind: replySaved, of: number(t.Seq), language: t.language()}
		var lines []string
		for _, m := range saved {
			id.memories = append(id.memories, number(m.ID))
			lines = append(lines, fmt.Sprintf("%d: %s", m.ID, strings.TrimSuffix(chat.Excerpt(m.Content, maxSavedText), ".")))
		}
		text := t.speaker().Sayf("(I have saved this as memory %s. /forget %d undoes that.)", lines[0], saved[0].ID)
		if len(lines) > 1 {
			text = t.speaker().Sayf("(I have saved these as memories: %s. /forget and a number undoes one.)", strings.Join(lines, "; "))
		}
		if err := t.sender.post(ctx, id.String(), text); err != nil {
			t.log.Warn("notify_failed", "notice", id.String(), "error", err)
		}
	}
}

// undoButtons returns the buttons below a line about memories.
func undoButtons(undo string, memories []string) (all []Button) {
	for _, id := range memories[:min(len(memories), maxUndo)] {
		label := undo
		if len(memories) > 1 {
			label += " " + id
		}
		all = append(all, Button{Label: label, Line: "/forget " + id})
	}
	return all
}
