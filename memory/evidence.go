// Evidence: whether the messages that a model names as the sources of a memory support it. The judge of summary lines decides.

package memory

import (
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/words"
	"cairn/store"
)

// checkEvidence drops the sources of a draft that say nothing of it. It returns an error if none is left, if they are of other people
// than those whom the draft names, if they have other numbers or dates, or if it names somebody of whom nobody has heard.
func checkEvidence(c *store.Conversation, tx *store.Tx, d *draft) error {
	if d.By == byPerson || d.By == byExtractive || len(d.sources) == 0 { // people are believed, and extracts quote
		return nil
	}
	members := c.People(tx).Members()
	j := judge.Of(evidenceOf(c, tx, d), slices.DeleteFunc(members, common)...).With("", d.prompt)
	s := j.Support(d.stated(), d.About, seqsOf(d.sources))
	if len(s.Seqs) == 0 {
		return fmt.Errorf("message %s says nothing of it: name in messages those that say it, in their words, or save nothing", list(d.sources))
	}
	d.sources = slices.DeleteFunc(d.sources, func(m chat.Message) bool { return !slices.Contains(s.Seqs, m.Seq) })
	if s.Wrong != "" {
		return fmt.Errorf("message %s does not say it: %s. Copy names, numbers and dates exactly, and name the messages that have them", list(d.sources), s.Wrong)
	}
	for _, name := range s.Names {
		if !isMentioned(c, tx, name) {
			return fmt.Errorf("no message mentions %s, and nobody here is called that: save it without this name, or save nothing", name)
		}
	}
	if !s.About && slices.ContainsFunc(members, func(name string) bool { return strings.EqualFold(name, d.About) }) {
		d.About = ""
	}
	return nil
}

// evidenceOf returns the sources of a draft, what they answer, and the summaries that its maker read in their place.
func evidenceOf(c *store.Conversation, tx *store.Tx, d *draft) []summarize.Item {
	var around []chat.Message
	for _, m := range d.sources {
		around = append(around, answered(c, tx, m)...)
	}
	items := summarize.ItemsOf(inOrder(slices.Concat(around, d.sources)), summarize.MaxMessage)
	for _, row := range d.read {
		items = append(items, summarize.ItemsOfRow(row, summarize.MaxMessage)...)
	}
	return items
}

// answered returns the messages that a message may answer: the one that it replies to, or else those just before it.
func answered(c *store.Conversation, tx *store.Tx, m chat.Message) []chat.Message {
	if m.ReplySeq != 0 {
		return c.Messages(tx).At(m.ReplySeq)
	}
	const back = 3
	return c.Messages(tx).Spoken(max(m.Seq-back, 1), m.Seq-1)
}

// isMentioned reports whether any message that the conversation recalls has a name.
func isMentioned(c *store.Conversation, tx *store.Tx, name string) bool {
	in := tx.MemoriesIn(scopeOf(c, tx))
	return !slices.ContainsFunc(words.Content(name), func(term string) bool { return !in.Mentioned(term) })
}

func list(messages []chat.Message) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(seqsOf(messages)), " ", ", "), "[]")
}
