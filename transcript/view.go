package transcript

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"cairn/chat"
	"cairn/llm"
)

// View is what a prompt shows of a conversation in one Shape: the head, and the verbatim messages with the
// turn contexts behind them. It begins with what is on disk, see NewView, and has what the disk lacks: the messages
// of the running turn, what is hidden while the disk refuses to write it, and what the running turn had to clear.
//
// A View is immutable: each of its methods returns the next one, at the cost of what changes. Views share
// their messages, and no element of a slice is ever overwritten. Costs are in estimated tokens.
type View struct {
	Shape Shape
	Head  Head  // with placeholders over Hidden
	Next  int64 // the seq the next message will get
	Open  int64 // the turn that is not answered yet; 0: none

	HeadText string // the block above the messages
	HeadCost int
	Past     Past // what HeadText shows from before the session

	Messages    []Verbatim // verbatim, by seq
	MessageCost int
	Hidden      []Verbatim // behind placeholders that exist in memory alone

	Revision int   // incremented when an existing part changes; an append does not count
	Counted  Count // the provider's count for a prompt that this one extends; the zero value: there is none

	first        []chat.Message // see Snapshot
	copies       []copied       // of them and of pins, for the head
	contexts     []contextBlock // by seq
	contextRuns  bool           // the last context is the running turn's
	clearedTo    int64          // may be ahead of the head's in the running turn
	newestResult int64          // no tool result has a larger seq
	squeezed     bool           // messages of the running turn are clipped below the shape's bound
	shorten      Shorten
}

// NewView returns the view of a stored conversation. shorten shortens summaries of earlier sessions that do not
// fit; nil: they are left out.
func NewView(s Snapshot, sh Shape, shorten Shorten) View {
	v := View{Shape: sh, Head: s.Head, Next: s.Next, Open: s.Open, first: s.First, clearedTo: s.Head.ClearedTo, shorten: shorten}
	messages := make([]Verbatim, len(s.Messages))
	for i, m := range s.Messages {
		messages[i] = Show(sh.stored(m), sh)
	}
	for _, c := range s.Contexts {
		v.contexts = append(v.contexts, blockOf(c))
	}
	v = v.showing(messages)
	v.newestResult = v.LastResult(v.Next)
	return v.withHeadText()
}

// Cost returns the tokens of all that the view shows.
func (v View) Cost() int { return v.HeadCost + v.MessageCost + v.ContextCost() }

// StackCost returns what counts against the stack's budget, in tokens.
func (v View) StackCost() int { return StackCost(v.Head.Stack) + v.Past.Tokens }

// StackCost returns the tokens of rows.
func StackCost(rows []Summary) (cost int) {
	for _, row := range rows {
		cost += row.Tokens
	}
	return cost
}

// IndexOf returns the index of the first message from seq on.
func (v View) IndexOf(seq int64) int {
	return sort.Search(len(v.Messages), func(i int) bool { return v.Messages[i].Seq >= seq })
}

// At returns the message seq; ok is false if it is not verbatim.
func (v View) At(seq int64) (m Verbatim, ok bool) {
	if i := v.IndexOf(seq); i < len(v.Messages) && v.Messages[i].Seq == seq {
		return v.Messages[i], true
	}
	return m, false
}

// Shows reports whether a message is verbatim.
func (v View) Shows(seq int64) bool {
	_, found := v.At(seq)
	return found
}

// Turn returns the messages of a turn.
func (v View) Turn(turn int64) []Verbatim {
	from := v.IndexOf(turn)
	to := from
	for to < len(v.Messages) && v.Messages[to].Turn == turn {
		to++
	}
	return v.Messages[from:to:to]
}

// WasAddressed reports whether a message of the session was addressed to the bot.
func (v View) WasAddressed() bool { return len(v.first) > 0 }

// Reshape shows the conversation in another shape.
func (v View) Reshape(sh Shape) View {
	if v.Shape == sh {
		return v
	}
	v.Shape = sh
	v = v.rework(0, true)
	return v.withHeadText()
}

// Append adds messages at the end. An addressed one opens its turn, or was said during it. A message whose seq is below Next is
// there already.
func (v View) Append(messages ...chat.Message) View {
	for _, m := range messages {
		if m.Addressed && m.Role == llm.RoleUser {
			v.Open = m.Turn
		}
		if m.Seq < v.Next { // it was read from disk already, as it is there now
			continue
		}
		s := Show(m, v.Shape)
		v.Messages = appended(v.Messages, s, func(m Verbatim) bool { return m.Message != nil })
		v.MessageCost += s.As.Tokens
		v.Next = s.Seq + 1
		if s.Role == llm.RoleTool {
			v.newestResult = s.Seq
		}
		if IsFirst(v.first, m) {
			v.first = append(slices.Clip(v.first), *s.Message)
			v.copies = copiesOf(v.Head.Pins, v.first, v.Shape)
		}
	}
	return v
}

// appended returns a list with one more element. It writes behind the last one of the array, unless another view has
// an element there, which isSet finds.
func appended[T any](list []T, one T, isSet func(T) bool) []T {
	n := len(list)
	if n < cap(list) && isSet(list[:n+1][n]) {
		list = slices.Clip(list)
	}
	return append(list, one)
}

// Truncate drops the messages from seq on, because a turn failed before it was written.
func (v View) Truncate(seq int64) View {
	n := v.IndexOf(seq)
	if k := slices.IndexFunc(v.first, func(m chat.Message) bool { return m.Seq >= seq }); k >= 0 { // people said that during the turn
		v.first = slices.Clip(v.first[:k])
		v.copies = copiesOf(v.Head.Pins, v.first, v.Shape)
	}
	if n < len(v.Messages) {
		v = v.changed()
	}
	v.MessageCost -= CostOf(v.Messages[n:])
	v.Messages = slices.Clip(v.Messages[:n])
	v.Next = min(v.Next, seq)
	v = v.dropContexts(seq)
	cleared := v.clearedTo > v.Head.ClearedTo
	v.clearedTo = v.Head.ClearedTo
	if cleared {
		v = v.rework(0, false)
	}
	return v
}

// WithHead shows a committed head if it is newer: messages that it covers leave, and old tool results are shown as it
// says. What the running turn had to clear stays cleared, and what is hidden in memory alone stays hidden.
func (v View) WithHead(head Head) View {
	if head.Version <= v.Head.Version {
		return v
	}
	hidden := slices.DeleteFunc(slices.Clone(v.Hidden), func(m Verbatim) bool { return m.Seq < head.Start || covers(head.Stack, m.Seq) })
	head.Stack = withPlaceholders(head.Stack, hidden)
	clearedTo := head.ClearedTo // an undo may lower it
	if v.clearedTo != v.Head.ClearedTo {
		clearedTo = max(clearedTo, v.clearedTo)
	}
	v.Head = head
	v.Hidden = hidden
	v.first = slices.DeleteFunc(slices.Clone(v.first), func(m chat.Message) bool { return m.Seq < head.Start })
	v = v.withNewHead()
	if clearedTo != v.clearedTo {
		v = v.Clear(clearedTo)
	}
	return v
}

// withNewHead shows the head that was just set: covered messages leave, and contexts and reasoning that
// only the old head needed end.
func (v View) withNewHead() View {
	v = v.withHeadText()
	earlier := Summary{Span: Span{To: v.Head.Start - 1}}
	cut := cutOf(v.Messages, append([]Summary{earlier}, v.Head.Stack...))
	v.Messages = cut.of(v.Messages)
	v.MessageCost = v.MessageCost - cut.tokens
	v = v.WithoutOldContexts()
	v = v.DropReasoning(math.MaxInt64)
	return v.changed()
}

// Hide covers the messages of a span in memory alone, because the disk refuses to write the placeholder. Adjacent runs
// become one placeholder.
func (v View) Hide(sp Span) View {
	v.Hidden = slices.Concat(v.Hidden, v.Messages[v.IndexOf(sp.From):v.IndexOf(sp.To+1)])
	v.Head.Stack = withPlaceholders(v.Head.Stack, v.Hidden)
	return v.withNewHead()
}

// withPlaceholders returns stack with a placeholder over each run of the messages, which are not on disk.
func withPlaceholders(stack []Summary, hidden []Verbatim) []Summary {
	stack = slices.Clone(stack)
	for i := 0; i < len(hidden); {
		row := Summary{
			Kind: Placeholder, By: Nobody, State: Applied, Trigger: OnEmergency,
			Span: Span{From: hidden[i].Seq}, FromTime: hidden[i].Time,
		}
		for first := i; i < len(hidden) && hidden[i].Seq == row.From+int64(i-first); i++ {
			row.To = hidden[i].Seq
			row.ToTime = hidden[i].Time
			row.Messages = row.Messages + 1
		}
		row.Tokens = row.Cost()
		stack = insert(stack, row)
	}
	return stack
}

// Reload shows the conversation as it is on disk now, with what the disk lacks: messages and context of the running turn,
// what it had to clear, and what is hidden in memory alone.
func (v View) Reload(now Snapshot) View {
	next := NewView(now, v.Shape, v.shorten)
	next.Revision = v.Revision + 1
	next.Open = cmp.Or(v.Open, next.Open)
	if n := len(v.Hidden); n > 0 {
		next = next.Hide(Span{To: v.Hidden[n-1].Seq})
	}
	next = next.Append(now.Running...)
	if v.clearedTo > v.Head.ClearedTo {
		next = next.Clear(max(v.clearedTo, next.clearedTo))
	}
	if v.contextRuns {
		next = next.keepContext(v.contexts[len(v.contexts)-1], now.Changed)
	}
	return next
}

// Restore shows messages that the head has uncovered.
func (v View) Restore(messages []chat.Message) View {
	all := slices.Clone(v.Messages)
	for _, m := range messages {
		all = append(all, Show(v.Shape.stored(m), v.Shape))
	}
	slices.SortFunc(all, func(a, b Verbatim) int { return cmp.Compare(a.Seq, b.Seq) })
	v = v.showing(all)
	v.newestResult = max(v.newestResult, v.LastResult(v.Next))
	return v
}

// showing returns the view with other messages, of which it shows tool results as they have to be.
func (v View) showing(messages []Verbatim) View {
	clearResults(messages, v.clearedTo, v.Shape.ResultsKept)
	v.Messages = messages
	v.MessageCost = CostOf(messages)
	v.Revision++
	return v
}

// changed records that an existing part has changed, which the provider's count does not know.
func (v View) changed() View {
	v.Revision++
	v.Counted = Count{}
	return v
}
