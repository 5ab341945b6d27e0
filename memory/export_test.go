package memory

import (
	"cairn/compactor/summarize"
	"cairn/store"
)

// What the tests of this package use besides what it exports.

const (
	Lasting      = lasting
	PassageShown = maxPassage
	Examined     = examined
	MaxCached    = maxCached
)

var (
	EndOf        = endOf
	ErrUnsaid    = errUnsaid
	MostCompared = mostCompared
	SameFact     = sameFact
)

// Closest returns the id of the memory that is most like a content, said by somebody; 0: none is.
func Closest(c *store.Conversation, tx *store.Tx, content, by string) int64 {
	d := draftOf(summarize.MemoryDraft{Kind: "fact", Content: content}, byAssistant)
	d.Speaker = by
	d.About = by
	return closest(c, tx, d).ID
}

// SettleSlot settles the whole slot of a memory.
func SettleSlot(c *store.Conversation, tx *store.Tx, id int64) { settle(c, tx, tx.Memories().Get(id)) }

// CheckDraft checks a draft of the assistant from messages up to seq. The result checks it once more.
func CheckDraft(c *store.Conversation, tx *store.Tx, m summarize.MemoryDraft, seq int64) (again func(tx *store.Tx)) {
	d := draftOf(m, byAssistant)
	tx.Fail(checkDraft(c, tx, &d, 1, seq))
	return func(tx *store.Tx) { tx.Fail(recheck(c, tx, &d)) }
}
