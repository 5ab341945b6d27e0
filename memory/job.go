// A job: one compaction on its way from running to prepared, with the memories that are saved
// along with it.

package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/store"
	"cairn/transcript"
)

// job is one compaction on its way from running to prepared. It belongs to one goroutine.
type job struct {
	conversation *store.Conversation
	row          transcript.Summary // as it was when the job started
	offered      bool               // the summarizer could save memories itself
	drafts       []draft
}

// Begin writes row in state running and returns the job that works on it.
func (r Records) Begin(ctx context.Context, row transcript.Summary) (summarize.Job, error) {
	row, err := r.Compactions.Begin(ctx, row)
	if err != nil {
		return nil, err
	}
	return &job{conversation: r.c, row: row}, nil
}

// ID returns the ID of the row.
func (j *job) ID() int64 { return j.row.ID }

// Messages returns at most limit messages of [from, to], oldest first, without deleted ones.
func (j *job) Messages(ctx context.Context, from, to int64, limit int) ([]chat.Message, error) {
	return store.View(ctx, j.conversation, j.trying("read messages"), func(tx *store.Tx) ([]chat.Message, error) {
		found, err := j.conversation.In(tx).Messages(from, to, "ORDER BY id LIMIT ?", max(limit, 0))
		if err == nil {
			err = markUnremembered(j.conversation, tx, found)
		}
		return found, err
	})
}

// Children returns the rows that a rollup folded, oldest first; none for any other kind of row.
// For the job's own row it returns the rows to fold, in their current state.
func (j *job) Children(ctx context.Context, rollup int64) ([]transcript.Summary, error) {
	if rollup == j.row.ID {
		return j.conversation.Compactions().Rows(ctx, j.row.Children)
	}
	return j.conversation.Compactions().Children(ctx, rollup)
}

// Tools returns memory_save. It checks each draft immediately and keeps it until Store; each call
// of Tools allows at most draftLimit memories.
func (j *job) Tools(draftLimit int) []llm.Tool {
	j.offered = j.offered || draftLimit > 0
	left := draftLimit
	return []llm.Tool{saveTool(true, func(ctx context.Context, d draft) (string, error) { return j.keep(ctx, d, &left) })}
}

// Mark returns a function that discards the drafts kept since.
func (j *job) Mark() (takeBack func()) {
	kept := slices.Clone(j.drafts)
	return func() { j.drafts = slices.Clone(kept) }
}

// Kept returns the number of drafts kept so far.
func (j *job) Kept() int { return len(j.drafts) }

// keep accepts a draft that passes the checks.
func (j *job) keep(ctx context.Context, d draft, left *int) (answer string, err error) {
	var s Saved
	var note string
	err = j.conversation.Store().View(ctx, func(tx *store.Tx) error {
		if err = checkDraft(j.conversation, tx, &d, j.row.From, j.row.To); err != nil {
			return err
		}
		if note, err = checkSuperseded(j.conversation, tx, &d); err != nil {
			return err
		}
		if s, err = sameAs(j.conversation, tx, d); err != nil {
			return err
		}
		s.Superseded = d.supersedes
		if !s.Fresh {
			s.Memory, err = readMemory(tx, s.ID)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if len(d.sources) == 0 {
		return "", fmt.Errorf("name in messages the numbers of the messages it comes from, each from %d to %d", j.row.From, j.row.To)
	}
	if *left <= 0 {
		return "", errors.New("no more memories can be saved from these messages: go on with the summary")
	}
	*left--
	j.drafts = append(j.drafts, d)
	return s.answer(note), nil
}

// Fail makes the row failed; cause is in words for people.
func (j *job) Fail(ctx context.Context, cause string) error {
	return j.conversation.Compactions().Fail(ctx, j.row.ID, cause)
}

func (j *job) trying(what string) string { return fmt.Sprintf("%s of compaction %d", what, j.row.ID) }
