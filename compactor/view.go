package compactor

import (
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/transcript"
)

// view is the conversation as it is now: what the prompt shows, what of it is on disk, and what plans consider
// beside it. Copies are snapshots.
type view struct {
	transcript.View
	state     *transcript.State // what is on disk, without running jobs
	beyond    int64             // messages from this seq on follow some that are not read yet: no span reaches them; 0: none
	addressed bool              // the bot was addressed since a summary was applied
	question  int64             // the newest known message addressed to the bot; 0: none
}

func newView(s transcript.Snapshot, sh transcript.Shape) view {
	return view{
		View: transcript.NewView(s, sh, summarize.ShortenSummary), state: s.State(), beyond: s.Beyond,
		addressed: s.Addressed || s.Open != 0, question: lastAddressed(s.Messages),
	}
}

// lastAddressed returns the seq of the newest message addressed to the bot; 0 if there is none.
func lastAddressed(messages []chat.Message) int64 {
	for _, m := range slices.Backward(messages) {
		if m.Addressed {
			return m.Seq
		}
	}
	return 0
}

// current returns the state for decisions: what is on disk, without the running turn's messages, and with those verbatim that are
// hidden in memory alone. running are the rows of running jobs.
func (v view) current(running []Summary) *transcript.State {
	s := *v.state
	s.Open = v.Open
	s.Running = running
	return &s
}

// stored returns the seq up to which messages are on disk.
func (v view) stored() int64 { return v.state.NextSeq - 1 }

// prepared returns the summaries that are finished and not applied, in the order of applying.
func (v view) prepared() []Summary { return v.state.Prepared }

func (v *view) setPrepared(rows []Summary) { v.state = v.state.WithPrepared(rows) }

// reshape shows the conversation as the policy and the window of this moment say.
func (v *view) reshape(m meter) { v.View = v.View.Reshape(m.shape(m.policy())) }

// unwritten returns the placeholders that are in memory alone.
func (v view) unwritten(awaitModel bool) []Summary {
	rows := slices.DeleteFunc(slices.Clone(v.Head.Stack), func(row Summary) bool { return row.ID != 0 })
	for i := range rows {
		rows[i].AwaitsModel = v.addressed && awaitModel
	}
	return rows
}

// with returns the view with rows applied.
func (v view) with(rows []Summary) view {
	v.View, _ = v.Ahead(rows, transcript.Ahead{})
	return v
}

func (v *view) append(m chat.Message) {
	if m.Addressed && m.Role == llm.RoleUser {
		v.addressed = true
		v.question = m.Seq
	}
	v.View = v.View.Append(m)
}

// allStored notes that everything appended so far is on disk.
func (v *view) allStored() {
	var messages []transcript.Message
	for _, m := range v.Messages[v.IndexOf(v.state.NextSeq):] {
		messages = append(messages, transcript.MessageOf(*m.Message))
	}
	v.state = v.state.Stored(v.Next, messages...)
}

// committed shows a change that the store has written, and the head as it is then.
func (v *view) committed(change transcript.Change, head Head) {
	v.state = v.state.Committed(change, head)
	v.View = v.View.WithHead(head)
}

// reload shows the conversation as it is on disk now, with what the disk lacks.
func (v *view) reload(now transcript.Snapshot) {
	v.View = v.View.Reload(now)
	v.state = now.State().WithPrepared(v.state.Prepared)
	v.beyond = now.Beyond
	v.question = max(v.question, lastAddressed(now.Messages))
}

// noteDeclined notes what a model declined in a summary; id 0: in all of them.
func (v *view) noteDeclined(id int64, d Declined) {
	v.View = v.View.NoteDeclined(id, d)
	v.state = v.state.NoteDeclined(id, d)
}

// counted notes the provider's count for the prompt of a revision.
func (v *view) counted(revision int, count transcript.Count) {
	if v.Revision == revision {
		count.Version = v.Head.Version
		v.Counted = count
	}
}
