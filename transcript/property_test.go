package transcript_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"

	"pgregory.net/rapid"
)

// TestAnyHistory makes random histories, and after each change checks the state's invariants,
// every summary against its messages, and that no older state has changed.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{conversation: newConversation(t), rt: rt}
		h.t = failing{t, rt}
		steps := []func(){h.hear, h.hear, h.talk, h.prepareNext, h.prepareNext, h.coverSome, h.coverSome, h.rollUp, h.repair, h.undoLast, h.editOne, h.deleteSome, h.truncateSome, h.clear, h.newSession, h.rewrite}
		for range rapid.IntRange(10, 60).Draw(rt, "steps") {
			frozen := h.s
			was := h.shown()
			h.mayGo = false
			h.edits = false
			rapid.SampledFrom(steps).Draw(rt, "step")()
			after := h.s
			now := theirLines(after)
			if !h.mayGo {
				for _, line := range theirLines(frozen) {
					check.Require(rt, slices.Contains(now, line), "a step that deletes nothing took %q, and left %q", line, now)
				}
			}
			if now, full := removedLines(after); !h.mayGo && !h.edits && !full {
				known, _ := removedLines(frozen)
				for _, line := range known {
					check.Require(rt, slices.Contains(now, line), "a step that deletes nothing forgot that %q was removed, and knows %q", line, now)
				}
			}
			h.s = frozen
			check.EqualAll(rt, "the state before a step, which changes only its own", h.shown(), was)
			h.s = after
		}
	})
}

// failing makes a failed check of a conversation end the history, so that rapid shrinks it.
type failing struct {
	testing.TB
	rt *rapid.T
}

func (f failing) Fatal(args ...any)                 { f.rt.Fatal(args...) }
func (f failing) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }

type history struct {
	*conversation
	rt    *rapid.T
	mayGo bool // the step may remove what people wrote
	edits bool // the step edits a message
}

func (h *history) number(low, high int, what string) int {
	return rapid.IntRange(low, high).Draw(h.rt, what)
}

func (h *history) hear() {
	if h.s.Open == 0 {
		h.say(h.number(1, 12, "messages"))
	}
}

func (h *history) talk() {
	if h.s.Open == 0 {
		h.ask()
	}
	if h.number(0, 3, "it stays open") > 0 {
		h.answer(h.number(0, 3, "results"))
	}
}

// turns returns the spans of the answered turns that none of the jobs covers, oldest first.
func (h *history) turns(jobs []transcript.Summary) (turns []transcript.Span) {
	for _, m := range h.s.Messages {
		if m.Turn == h.s.Open || slices.ContainsFunc(jobs, func(row transcript.Summary) bool { return row.Covers(m.Seq) }) {
			continue
		}
		if n := len(turns); n > 0 && turns[n-1].From == m.Turn {
			turns[n-1].To = m.Seq
			continue
		}
		turns = append(turns, transcript.Span{From: m.Turn, To: m.Seq})
	}
	return turns
}

func (h *history) prepareNext() {
	turns := h.turns(slices.Concat(h.s.Prepared, h.s.Running))
	if len(turns) == 0 {
		return
	}
	n := h.number(0, len(turns)-1, "turns")
	for i := 1; i <= n; i++ { // of neighbours
		if turns[i].From != turns[i-1].To+1 {
			n = i - 1
		}
	}
	trigger := rapid.SampledFrom([]transcript.Trigger{transcript.OnPrepare, transcript.OnBackground, transcript.OnManual}).Draw(h.rt, "trigger")
	j := job{from: turns[0].From, to: turns[n].To, trigger: trigger, by: h.by()}
	if h.number(0, 4, "it fails") == 0 {
		h.apply(h.s.Fail(h.begin(j).ID, "the model is down"))
		return
	}
	h.prepare(j)
}

func (h *history) by() transcript.By {
	return rapid.SampledFrom([]transcript.By{transcript.Worker, transcript.Extractive}).Draw(h.rt, "by")
}

func (h *history) coverSome() {
	var ids []int64
	for _, row := range h.s.Prepared {
		if h.number(0, 3, "left out") > 0 {
			ids = append(ids, row.ID)
		}
	}
	before := h.s
	applied := len(h.applied)
	change, stale, wait := h.s.Cover(ids, int64(h.number(0, 3, "clear")), h.count)
	h.applyCover(change)
	for _, id := range stale {
		h.status(id, transcript.Stale)
		h.mustNotFold(before, id, len(ids))
	}
	for _, id := range wait {
		h.status(id, transcript.Prepared)
	}
	if len(h.applied) == applied || !isAct(h.applied[applied]) || h.number(0, 2, "it stays") > 0 {
		return
	}
	check.NoError(h.rt, h.undo()) // what was just applied can be undone
	start := func(row transcript.Summary) bool { return row.From < before.SessionStart }
	then := slices.DeleteFunc(slices.Clone(before.Summaries), start)
	now := slices.DeleteFunc(slices.Clone(h.s.Summaries), start)
	check.Require(h.rt, (reflect.DeepEqual(then, now) || len(then)+len(now) <= 0) && before.ClearedTo == h.s.ClearedTo,
		"undo: got\n%+v\nwant\n%+v", now, then)
	check.EqualAll(h.rt, "verbatim messages after an undo", h.s.Messages, before.Messages)
}

// mustNotFold fails if a rollup that was applied alone became stale although all that stands in its
// span are its children and placeholders.
func (h *history) mustNotFold(before *transcript.State, id int64, of int) {
	row := h.summaries[id]
	if of > 1 || row.Kind != transcript.Rollup || row.Trigger == transcript.OnRepair || len(before.Messages.In(row.Span)) > 0 {
		return
	}
	found := 0
	for _, child := range before.Summaries {
		if child.Overlaps(row.Span) {
			found++
			if !child.Within(row.Span) || child.Kind != transcript.Placeholder && !slices.Contains(row.Children, child.ID) {
				return
			}
		}
	}
	check.Require(h.rt, found <= 0, "a fold of #%d to #%d became stale", row.From, row.To)
}

func (h *history) rollUp() {
	rows := h.s.Summaries
	if len(rows) < 2 {
		return
	}
	i := h.number(0, len(rows)-2, "first child")
	j := min(i+h.number(1, 3, "more children"), len(rows)-1)
	span := transcript.Span{From: rows[i].From, To: rows[j].To}
	if slices.ContainsFunc(append(slices.Clip(h.s.Sessions), transcript.Span{From: h.s.SessionStart, To: h.s.NextSeq}), span.Within) {
		h.prepare(job{from: span.From, to: span.To, trigger: transcript.OnRollup, children: transcript.IDs(rows[i : j+1]), by: h.by()})
	}
}

func (h *history) repair() {
	rows := slices.DeleteFunc(slices.Clone(h.s.Summaries), func(row transcript.Summary) bool { return !row.NeedsRepair() || row.Messages == 0 })
	if len(rows) == 0 {
		return
	}
	row := rapid.SampledFrom(rows).Draw(h.rt, "repaired")
	j := job{from: row.From, to: row.To, trigger: transcript.OnRepair, by: h.by()}
	if row.IsRollup() {
		j.children = row.Children
	} else if h.number(0, 2, "a part") == 0 {
		seqs := h.between(row.Span)
		j.from = max(h.messages[seqs[h.number(0, len(seqs)-1, "from")]].Turn, row.From)
		to := h.messages[seqs[h.number(0, len(seqs)-1, "to")]].Turn - 1
		if to > j.from {
			j.to = to
		}
	}
	h.prepare(j)
}

func (h *history) any() (m transcript.Message, ok bool) {
	seqs := h.between(transcript.Span{From: 1, To: h.s.NextSeq})
	if len(seqs) == 0 {
		return m, false
	}
	return h.messages[rapid.SampledFrom(seqs).Draw(h.rt, "message")], true
}

func (h *history) editOne() {
	h.edits = true
	if m, ok := h.any(); ok {
		h.edit(m.Seq)
	}
}

func (h *history) undoLast() {
	h.mayGo = true
	_ = h.undo()
}

// rewrite writes a line that no summary has, the text of another line, or nothing.
func (h *history) rewrite() {
	if len(h.s.Summaries) == 0 {
		return
	}
	h.mayGo = true
	row := rapid.SampledFrom(h.s.Summaries).Draw(h.rt, "rewritten")
	claims := row.Claims()
	if len(claims) == 0 {
		return
	}
	at := rapid.SampledFrom(claims).Draw(h.rt, "line").At
	text := rapid.SampledFrom([]string{fmt.Sprint("as Ann says, ", h.s.NextSummary), "and a guess", ""}).Draw(h.rt, "text")
	change, err := h.s.Rewrite(row.ID, at, text, transcript.Writer{Name: "Ann", ID: "1"})
	if err != nil {
		check.Error(h.rt, err, transcript.ErrOnlyLine)
		return
	}
	h.applyCover(change)
}

// theirLines returns the lines of the shown summaries that people wrote.
func theirLines(s *transcript.State) (theirs []string) {
	for _, row := range s.Summaries {
		claims := row.Claims()
		for _, c := range claims {
			if c.By != "" {
				theirs = append(theirs, c.Text)
			}
		}
	}
	return theirs
}

// removedLines returns the lines that people removed from the shown summaries; full: a summary has as many as it keeps.
func removedLines(s *transcript.State) (texts []string, full bool) {
	for _, row := range s.Summaries {
		removed := transcript.Removed(row)
		full = full || len(removed) == transcript.MaxDropped
		for _, l := range removed {
			texts = append(texts, l.Text)
		}
	}
	return texts, full
}

func (h *history) deleteSome() {
	h.mayGo = true
	var seqs []int64
	for range h.number(1, 6, "deleted") {
		if m, ok := h.any(); ok && !slices.Contains(seqs, m.Seq) {
			seqs = append(seqs, m.Seq)
		}
	}
	h.remove(seqs...)
}

func (h *history) truncateSome() {
	if turns := h.turns(nil); len(turns) > 0 {
		h.truncate(turns[h.number(0, len(turns)-1, "turns")].To)
	}
}

func (h *history) clear() { h.apply(h.s.Clear(int64(h.number(0, int(h.s.NextSeq), "to")))) }

func (h *history) newSession() {
	if h.number(0, 2, "not now") > 0 {
		return
	}
	if change, err := h.s.NewSession(true); err == nil {
		h.apply(change)
	}
}
