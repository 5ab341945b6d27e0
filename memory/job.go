// A job: one compaction on its way from running to prepared, with the memories that are saved
// along with it.

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/transcript"
)

// job belongs to one goroutine.
type job struct {
	conversation *Conversation
	row          compactor.Compaction // as it was when the job started
	offered      bool                 // the summarizer could save memories itself
	drafts       []draft
	refused      int // how many drafts were invalid
}

// ID returns the ID of the row.
func (j *job) ID() int64 { return j.row.ID }

// Messages returns at most limit messages of [from, to], oldest first, without deleted ones.
func (j *job) Messages(ctx context.Context, from, to int64, limit int) (found []chat.Message, err error) {
	err = j.conversation.store.view(ctx, func(tx *transaction) error {
		found, err = j.conversation.messages(tx, from, to, "ORDER BY id LIMIT ?", max(limit, 0))
		if err == nil {
			err = j.conversation.markUnremembered(tx, found)
		}
		return err
	})
	if err != nil {
		return nil, j.fail("read messages", err)
	}
	return found, nil
}

// Children returns the rows that a rollup folded, oldest first; none for any other kind of row.
// For the job's own row it returns the rows to fold, in their current state.
func (j *job) Children(ctx context.Context, rollup int64) (found []compactor.Compaction, err error) {
	err = j.conversation.store.view(ctx, func(tx *transaction) error {
		if rollup == j.row.ID {
			found, err = j.conversation.withIDs(tx, j.row.Children)
			return err
		}
		found, err = j.conversation.compactions(tx, childrenOf, rollup)
		return err
	})
	if err != nil {
		return nil, j.fail("read children", err)
	}
	return found, nil
}

// Tools returns memory_save. It checks each draft immediately and keeps it until Store; each call
// of Tools allows at most draftLimit memories.
func (j *job) Tools(draftLimit int) []llm.Tool {
	j.offered = j.offered || draftLimit > 0
	left := draftLimit
	tool := saveTool(true, func(ctx context.Context, d draft) (string, error) { return j.keep(ctx, d, &left) })
	save := tool.Run
	tool.Run = func(ctx context.Context, arguments json.RawMessage) (string, error) {
		answer, err := save(ctx, arguments)
		if err != nil {
			j.refused++
		}
		return answer, err
	}
	return []llm.Tool{tool}
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
	var wrong, hint string
	err = j.conversation.store.view(ctx, func(tx *transaction) error {
		if wrong, err = j.conversation.check(tx, &d, j.row.From, j.row.To); err != nil {
			return err
		}
		if s, err = j.conversation.sameAs(tx, d); err != nil {
			return err
		}
		if s.Superseded = d.supersedes; !s.Fresh {
			s.Memory, err = readMemory(tx, s.ID)
			return err
		}
		hint, err = j.conversation.hint(tx, d)
		return err
	})
	if err != nil {
		return "", err
	}
	if len(d.sources) == 0 {
		return "", fmt.Errorf("name in messages the numbers of the messages it comes from, each from %d to %d", j.row.From, j.row.To)
	}
	for i, known := range j.drafts {
		if known.folded == d.folded || strings.EqualFold(known.About, d.About) && sameFact(factWords(known.Content), factWords(d.Content)) {
			j.drafts[i].sources = union(known.sources, d.sources)
			j.drafts[i].supersedes = cmp.Or(d.supersedes, known.supersedes)
			if d.supersedes != 0 {
				return fmt.Sprintf("This was noted already; it supersedes memory %d now.", d.supersedes), nil
			}
			return "This was noted already; nothing more is to be done.", nil
		}
	}
	if *left <= 0 {
		return "", errors.New("no more memories can be saved from these messages: go on with the summary")
	}
	*left--
	j.drafts = append(j.drafts, d)
	return s.answer(wrong, hint), nil
}

// Store writes the summary and the memories and makes the row prepared, in one transaction. It
// returns the memories that are new. A worker saves only from messages that no worker has saved
// from before, the extractive summarizer only from those nothing was saved from: Store silently
// drops other drafts. Extractive memories of messages that a worker has now read give way to the
// worker's. If a message of the span was edited or deleted since the job started, a summary over
// it was undone, or something the worker read beside it was deleted, Store writes nothing and
// makes the row stale.
func (j *job) Store(ctx context.Context, summary summarize.Summary) (fresh []summarize.MemoryDraft, err error) {
	c := j.conversation
	err = c.store.update(ctx, func(tx *transaction) error {
		fresh = nil
		if stale, err := j.stale(tx, summary.Beside); err != nil || stale {
			return errors.Join(err, c.setState(tx, j.row.ID, compactor.Stale))
		}
		extractive := j.ofExtractive(tx, summary.Memories)
		extracted := ""
		switch {
		case j.row.By == compactor.ByWorker && j.offered && (len(j.drafts) > 0 || len(extractive) == 0):
			extracted = byWorker
		case len(extractive) > 0:
			extracted = byExtractive
		}
		sources, err := toJSON(summary.Sources)
		if err != nil {
			return err
		}
		err = changed(tx, `UPDATE compactions SET state = 'prepared', sources = ?, text = ?, tokens = ?, model = coalesce(nullif(?, ''), model), extracted = ?, refused = ?, ended_at = ?
			WHERE id = ? AND state = 'running'`, sources, summary.Text, summary.Tokens, summary.Model, extracted, j.refused, now(), j.row.ID)
		if err != nil {
			return fmt.Errorf("make it prepared: %w", err)
		}
		if extracted == byWorker && len(j.drafts) > 0 { // if it saved nothing it has nothing better
			if err := j.relieve(tx); err != nil {
				return err
			}
		}
		for _, d := range slices.Concat(j.drafts, extractive) {
			id, err := j.save(tx, d)
			if err != nil {
				return err
			}
			if id != 0 {
				saved := d.asDraft()
				saved.ID = id
				fresh = append(fresh, saved)
			}
		}
		return nil
	})
	if err != nil {
		return nil, j.fail("store the summary", err)
	}
	return fresh, nil
}

// stale reports whether what the job read has changed: its span (the row is then stale already),
// something beside it that was deleted since, or a row that has left the view. The summary may
// repeat that.
func (j *job) stale(tx *transaction, beside summarize.Beside) (stale bool, err error) {
	stale, err = exists(tx, "SELECT 1 FROM compactions WHERE id = ? AND state = 'stale'", j.row.ID)
	if err != nil || stale {
		return stale, err
	}
	for _, seq := range beside.Messages {
		low, high := j.conversation.rows(seq, seq)
		err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NOT NULL)", low, high).Scan(&stale)
		if err != nil || stale {
			return stale, err
		}
	}
	for i, id := range slices.Concat(beside.Rows, j.row.Children) {
		err = tx.QueryRow("SELECT state NOT IN ('prepared', 'applied', 'rolled_up') OR ? AND kind = 'placeholder' FROM compactions WHERE id = ?", i < len(beside.Rows), id).Scan(&stale)
		if err != nil || stale {
			return stale, err
		}
	}
	return false, nil
}

// ofExtractive checks the drafts of the extractive summarizer and skips invalid ones.
func (j *job) ofExtractive(tx *transaction, memories []summarize.MemoryDraft) []draft {
	var kept []draft
	for _, m := range memories {
		d := draft{MemoryDraft: m, by: byExtractive}
		if _, err := j.conversation.check(tx, &d, j.row.From, j.row.To); err != nil || len(d.sources) == 0 {
			j.refused++
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
func (j *job) save(tx *transaction, d draft) (id int64, err error) {
	c := j.conversation
	var unread []source
	for _, s := range d.sources {
		var read bool
		err := tx.QueryRow(wasRead, c.id, j.row.ID, s.seq, d.by == byExtractive).Scan(&read)
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
	if d.compaction = j.row.ID; d.by != byExtractive { // an extractive draft quotes all of them
		d.sources = unread
	}
	var out *OptedOutError
	if err := c.stands(tx, &d); errors.As(err, &out) || errors.Is(err, errUnsaid) { // since the worker saved it
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	s, err := c.save(tx, d)
	if !s.Fresh {
		return 0, err
	}
	return s.ID, err
}

// relieve retires the extractive summarizer's memories of messages that a worker has now read, if
// workers have read all of their messages.
func (j *job) relieve(tx *transaction) error {
	read, err := j.read(tx)
	if err != nil {
		return err
	}
	c := j.conversation
	for _, s := range read {
		low, high := c.rows(s.From, s.To)
		_, err := tx.Exec(retire, c.id, low, high)
		if err != nil {
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

// read returns the spans whose messages the worker read: for a rollup those of the children that
// it repairs, because of the others it read only the text.
func (j *job) read(tx *transaction) ([]transcript.Span, error) {
	if j.row.Kind != compactor.Rollup {
		return []transcript.Span{j.row.Span}, nil
	}
	var spans []transcript.Span
	for _, id := range j.row.Children {
		child, err := j.conversation.compaction(tx, id)
		if err != nil {
			return nil, err
		}
		if child.NeedsRepair() {
			spans = append(spans, transcript.Span{From: max(child.From, j.row.From), To: min(child.To, j.row.To)})
		}
	}
	return spans, nil
}

// Fail makes the row failed; cause is in words for people.
func (j *job) Fail(ctx context.Context, cause string) error {
	err := j.conversation.store.update(ctx, func(tx *transaction) error {
		return changed(tx, "UPDATE compactions SET state = 'failed', error = ?, refused = ?, ended_at = ? WHERE id = ? AND state IN ('running', 'failed', 'stale')",
			cause, j.refused, now(), j.row.ID)
	})
	if err != nil {
		return j.fail("note the failure", err)
	}
	return nil
}

func (j *job) fail(tried string, err error) error {
	return j.conversation.fail(fmt.Sprintf("%s of compaction %d", tried, j.row.ID), err)
}
