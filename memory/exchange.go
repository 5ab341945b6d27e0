// Exchange: the format of exported memories.

package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/store"
)

// Exported is a memory in a file: complete, with its messages in a form by which another data
// folder recognizes them.
type Exported struct {
	Memory
	Messages []Source `json:"messages"`
}

// Source is a message that a memory came from.
type Source struct {
	Seq  int64     `json:"seq"`
	ID   string    `json:"id"` // the platform's; empty: it has none
	Time time.Time `json:"time"`
}

// Export calls do for each memory that f selects, oldest row first, on one snapshot of the
// database. It ignores Query, Sort, Limit and Offset. The messages are complete. ErrNotFound: there is no
// such conversation.
func (ms Memories) Export(ctx context.Context, f Filter, do func(Exported, []chat.Message) error) error {
	f.Sort = "id"
	return ms.view(ctx, "export memories", f, func(tx *store.Tx, f Filter) error {
		all, err := newest(tx, f)
		if err != nil {
			return err
		}
		for _, one := range all {
			m, from, err := readComplete(tx, one.id)
			if err != nil {
				return err
			}
			e := Exported{Memory: m, Messages: []Source{}}
			for _, said := range from {
				e.Messages = append(e.Messages, Source{said.Seq, said.ID, said.Time.UTC()})
			}
			if err := do(e, from); err != nil {
				return err
			}
		}
		return nil
	})
}

// complete fills in optional fields, and returns an error if one is invalid.
func (e *Exported) complete() error {
	d := draft{MemoryDraft: summarize.MemoryDraft{Content: e.Content, Kind: e.Kind, Importance: e.Importance}}
	if err := checkContent(&d); err != nil {
		return err
	}
	e.Content, e.Importance = d.Content, d.Importance
	e.State, e.By, e.Reach = cmp.Or(e.State, "active"), cmp.Or(e.By, byPerson), cmp.Or(e.Reach, "channel")
	if e.State == "expired" { // expires_at determines that
		e.State = "active"
	}
	if e.By == "built-in" { // its name in exports of earlier versions
		e.By = byExtractive
	}
	e.About, e.Confirmed = cmp.Or(e.About, e.Speaker), max(e.Confirmed, 1)
	if e.SavedAt.IsZero() {
		e.SavedAt = e.SaidAt
	}
	switch {
	case !slices.Contains([]string{"active", "superseded", "forgotten", "replaced"}, e.State):
		return fmt.Errorf("there is no state %q: use one of active, expired, superseded, forgotten, replaced", e.State)
	case !slices.Contains([]string{byWorker, byExtractive, byAssistant, byPerson}, e.By):
		return fmt.Errorf("by is %q: use one of worker, extractive, assistant, person", e.By)
	case e.Reach != "channel" && e.Reach != "server":
		return fmt.Errorf(`reach is %q: it is "channel" or "server"`, e.Reach)
	case !strings.Contains(e.Conversation, ":") || len(e.Conversation) > store.MaxName:
		return fmt.Errorf(`channel is %q: it must be the whole name of a conversation, as "terminal:general" or "discord:SERVER/CHANNEL"`, e.Conversation)
	case e.SaidAt.IsZero():
		return errors.New(`said_at is missing: it looks like "2023-05-08T13:56:00Z"`)
	}
	return nil
}
