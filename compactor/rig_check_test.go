// What has to be true of a conversation at any time, on disk and in memory.

package compactor_test

import (
	"context"
	"fmt"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/store"
	"cairn/transcript"
)

// strict returns what a strict provider would reject.
func strict(messages []llm.Message) string {
	if why := compactor.Refused(messages); why != "" {
		return why
	}
	if n := len(messages); n == 0 || messages[n-1].Role != llm.RoleUser && messages[n-1].Role != llm.RoleTool {
		return "it does not end with a user or a tool"
	}
	return ""
}

// verify compares disk and memory with the inputs: coverage, order, provenance, budgets, and an
// unchanged transcript.
func (r *rig) verify() {
	r.t.Helper()
	check.NoError(r.t, r.check())
}

// repaired fails if a row in the view still waits for a model.
func (r *rig) repaired() {
	r.t.Helper()
	for _, row := range r.c.Status().Stack {
		check.That(r.t, !row.NeedsRepair(), "got a %s by %s over #%d to #%d", row.Kind, row.By, row.From, row.To)
	}
}

// noPlaceholder fails if the view has a placeholder.
func (r *rig) noPlaceholder() {
	r.t.Helper()
	for _, row := range r.c.Status().Stack {
		check.That(r.t, row.Kind != compactor.Placeholder, "got a placeholder over #%d to #%d", row.From, row.To)
	}
}

// onDisk reads the conversation with a second connection.
func (r *rig) onDisk(look func(*store.Conversation, transcript.Snapshot) error) error {
	ctx := context.Background()
	db := r.look
	if db == nil {
		var err error
		if db, err = store.Open(ctx, store.Options{Dir: r.dir, Shared: true}); err != nil {
			return err
		}
		defer db.Close()
	}
	conv, err := db.Find(ctx, r.name)
	if err != nil {
		return err
	}
	state, err := conv.Compactions().Load(ctx)
	if err != nil {
		return err
	}
	return look(conv, state)
}

func (r *rig) check() error { return r.onDisk(r.checkOnDisk) }

func (r *rig) checkOnDisk(conv *store.Conversation, state transcript.Snapshot) error {
	if err := findRepeatedSpans(state.Prepared); err != nil {
		return err
	}
	seen := map[int64]int{}
	for _, m := range state.Messages {
		if seen[m.Seq]++; m.Seq < r.start() {
			return fmt.Errorf("message %d is verbatim, and the session begins at %d", m.Seq, r.start())
		}
	}
	rows, err := r.rowsOf(state.Head)
	if err != nil {
		return err
	}
	last := int64(0)
	for _, row := range rows {
		if r.session(row.From) != r.session(row.To) {
			return fmt.Errorf("row %d, %d to %d, reaches over the end of a session; they end at %v", row.ID, row.From, row.To, r.ends)
		}
		if row.From <= last {
			return fmt.Errorf("row %d begins at %d, inside what ends at %d", row.ID, row.From, last)
		}
		last = row.To
		n := 0
		cut := make(map[int64]int) // by turn: 1 some of it is covered, 2 some is not, 3 both
		for _, m := range r.remainingMessages() {
			if row.Covers(m.Seq) {
				seen[m.Seq]++
				n++
				cut[m.Turn] |= 1
			} else {
				cut[m.Turn] |= 2
			}
			if cut[m.Turn] == 3 {
				return fmt.Errorf("row %d cuts turn %d", row.ID, m.Turn)
			}
		}
		if n != row.Messages {
			return fmt.Errorf("row %d (%s by %s on %s, %d to %d) says it holds %d messages and holds %d", row.ID, row.Kind, row.By, row.Trigger, row.From, row.To, row.Messages, n)
		}
	}
	for _, m := range r.remainingMessages() {
		if seen[m.Seq] != 1 {
			return fmt.Errorf("message %d: got %d places, want 1", m.Seq, seen[m.Seq])
		}
	}
	return r.checkTranscript(conv)
}

// rowsOf returns all applied rows, each in the session where it is in the head.
func (r *rig) rowsOf(head compactor.Head) (rows []compactor.Compaction, err error) {
	if head.Start != r.start() || len(head.Earlier) != len(r.ends) {
		return nil, fmt.Errorf("the session begins at %d behind %d others, and should at %d behind %d", head.Start, len(head.Earlier), r.start(), len(r.ends))
	}
	for i, s := range head.Earlier {
		if s.To != r.ends[i] {
			return nil, fmt.Errorf("session %d ends at %d, should at %d", i, s.To, r.ends[i])
		}
		rows = append(rows, s.Rows...)
		for _, row := range s.Rows {
			if r.session(row.From) != i {
				return nil, fmt.Errorf("row %d, #%d to #%d: got session %d", row.ID, row.From, row.To, i)
			}
		}
	}
	return append(rows, head.Stack...), nil
}

func (r *rig) checkTranscript(conv *store.Conversation) error {
	page, err := conv.Transcript().Page(context.Background(), 1, len(r.said)+1)
	if err != nil {
		return err
	}
	left := r.remainingMessages()
	if len(page) != len(left) {
		return fmt.Errorf("got %d messages in the transcript, want %d", len(page), len(left))
	}
	for i, m := range page {
		if m.Seq != left[i].Seq || m.Text != left[i].Text {
			return fmt.Errorf("message %d: got %q, want %q", m.Seq, m.Text, left[i].Text)
		}
	}
	return nil
}
