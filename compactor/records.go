package compactor

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/transcript"
)

// Records is what a conversation's compactor needs of its store. Each call is one
// transaction, and none is made while the history is locked.
type Records interface {
	// Load returns what the view is rebuilt from. A row found running becomes
	// failed: its worker died with the process.
	Load(ctx context.Context) (State, error)

	// Head returns the head as committed, and what State.First is by now, of one instant.
	Head(ctx context.Context) (Head, []chat.Message, error)

	// Begin writes row in state running and returns the job that works on it.
	Begin(ctx context.Context, row Compaction) (Job, error)

	// Commit writes a change that package transcript has computed from s, which State.Transcript
	// made, and returns the head as committed: there new rows have their ids. transcript.ErrStale:
	// what is stored is not s any more, and nothing has changed.
	Commit(ctx context.Context, s *transcript.State, change transcript.Change) (Head, error)

	// Stretches counts the messages of spans, for transcript.State.Cover.
	Stretches(ctx context.Context, spans []Span) ([]transcript.Stretch, error)

	// Ended returns those of the rows, prepared when they were stored, that are prepared no
	// longer, as they are now.
	Ended(ctx context.Context, rows []int64) ([]Compaction, error)

	// Latest returns the latest compaction of the session that was not undone yet,
	// without what was applied with it in earlier ones. Emergencies are none.
	Latest(ctx context.Context) (Undoable, error)

	// Span returns the messages of [from, to], deleted ones left out, oldest first.
	Span(ctx context.Context, from, to int64) ([]chat.Message, error)

	// Declined notes that a model declined to summarize what a row stands for, and Forgive
	// forgets all of that: somebody wants it to be tried again.
	Declined(ctx context.Context, row int64, d Declined) error
	Forgive(ctx context.Context) error

	// Measured notes what an applied compaction did to the tokens used.
	Measured(ctx context.Context, row int64, before, after int) error
}

// Undoable is the latest applied compaction, with what undoing it needs.
type Undoable struct {
	Version int64          // of the head as it stands
	Why     string         // why there is none, in words for people; empty: there is one
	Set     transcript.Set // what was applied
	Rows    []Compaction   // what it made, by From
	Ended   []Compaction   // what ended with it, by From
	Freed   []chat.Message // what would be verbatim again, by seq
}

// Undo returns what undoes it in s. The error says why it cannot be undone, in words for people.
func (l Undoable) Undo(s *transcript.State) (transcript.Change, error) {
	with := *s
	with.Sets = []transcript.Set{l.Set}
	needs, err := with.UndoNeeds()
	if err != nil {
		return transcript.Change{}, err
	}
	loaded := transcript.Loaded{Needs: needs, Rows: l.Ended}
	for _, m := range l.Freed {
		loaded.Read = append(loaded.Read, transcript.Message{Seq: m.Seq})
	}
	return with.Undo(loaded)
}

// Job is one compaction being made.
type Job interface {
	// ID is the row's.
	ID() int64
	// Messages returns the messages of [from, to], deleted ones left out, at most
	// limit of them, oldest first.
	Messages(ctx context.Context, from, to int64, limit int) ([]chat.Message, error)
	// Children returns the rows a rollup folded, oldest first, or those that the job's own
	// row is to fold, as they are now.
	Children(ctx context.Context, rollup int64) ([]Compaction, error)
	// Tools returns memory_save, bound to the job: it checks at once and keeps at
	// most draftLimit drafts, which Store writes.
	Tools(draftLimit int) []llm.Tool
	// Mark returns a function that takes back the memories that were kept since, for
	// work that is begun again.
	Mark() (takeBack func())
	// Kept counts the drafts that Store would write.
	Kept() int
	// Store writes summary and memories and makes the row prepared, in one
	// transaction. Memories count from then on. It returns the memories that are new.
	Store(ctx context.Context, summary summarize.Summary) ([]summarize.MemoryDraft, error)
	// Fail makes the row failed, with the cause in words for people.
	Fail(ctx context.Context, cause string) error
}

// State is what a conversation's view is rebuilt from.
type State struct {
	Head     Head
	Messages []chat.Message // of the session, behind no applied compaction, by seq: what is verbatim
	First    []chat.Message // the first MaxKeepFirst messages of the session addressed to the bot, and the replies of their turns
	Prepared []Compaction   // rows that were stored but were not applied, oldest first
	Next     int64          // the seq the next message will get
	Open     int64          // the turn still to be answered; 0: none
	Spoken   bool           // the bot was addressed since a summary was applied
	Count    Count          // the last one, if the head is still the one it was made of
	Contexts []Context      // turn contexts that are still shown, by seq
}

// Count is what a provider counted for a view, the reply not included.
type Count struct {
	Prompt   int    // real tokens; 0: there is no count
	Estimate int    // of the same
	Model    string // its name
	Version  int64  // of the head
}

// What package transcript decides on, made of what is in memory: nothing is read for a decision.

// Transcript returns what package transcript decides on, of what was loaded.
func (s State) Transcript() *transcript.State {
	t := stored(s.Head, slices.Values(s.Messages), s.Prepared, s.Next)
	t.Open = s.Open
	return t
}

// transcript is that of now, as far as it is on disk: without the running turn's messages, and
// with those verbatim that are hidden in memory alone.
func (c *Compactor) transcript() *transcript.State {
	s := c.h.view
	lines := s.lines
	if len(s.hidden) > 0 {
		lines = slices.Concat(s.lines, s.hidden)
		slices.SortFunc(lines, bySeq)
	}
	verbatim := func(yield func(chat.Message) bool) {
		for i := range lines {
			if l := &lines[i]; l.Seq <= s.stored && l.Role != "" && !yield(l.Message) {
				return
			}
		}
	}
	jobs := slices.Clone(c.prepared)
	for _, w := range []*work{c.busy, c.filling} {
		if w == nil {
			continue
		}
		jobs = append(jobs, w.rows...)
		if row := w.making.row; row.ID != 0 && !slices.Contains(idsOf(jobs), row.ID) {
			jobs = append(jobs, row)
		}
	}
	t := stored(s.head, verbatim, jobs, s.stored+1)
	t.Open = s.open
	return t
}

// commitTries is how often a change is decided on: what people edit, delete or pin meanwhile
// makes it stale.
const commitTries = 5

// commit writes what is decided about the conversation, unless that is nothing, and shows the
// head after it. If people have changed what is stored, it is read and decided on again;
// transcript.ErrStale: they do so again and again.
func (c *Compactor) commit(ctx context.Context, decide func(*transcript.State) (transcript.Change, error)) (change transcript.Change, err error) {
	for try := range commitTries {
		s := c.transcript()
		var head Head
		if change, err = decide(s); err == nil && !change.Empty() {
			head, err = c.o.Records.Commit(ctx, s, change)
		}
		if err == nil {
			c.h.swap(head) // the zero head is older
			return change, nil
		}
		if !errors.Is(err, transcript.ErrStale) {
			return change, err
		}
		if c.outdated = true; !c.reread(ctx) {
			return change, errOutdated
		}
		if try == 0 { // usually the head was another one, and that is all
			continue
		}
		if err := c.dropDeleted(ctx); err != nil {
			return change, err
		}
	}
	return change, err
}

// dropDeleted takes away messages that were deleted, though nobody has told so yet.
func (c *Compactor) dropDeleted(ctx context.Context) error {
	s := c.transcript()
	first, ok := s.Messages.First()
	if !ok {
		return nil
	}
	there, err := c.o.Records.Span(ctx, first.Seq, s.NextSeq-1)
	if err != nil {
		return err
	}
	var gone []int64
	for m := range s.Messages.All() {
		if _, found := slices.BinarySearchFunc(there, m.Seq, func(is chat.Message, seq int64) int { return cmp.Compare(is.Seq, seq) }); !found {
			gone = append(gone, m.Seq)
		}
	}
	if len(gone) > 0 {
		c.h.deleted(gone)
	}
	return nil
}

// stored makes a State of a head, the verbatim messages on disk, the summaries that are prepared
// or being made, and the seq of the next message. It has neither texts of messages, nor pins, nor
// what can be undone, and a summary that only hides in memory is none. Its cost grows with what
// is verbatim.
func stored(head Head, verbatim iter.Seq[chat.Message], jobs []Compaction, next int64) *transcript.State {
	s := transcript.New()
	s.Version, s.HeadVersion, s.ClearedTo = head.Version, head.Version, head.ClearedTo
	s.NextSeq, s.NextSummary, s.SessionStart = next, transcript.Unstored, head.Start
	s.Spared = Span{From: head.SparedFrom, To: head.SparedTo}
	for _, session := range head.Earlier {
		s.Sessions = append(s.Sessions, Span{From: session.From, To: session.To})
		s.Summaries = append(s.Summaries, session.Rows...)
	}
	for _, row := range head.Stack {
		if row.ID == 0 {
			continue
		}
		s.Summaries = append(s.Summaries, row)
		s.InSession += row.Messages
	}
	for _, row := range jobs {
		if row.State == Running {
			s.Running = append(s.Running, row)
		} else {
			s.Prepared = append(s.Prepared, row)
		}
	}
	var messages []transcript.Message
	for m := range verbatim {
		messages = append(messages, transcript.Message{
			Seq: m.Seq, Turn: m.Turn, Time: m.Time,
		})
	}
	s.Messages = s.Messages.Append(messages...)
	s.InSession += len(messages)
	return s
}
