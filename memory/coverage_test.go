package memory

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cairn/compactor"
	"cairn/compactor/summarize"
)

// The whole life of a conversation in random order: whatever is begun, stored,
// applied, hidden, edited, deleted or lost in a crash, each message is always in
// exactly one place, or gone, and each row tells how many it holds.
func TestCoverage(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		c := find(t, s, fmt.Sprintf("terminal:%d", round))
		arrived, taken := 0, int64(0)
		edits, gone := 0, make(map[int64]bool) // what was deleted
		type work struct {
			compactor.Job
			from, to int64
			touched  bool // one of its messages has changed since it was begun
			undone   bool // something was undone since
			children []int64
			drafts   map[string]int64 // what it will save, of a worker's
		}
		memories := newSavings()
		var jobs, prepared []*work
		var appliedSets []compactor.State // the states before those that an undo goes back to
		between := func(name string) (from, to int64) {
			a, b := rapid.Int64Range(1, taken).Draw(rt, name+" from"), rapid.Int64Range(1, taken).Draw(rt, name+" to")
			return min(a, b), max(a, b)
		}
		touch := func(n int64, changed bool) {
			over := func(w *work) bool { return changed && w.from <= n && n <= w.to }
			for _, j := range jobs {
				j.touched = j.touched || over(j)
			}
			prepared = slices.DeleteFunc(prepared, over)
		}
		start := func(w work, by compactor.By) {
			if by == worker {
				w.drafts = make(map[string]int64)
				if w.Tools(20); !gone[w.to] {
					w.drafts[memories.draft(rt, w, w.to)] = w.to
				}
			}
			jobs = append(jobs, &w)
		}
		preparedIDs := func() (list []int64) {
			for _, w := range prepared {
				list = append(list, w.ID())
			}
			slices.Sort(list)
			return list
		}
		store := func(rt *rapid.T) {
			if len(jobs) == 0 {
				return
			}
			j := jobs[len(jobs)-1]
			jobs = jobs[:len(jobs)-1]
			for _, child := range j.children { // what it folds has left the view meanwhile
				j.touched = j.touched || number(t, c.store, "SELECT state NOT IN ('prepared', 'applied', 'rolled_up') FROM compactions WHERE id = ?", child) == 1
			}
			fresh, err := j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2})
			if err != nil {
				rt.Fatal(err)
			}
			if !j.touched {
				prepared = append(prepared, j)
			}
			var want []string
			if j.drafts != nil && !j.touched {
				want = memories.store(j.from, j.to, j.drafts)
			}
			if len(fresh) != len(want) {
				rt.Fatalf("new memories are %v, should be %v", fresh, want)
			}
		}
		applyRows := func(rt *rapid.T) {
			before := peek(rt, c)
			cleared := rapid.Int64Range(0, 50).Draw(rt, "cleared")
			if len(prepared) == 0 {
				cleared = 0 // by itself it would be a change of its own
			}
			mustApply := len(prepared) == 1 && prepared[0].children != nil && !prepared[0].undone && tiled(before, prepared[0].from, prepared[0].to, prepared[0].children)
			rows := preparedIDs()
			if _, applied := applyAndClear(rt, c, cleared, rows...); mustApply && applied[0].State != compactor.Applied {
				rt.Fatalf("the fold of %d to %d is %s, and stands in the place of %s", prepared[0].from, prepared[0].to, applied[0].State, shape(before.Head.Stack))
			}
			after := peek(rt, c)
			prepared = slices.DeleteFunc(prepared, func(w *work) bool { return !slices.Contains(ids(after.Prepared), w.ID()) })
			if !reflect.DeepEqual(after.Head.Stack, before.Head.Stack) { // what was applied before the session with it, or by itself, is not undone
				appliedSets = append(appliedSets, before)
			} else if reflect.DeepEqual(after.Head.Earlier, before.Head.Earlier) && after.Head.Version != before.Head.Version {
				rt.Fatalf("nothing applied, and the head has changed from %+v to %+v", before.Head, after.Head)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"deliver": func(rt *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(rt, "messages") {
					arrived++
					deliverOnly(t, c, said(arrived, "text"))
				}
			},
			"deliver again": func(rt *rapid.T) {
				if arrived == 0 {
					return
				}
				n := rapid.IntRange(1, arrived).Draw(rt, "message")
				if r, err := c.Inbox().Deliver(ctx, said(n, "text")); err != nil || r.Fresh {
					rt.Fatalf("message %d came again: %+v, %v", n, r, err)
				}
			},
			"take up": func(rt *rapid.T) {
				some, err := c.Inbox().TakeUp(ctx, All, rapid.IntRange(1, 100).Draw(rt, "budget"), time.Time{})
				if err != nil {
					rt.Fatal(err)
				}
				taken += int64(len(some))
			},
			"begin": func(rt *rapid.T) {
				if taken == 0 {
					return
				}
				from, to := between("span")
				by := rapid.SampledFrom([]compactor.By{worker, extractive}).Draw(rt, "by")
				start(work{Job: begin(t, c, leaf, by, from, to), from: from, to: to}, by)
			},
			"begin a fold": func(rt *rapid.T) {
				stack := load(t, c).Head.Stack
				jobs = nil // load has failed what was running
				if len(stack) < 2 {
					return
				}
				first := rapid.IntRange(0, len(stack)-2).Draw(rt, "first")
				children := stack[first : first+2]
				by := rapid.SampledFrom([]compactor.By{worker, extractive}).Draw(rt, "by")
				from, to := children[0].From, children[1].To
				start(work{Job: begin(t, c, rollup, by, from, to, ids(children)...), from: from, to: to, children: ids(children)}, by)
				if len(prepared) == 0 && rapid.Bool().Draw(rt, "at once") {
					store(rt)
					applyRows(rt)
				}
			},
			"store": store,
			"apply": applyRows,
			"undo": func(rt *rapid.T) {
				l := latest(rt, c)
				if l.Why != "" {
					if len(appliedSets) > 0 {
						rt.Fatalf("undo of %+v", l)
					}
					return
				}
				undo(rt, c)
				for _, w := range slices.Concat(jobs, prepared) {
					w.undone = true
				}
				for _, j := range jobs { // it would hide again what people want to see
					j.touched = j.touched || slices.ContainsFunc(l.Rows, func(row compactor.Compaction) bool { return row.From <= j.to && j.from <= row.To })
				}
				prepared = slices.DeleteFunc(prepared, func(w *work) bool { // they would hide it again
					return slices.ContainsFunc(l.Rows, func(row compactor.Compaction) bool { return row.From <= w.to && w.from <= row.To })
				})
				if len(appliedSets) == 0 {
					return
				}
				was, is := appliedSets[len(appliedSets)-1], peek(rt, c)
				appliedSets = appliedSets[:len(appliedSets)-1]
				if !reflect.DeepEqual(is.Head.Stack, was.Head.Stack) || is.Head.ClearedTo != was.Head.ClearedTo ||
					len(is.Messages) < len(was.Messages) || len(was.Messages) > 0 && !reflect.DeepEqual(is.Messages[:len(was.Messages)], was.Messages) {
					rt.Fatalf("before the compaction\n%+v\nafter it was undone\n%+v", was, is)
				}
			},
			"emergency": func(rt *rapid.T) {
				verbatim := load(t, c).Messages
				jobs = nil
				if len(verbatim) == 0 {
					return
				}
				n := 1 // neighbours, from the oldest on
				for n < len(verbatim) && verbatim[n].Seq == verbatim[n-1].Seq+1 {
					n++
				}
				n = rapid.IntRange(1, n).Draw(rt, "messages")
				hide(t, c, verbatim[0].Seq, verbatim[n-1].Seq)
				appliedSets = nil
			},
			"new": func(rt *rapid.T) {
				if rapid.IntRange(0, 2).Draw(rt, "rarely") > 0 {
					return
				}
				start := peek(t, c).Head.Start
				head, started := startSession(rt, c)
				left := 0
				for n := start; n <= taken; n++ {
					if !gone[n] {
						left++
					}
				}
				if started != (left > 0) || started && head.Start != taken+1 {
					rt.Fatalf("a new session: %v, at %d, with %d messages in the one before", started, head.Start, left)
				}
				if started {
					appliedSets = nil
				}
			},
			"edit": func(rt *rapid.T) {
				if taken == 0 {
					return
				}
				n := rapid.Int64Range(1, taken).Draw(rt, "message")
				edits++
				m := said(int(n), fmt.Sprint("text ", edits))
				m.Time = m.Time.AddDate(0, 0, edits)
				if seq, changed, err := c.Transcript().Edit(ctx, m); err != nil || changed == gone[n] || changed && seq != n {
					rt.Fatalf("message %d is edited: %d, %v, %v; deleted %v", n, seq, changed, err, gone[n])
				}
				appliedSets = nil
				touch(n, !gone[n])
			},
			"delete": func(rt *rapid.T) {
				if taken == 0 {
					return
				}
				n := rapid.Int64Range(1, taken).Draw(rt, "message")
				if deleted := remove(rt, c, int(n)); (len(deleted) == 1) == gone[n] {
					rt.Fatalf("deleted are %v, before: %v", deleted, gone)
				}
				touch(n, !gone[n])
				gone[n], appliedSets = true, nil
				memories.forget(n)
			},
			"crash": func(rt *rapid.T) {
				if rapid.IntRange(0, 4).Draw(rt, "rarely") > 0 {
					return
				}
				state := load(t, c)
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				if s, err = Open(ctx, Options{Dir: dir}); err != nil {
					rt.Fatal(err)
				}
				c, jobs = find(t, s, c.Name()), nil
				if again := load(t, c); !reflect.DeepEqual(state, again) {
					rt.Fatalf("before: %+v\nafter: %+v", state, again)
				}
			},
			"": func(rt *rapid.T) {
				state := peek(t, c)
				left, covered := int(taken)-len(gone), 0
				for _, row := range active(state.Head) {
					covered += row.Messages
				}
				counts, err := c.Transcript().Counts(ctx)
				if err != nil || counts.Messages != left || counts.Waiting != arrived-int(taken) {
					rt.Fatalf("%d arrived, %d taken up, counted %+v, %v", arrived, taken, counts, err)
				}
				if covered+len(state.Messages) != left {
					rt.Fatalf("%d covered and %d verbatim of %d: %s", covered, len(state.Messages), left, shape(state.Head.Stack))
				}
				if !slices.Equal(ids(state.Prepared), preparedIDs()) {
					rt.Fatalf("prepared are %v, not %v", state.Prepared, prepared)
				}
				memories.check(rt, c)
			},
		})
		checkCoverage(rt, c)
	})
}
