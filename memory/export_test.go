package memory

import (
	"cairn/compactor/summarize"
	"cairn/store"
)

// What the tests of this package use besides what it exports.

const (
	IsHere       = isHere
	Lasting      = lasting
	MaxContent   = maxContent
	PassageShown = passageShown
	Retire       = retire
	WasRead      = wasRead
)

var (
	EndOf     = endOf
	ErrUnsaid = errUnsaid
	FactWords = factWords
	SameFact  = sameFact
)

type Draft = draft

// DraftOf returns a draft by a maker, of a speaker by the platform's id, until a time in milliseconds.
func DraftOf(m summarize.MemoryDraft, by, speaker string, expires int64) Draft {
	return draft{MemoryDraft: m, by: by, folded: m.Content, speakerID: speaker, expires: expires}
}

func CheckDraft(c *store.Conversation, tx *store.Tx, d *Draft, from, to int64) error {
	return checkDraft(c, tx, d, from, to)
}

func Recheck(c *store.Conversation, tx *store.Tx, d *Draft) error { return recheck(c, tx, d) }

func Insert(c *store.Conversation, tx *store.Tx, d Draft) error {
	_, err := insertMemory(c, tx, d)
	return err
}
