// Lists of compactions, one by one or by the step that applied them, and of what a compaction covers.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// CompactionStates are the states that compactions can be listed by.
var CompactionStates = []string{
	string(transcript.Running), string(transcript.Prepared), string(transcript.Applied), string(transcript.RolledUp),
	string(transcript.Replaced), string(transcript.Undone), string(transcript.Failed), string(transcript.Stale),
}

// CompactionFilter chooses compactions.
type CompactionFilter struct {
	Conversation string    // its name; empty: all conversations
	State        string    // of CompactionStates; empty: all
	Applied      bool      // only those that were applied, and emergencies
	Since        time.Time // their Time is then or later; zero: all time
	Before       int64     // they were applied before the message with this seq; 0: no limit
	Limit        int       // limits to the newest; 0 or less: all
}

// ListedCompaction is a compaction as it is stored, without its summary.
type ListedCompaction struct {
	ID            int64     `json:"id"`
	Channel       string    `json:"channel"`
	State         string    `json:"state"` // of CompactionStates
	Trigger       string    `json:"trigger"`
	Kind          string    `json:"kind"` // leaf, rollup, placeholder
	From          int64     `json:"from_seq"`
	To            int64     `json:"to_seq"`
	Messages      int       `json:"messages"`
	BeforeTokens  int       `json:"before_tokens"`     // used before it was applied; 0: not measured
	AfterTokens   int       `json:"after_tokens"`      // used after
	SummaryTokens int       `json:"summary_tokens"`    // of the summary itself
	FoldedTokens  int       `json:"folded_tokens"`     // of the summaries that a rollup replaced
	Time          time.Time `json:"time"`              // when it was applied; if it never was, when it started
	Seconds       float64   `json:"seconds,omitempty"` // from its start to its summary; 0: not stored
	By            string    `json:"by"`                // worker, extractive, emergency
	Model         string    `json:"model,omitempty"`   // the summarizing model; empty: none
	Focus         string    `json:"focus,omitempty"`   // what the request asked to keep
	Error         string    `json:"error,omitempty"`   // why it failed
	Lines         int       `json:"lines"`             // of its text that claim something; 0: also if that is not known
	Without       int       `json:"without_evidence"`  // of these
	Dropped       int       `json:"dropped"`           // further lines, which the messages contradicted

	Version int64 `json:"-"`                  // the same for those that were applied together; 0: it was not applied
	Next    int64 `json:"next_seq,omitempty"` // it was applied before the message with this seq; 0: it was not applied
}

// AppliedStep is what one step of compaction changed.
type AppliedStep struct {
	ListedCompaction     // the first, with the messages and tokens of all
	Summaries        int `json:"summaries"` // how many were applied in the step

	All []ListedCompaction `json:"-"`
}

// StepsOf groups the applied compactions of a conversation by the step that applied them, oldest first.
func StepsOf(applied []ListedCompaction) (steps []AppliedStep) {
	for _, l := range slices.SortedFunc(slices.Values(applied), func(a, b ListedCompaction) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.ID, b.ID))
	}) {
		if n := len(steps); n == 0 || steps[n-1].Version != l.Version {
			steps = append(steps, AppliedStep{l, 1, []ListedCompaction{l}})
			continue
		}
		s := &steps[len(steps)-1]
		s.From = min(s.From, l.From)
		s.To = max(s.To, l.To)
		s.Messages = s.Messages + l.Messages
		s.BeforeTokens = max(s.BeforeTokens, l.BeforeTokens)
		s.AfterTokens = max(s.AfterTokens, l.AfterTokens)
		s.SummaryTokens += l.SummaryTokens
		s.Summaries++
		s.All = append(s.All, l)
	}
	return steps
}

// Compactions returns the compactions selected by f, ordered by Time, oldest first, and their number without Limit.
// ErrNotFound: there is no such conversation.
func (s *Store) Compactions(ctx context.Context, f CompactionFilter) (found []ListedCompaction, total int, err error) {
	first := int64(0)
	last := int64(math.MaxInt64) // conversations
	if f.Conversation != "" {
		c, err := s.Find(ctx, f.Conversation)
		if err != nil {
			return nil, 0, err
		}
		first = c.id
		last = c.id
	}
	if f.Limit <= 0 {
		f.Limit = noLimit
	}
	found, err = selectAlone(ctx, s, func(rows *sql.Rows, l *ListedCompaction) error {
		var took int64
		var known transcript.Summary
		err := rows.Scan(&l.ID, &l.Channel, &l.State, &l.Trigger, &l.Kind, &l.From, &l.To, &l.Messages, &l.BeforeTokens, &l.AfterTokens,
			&l.SummaryTokens, &l.FoldedTokens, utcInto(&l.Time), &took, &l.By, &l.Model, &l.Focus, &l.Error, &l.Version, &l.Next,
			listColumn[transcript.Line]{&known.Lines, new(bool)}, &l.Dropped, &total)
		l.Lines = len(known.Lines)
		l.Without = known.Unsupported()
		l.Seconds = float64(took) / 1000
		return err
	}, `SELECT k.id, c.name, k.state, k.trigger, k.kind, k.from_seq, k.to_seq, k.messages, k.before_tokens, k.after_tokens,
		k.tokens, (SELECT coalesce(sum(f.tokens), 0) FROM json_each(coalesce(nullif(k.children, ''), '[]')) j JOIN compactions f ON f.id = CAST(j.value AS BIGINT)),
		coalesce(k.applied_at, k.created_at) AS moment, coalesce(k.ended_at - k.created_at, 0), k.made_by, k.model, k.focus, k.error,
		coalesce(k.version, 0), coalesce(k.next_seq, 0), k.lines, k.dropped, count(*) OVER ()
		FROM compactions k JOIN conversations c ON c.id = k.conversation
		WHERE k.conversation BETWEEN ?1 AND ?2 AND (?3 = '' OR k.state = ?3) AND (?4 = 0 OR k.next_seq <= ?4) AND coalesce(k.applied_at, k.created_at) >= ?5
		AND (NOT ?6 OR k.version IS NOT NULL AND (k.ended_at IS NOT NULL OR k.made_by = 'emergency' AND k.trigger <> 'repair'))
		ORDER BY moment DESC, k.id DESC LIMIT ?7`, first, last, f.State, f.Before, max(f.Since.UnixMilli(), 0), f.Applied, f.Limit)
	if err != nil {
		return nil, 0, fmt.Errorf("list compactions: %w", err)
	}
	slices.Reverse(found)
	return found, total, nil
}

// Expansion is what a compaction covers.
type Expansion struct {
	Row      transcript.Summary
	Children []transcript.Summary // of a rollup, oldest first
	Messages []chat.Message       // of any other, oldest first
	Next     int64                // seq of the next message, if there are more; 0: none
}

// Expand returns what a compaction covers: the children of a rollup, or at most limit messages from seq from on, without
// deleted ones. ErrNotFound: the view does not contain it, directly or through a rollup.
func (tr Transcript) Expand(ctx context.Context, id, from int64, limit int) (Expansion, error) {
	return View(ctx, tr.c, fmt.Sprintf("expand compaction %d", id), func(tx *Tx) (e Expansion) {
		e.Row = firstOf(tx, tr.c.Summaries(tx).read("AND id = ? AND state IN ('applied', 'rolled_up')", id))
		if e.Row.IsRollup() {
			e.Children = tr.c.Summaries(tx).read(childrenOf, id)
		} else {
			e.Messages, e.Next = tr.c.Messages(tx).Page(max(from, e.Row.From), e.Row.To, limit)
		}
		return e
	})
}

// Fate is what became of a summary.
type Fate struct {
	State transcript.Status
	In    int64 // the number of the summary that covers its messages now, which may be the same; 0: none
}

// Fate returns what became of a summary, whatever its state. ErrNotFound: there never was one of this number here.
func (cs Compactions) Fate(ctx context.Context, id int64) (Fate, error) {
	return View(ctx, cs.c, fmt.Sprintf("look for summary %d", id), func(tx *Tx) (f Fate) {
		row := firstOf(tx, cs.c.Summaries(tx).read("AND id = ?", id))
		f.State = row.State
		for _, over := range cs.c.Summaries(tx).read("AND state = 'applied' AND from_seq <= ? AND to_seq >= ?", row.From, row.To) {
			f.In = over.ID
		}
		return f
	})
}

// Evidence counts the lines of the newest summaries of which it is known what they rest on.
type Evidence struct {
	Summaries int `json:"summaries"`
	Lines     int `json:"lines"`
	Without   int `json:"without_evidence"` // of Lines
	Dropped   int `json:"dropped"`          // further lines, which the messages contradicted
}

// evidenceOf is how many of the newest summaries Evidence counts.
const evidenceOf = 10

// Evidence counts the lines of the newest summaries that were made here, at most ten, each as people last rewrote it.
func (cs Compactions) Evidence(ctx context.Context) (Evidence, error) {
	return View(ctx, cs.c, "count lines without evidence", func(tx *Tx) (e Evidence) {
		for _, row := range cs.c.Summaries(tx).read(`AND lines <> '' AND state IN ('prepared', 'applied', 'rolled_up', 'replaced')
			AND NOT EXISTS (SELECT 1 FROM compactions r WHERE r.conversation = compactions.conversation AND r.trigger = 'rewrite' AND r.state <> 'undone'
				AND r.id > compactions.id AND r.level = compactions.level AND r.from_seq = compactions.from_seq AND r.to_seq = compactions.to_seq)
			ORDER BY id DESC LIMIT ?`, evidenceOf) {
			e.Summaries++
			e.Lines += len(row.Lines)
			e.Without += row.Unsupported()
			e.Dropped += row.Dropped
		}
		return e
	})
}

// Recorded is a message and when it was stored.
type Recorded struct {
	chat.Message
	Saved time.Time
}

// Recorded returns all messages, oldest first, without deleted ones.
func (tr Transcript) Recorded(ctx context.Context) ([]Recorded, error) {
	return View(ctx, tr.c, "read recorded messages", func(tx *Tx) []Recorded {
		return listRows(tx, func(rows *sql.Rows, r *Recorded) error { return scanMessage(rows, &r.Message, utcInto(&r.Saved)) },
			"SELECT "+messageColumns+", saved_at FROM messages WHERE "+inConversation+" AND deleted_at IS NULL ORDER BY id", tr.c.id)
	})
}

// Recorded returns every summary that was started, in that order, with the first seqs of the sessions that users started.
func (cs Compactions) Recorded(ctx context.Context) (all []RecordedSummary, sessions []int64, err error) {
	err = cs.c.View(ctx, "read recorded summaries", func(tx *Tx) {
		all = cs.c.Summaries(tx).recorded("ORDER BY id")
		sessions = listValues[int64](tx, "SELECT to_seq + 1 FROM sessions WHERE conversation = ? ORDER BY to_seq", cs.c.id)
	})
	return all, sessions, err
}
