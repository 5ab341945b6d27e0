// Storing what a job made: the summary and the memories, in one transaction.

package memory

import (
	"context"
	"errors"
	"slices"

	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/transcript"
)

// Store writes the summary and the memories and makes the row prepared, in one transaction. It
// returns the memories that are new. A worker saves only from messages that no worker has saved
// from before, the extractive summarizer only from those nothing was saved from: Store silently
// drops other drafts. Extractive memories of messages that a worker has now read give way to the
// worker's. If a message of the span was edited or deleted since the job started, a summary over
// it was undone, or something the worker read beside it was deleted, Store writes nothing and
// makes the row stale.
func (j *job) Store(ctx context.Context, summary summarize.Summary) ([]summarize.MemoryDraft, error) {
	c := j.conversation
	row := j.row
	row.Text, row.Tokens, row.Model, row.Sources = summary.Text, summary.Tokens, summary.Model, summary.Sources
	return store.Update(ctx, c, j.trying("store the summary"), func(tx *store.Tx) (fresh []summarize.MemoryDraft, err error) {
		if stale, err := c.In(tx).Prepare(row, summary.Beside.Rows, summary.Beside.Messages); err != nil || stale {
			return nil, err
		}
		extractive := j.checkExtractive(tx, summary.Memories)
		extracted := ""
		switch {
		case j.row.By == transcript.Worker && j.offered && (len(j.drafts) > 0 || len(extractive) == 0):
			extracted = byWorker
		case len(extractive) > 0:
			extracted = byExtractive
		}
		if _, err := tx.Exec("UPDATE compactions SET extracted = ? WHERE id = ?", extracted, row.ID); err != nil {
			return nil, err
		}
		if extracted == byWorker && len(j.drafts) > 0 { // if it saved nothing it has nothing better
			if err := j.retireReplaced(tx); err != nil {
				return nil, err
			}
		}
		for _, d := range slices.Concat(j.drafts, extractive) {
			id, err := j.save(tx, d)
			if err != nil {
				return nil, err
			}
			if id != 0 {
				saved := d.asDraft()
				saved.ID = id
				fresh = append(fresh, saved)
			}
		}
		return fresh, nil
	})
}

// checkExtractive checks the drafts of the extractive summarizer and skips invalid ones.
func (j *job) checkExtractive(tx *store.Tx, memories []summarize.MemoryDraft) []draft {
	var kept []draft
	for _, m := range memories {
		d := draft{MemoryDraft: m, by: byExtractive}
		if err := checkDraft(j.conversation, tx, &d, j.row.From, j.row.To); err != nil || len(d.sources) == 0 {
			continue
		}
		kept = append(kept, d)
	}
	return kept
}

// wasRead reports whether memories were saved from message ?3 with another row than ?2: by a
// worker, or, if ?4, by either summarizer.
const wasRead = `SELECT EXISTS (SELECT 1 FROM compactions WHERE conversation = ?1 AND id <> ?2
	AND from_seq <= ?3 AND to_seq >= ?3 AND (extracted = 'worker' OR extracted <> '' AND ?4))`

// save writes one draft with those of its messages that it may be saved from. It returns the
// memory's ID if the memory is new, else 0.
func (j *job) save(tx *store.Tx, d draft) (id int64, err error) {
	c := j.conversation
	var unread []source
	for _, s := range d.sources {
		read, err := store.Value[bool](tx, wasRead, c.ID(), j.row.ID, s.seq, d.by == byExtractive)
		if err != nil {
			return 0, err
		}
		if !read {
			unread = append(unread, s)
		}
	}
	if len(unread) == 0 {
		return 0, nil
	}
	d.compaction = j.row.ID
	if d.by != byExtractive { // an extractive draft quotes all of them
		d.sources = unread
	}
	var out *OptedOutError
	if err := recheck(c, tx, &d); errors.As(err, &out) || errors.Is(err, errUnsaid) { // since the worker saved it
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	s, err := saveDraft(c, tx, d)
	if !s.Fresh {
		return 0, err
	}
	return s.ID, err
}

// retireReplaced retires the extractive summarizer's memories of messages that a worker has now read, if
// workers have read all of their messages. Of a rollup it has read the messages of the children that
// it repairs, and only the text of the others.
func (j *job) retireReplaced(tx *store.Tx) error {
	c := j.conversation
	spans := []transcript.Span{j.row.Span}
	if j.row.Kind == transcript.Rollup {
		spans = nil
		for _, id := range j.row.Children {
			child, err := c.In(tx).Compaction(id)
			if err != nil {
				return err
			}
			if child.NeedsRepair() {
				spans = append(spans, transcript.Span{From: max(child.From, j.row.From), To: min(child.To, j.row.To)})
			}
		}
	}
	for _, s := range spans {
		low, high := c.RowRange(s.From, s.To)
		if _, err := tx.Exec(retire, c.ID(), low, high); err != nil {
			return err
		}
	}
	return nil
}

// retire looks up memories by the messages ?2 to ?3; the + keeps SQLite from scanning all
// memories of the conversation.
const retire = `UPDATE memories SET state = 'replaced' WHERE +conversation = ?1 AND made_by = 'extractive' AND state = 'active' AND NOT pinned
	AND id IN (SELECT memory FROM memory_sources WHERE message BETWEEN ?2 AND ?3)
	AND NOT EXISTS (SELECT 1 FROM memory_sources s WHERE s.memory = memories.id AND NOT EXISTS (
		SELECT 1 FROM compactions WHERE conversation = ?1 AND extracted = 'worker'
		AND s.message & 4294967295 BETWEEN from_seq AND to_seq))`
