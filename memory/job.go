// A job: one compaction on its way from running to prepared, with the memories that are saved
// along with it.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/store"
	"cairn/transcript"
)

// job implements summarize.Job. It belongs to one goroutine.
type job struct {
	conversation *store.Conversation
	row          transcript.Summary // as it was when the job started
	prompt       string             // see Records
	offered      bool               // the summarizer could save memories itself
	drafts       []draft
}

// Begin writes row in state running and returns the job that works on it.
func (r Records) Begin(ctx context.Context, row transcript.Summary) (summarize.Job, error) {
	row, err := r.Compactions.Begin(ctx, row)
	if err != nil {
		return nil, err
	}
	return &job{conversation: r.c, row: row, prompt: r.Prompt}, nil
}

func (j *job) ID() int64 { return j.row.ID }

func (j *job) Messages(ctx context.Context, spans ...transcript.Span) ([]chat.Message, error) {
	return store.View(ctx, j.conversation, j.trying("read messages"), func(tx *store.Tx) (found []chat.Message) {
		for _, sp := range spans {
			found = append(found, j.conversation.Messages(tx).Between(sp.From, sp.To)...)
		}
		out := j.conversation.People(tx).Out()
		for i, m := range found { // a briefing repeats what is remembered where it was said
			found[i].Unremembered = slices.Contains(out, m.AuthorID) || j.conversation.IsTask() && strings.HasPrefix(m.ID, store.TaskID)
		}
		return found
	})
}

func (j *job) Children(ctx context.Context, rollup int64) ([]transcript.Summary, error) {
	if rollup == j.row.ID {
		return j.conversation.Compactions().Rows(ctx, j.row.Children)
	}
	return j.conversation.Compactions().Children(ctx, rollup)
}

// Tools returns memory_save. It checks each draft immediately and keeps it until Store; each call of Tools allows at most
// draftLimit memories.
func (j *job) Tools(draftLimit int) []llm.Tool {
	j.offered = j.offered || draftLimit > 0
	left := draftLimit
	return []llm.Tool{saveTool(true, func(ctx context.Context, d draft) (llm.Result, error) { return j.keep(ctx, d, &left) })}
}

func (j *job) Kept() int { return len(j.drafts) }

func (j *job) keep(ctx context.Context, d draft, left *int) (answer llm.Result, err error) {
	var s Saved
	d.prompt = j.prompt
	err = j.conversation.Store().View(ctx, func(tx *store.Tx) {
		for _, child := range j.row.Children {
			d.read = append(d.read, j.conversation.Summaries(tx).Get(child))
		}
		tx.Fail(checkDraft(j.conversation, tx, &d, j.row.From, j.row.To))
		checkSuperseded(j.conversation, tx, &d)
		s = sameAs(j.conversation, tx, d)
		s.Superseded = d.supersedes
		if !s.Fresh {
			s.Memory = readMemory(tx, s.ID)
		}
	})
	if err != nil {
		return llm.Result{}, err
	}
	if len(d.sources) == 0 {
		return llm.Result{}, fmt.Errorf("name in messages the numbers of the messages it comes from, each from %d to %d", j.row.From, j.row.To)
	}
	if i := slices.IndexFunc(j.drafts, func(known draft) bool { return known.folded == d.folded }); i >= 0 {
		known := &j.drafts[i]
		known.sources, known.supersedes = inOrder(slices.Concat(known.sources, d.sources)), cmp.Or(d.supersedes, known.supersedes)
		return s.answer(d.note), nil
	}
	if *left <= 0 {
		return llm.Result{}, fmt.Errorf("no more memories can be saved from these messages, %d are kept: go on with the summary", len(j.drafts))
	}
	*left--
	j.drafts = append(j.drafts, d)
	return s.answer(d.note), nil
}

// Fail makes the row failed, and writes the memories that the worker kept, unless messages that it read have changed since.
func (j *job) Fail(ctx context.Context, cause string) (fresh []summarize.MemoryDraft, err error) {
	err = j.conversation.Compactions().Fail(ctx, j.row.ID, cause, func(tx *store.Tx) { fresh = j.saveAll(tx, j.drafts) })
	if err != nil {
		return nil, err
	}
	return fresh, nil
}

func (j *job) trying(what string) string { return fmt.Sprintf("%s of compaction %d", what, j.row.ID) }

// Store writes the summary and the memories and makes the row prepared, in one transaction. It returns the memories that are
// new. A worker saves only from messages that no worker has saved from before, the extractive summarizer only from those
// nothing was saved from: Store silently drops other drafts. Extractive memories of messages that a worker has now read give
// way to the worker's. If something that the job read was edited, deleted or undone since, Store makes the row stale and
// writes nothing else.
func (j *job) Store(ctx context.Context, summary summarize.Summary) ([]summarize.MemoryDraft, error) {
	c := j.conversation
	row := summary.In(j.row)
	return store.Update(ctx, c, j.trying("store the summary"), func(tx *store.Tx) []summarize.MemoryDraft {
		if c.Summaries(tx).Prepare(row, summary.Beside.Rows, summary.Beside.Messages) {
			return nil
		}
		var extractive []draft
		for _, m := range summary.Memories { // invalid ones are skipped
			d := draftOf(m, byExtractive)
			if err := checkDraft(c, tx, &d, row.From, row.To); err == nil && len(d.sources) > 0 {
				extractive = append(extractive, d)
			}
		}
		extracted := ""
		switch {
		case j.row.By == transcript.Worker && j.offered && (len(j.drafts) > 0 || len(extractive) == 0):
			extracted = byWorker
		case len(extractive) > 0:
			extracted = byExtractive
		}
		c.Summaries(tx).SetExtractor(row.ID, extracted)
		if extracted == byWorker && len(j.drafts) > 0 { // if it saved nothing it has nothing better
			j.retireReplaced(tx)
		}
		return j.saveAll(tx, slices.Concat(j.drafts, extractive))
	})
}

// saveAll writes drafts and returns those that are new.
func (j *job) saveAll(tx *store.Tx, drafts []draft) (fresh []summarize.MemoryDraft) {
	for _, d := range drafts {
		if id := j.save(tx, d); id != 0 {
			fresh = append(fresh, summarize.MemoryDraft{
				ID: id, Kind: d.Kind, Content: d.Content, Importance: d.Importance, Messages: seqsOf(d.sources), About: d.About,
			})
		}
	}
	return fresh
}

// save writes one draft with those of its messages that it may be saved from, and returns the memory's ID, 0 if it is not new.
func (j *job) save(tx *store.Tx, d draft) int64 {
	c := j.conversation
	unread := slices.DeleteFunc(slices.Clone(d.sources), func(m chat.Message) bool {
		return c.Memories(tx).WasRead(m.Seq, j.row.ID, d.By == byExtractive)
	})
	if len(unread) == 0 {
		return 0
	}
	d.Compaction = j.row.ID
	if d.By != byExtractive { // an extractive draft quotes all of them
		d.sources = unread
	}
	if recheck(c, tx, &d) != nil { // since the worker saved it
		return 0
	}
	if s := saveDraft(c, tx, d); s.Fresh {
		return s.ID
	}
	return 0
}

// retireReplaced retires the extractive summarizer's memories of messages that a worker has now read, if workers have read all
// of their messages. Of a rollup it has read the messages of the children that it repairs, and only the text of the others.
func (j *job) retireReplaced(tx *store.Tx) {
	c := j.conversation
	spans := []transcript.Span{j.row.Span}
	if j.row.Kind == transcript.Rollup {
		spans = nil
		for _, id := range j.row.Children {
			if child := c.Summaries(tx).Get(id); child.NeedsRepair() {
				spans = append(spans, transcript.Span{From: max(child.From, j.row.From), To: min(child.To, j.row.To)})
			}
		}
	}
	for _, s := range spans {
		c.Memories(tx).Retire(s)
	}
}
