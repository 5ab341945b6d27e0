package compactor

import (
	"cmp"
	"slices"
	"sort"
)

// Plans are pure functions of what they are given: which turns leave, which
// summaries are folded, how long a summary may be.

// level is how full the window is.
type level int

const (
	levelNone level = iota
	background
	aggressive
	emergency
)

func (l level) trigger() Trigger {
	return [...]Trigger{"", OnBackground, OnAggressive, OnEmergency}[l]
}

// levelOf tells the highest level used tokens of window have reached; >= fires.
// A policy that is not Enabled knows only emergency.
func levelOf(used, window int, p Policy) level {
	p = p.At(window)
	share := float64(used) / float64(window)
	switch {
	case share >= p.EmergencyThreshold:
		return emergency
	case !p.Enabled:
		return levelNone
	case share >= p.AggressiveThreshold:
		return aggressive
	case share >= p.BackgroundThreshold || p.CompactAtTokens > 0 && used >= p.CompactAtTokens:
		return background
	}
	return levelNone
}

// Level is the highest level that so many used tokens of a window have reached: OnBackground,
// OnAggressive or OnEmergency; "" if none is.
func (p Policy) Level(used, window int) Trigger { return levelOf(used, window, p).trigger() }

// nextLevel tells which level comes next above used, and the fewest tokens that reach
// it, by levelOf itself; 0 if emergency is reached.
func nextLevel(used, window int, p Policy) (Trigger, int) {
	now := levelOf(used, window, p)
	if now == emergency {
		return OnEmergency, 0
	}
	above := sort.Search(window, func(n int) bool { return levelOf(n, window, p) > now })
	return levelOf(above, window, p).trigger(), above
}

// fraction is the share of the verbatim tokens that leaves at a level.
func (p Policy) fraction(l level) float64 {
	switch l {
	case background:
		return p.BackgroundFraction
	case aggressive:
		return p.AggressiveFraction
	default:
		return p.EmergencyFraction
	}
}

// span is a run of whole turns, oldest first.
type span struct {
	from, to int64
	lines    []line
	tokens   int
}

// planSpan takes whole turns from the oldest verbatim one on until they cover at
// least need tokens, or until the spared tail begins. from reaches back to the
// compaction before it, so that what was deleted in between is covered too.
// An empty span means that nothing may leave.
func planSpan(s view, need int, tail spared) span {
	end := sparedFrom(s.lines, s.open, tail)
	n, tokens := 0, 0
	for n < end && (n == 0 || tokens < need) {
		turn := s.lines[n].Turn
		if n > 0 && between(s.head.Stack, s.lines[n-1].Seq, s.lines[n].Seq) {
			break // what lies beyond another compaction is another span
		}
		for n < end && s.lines[n].Turn == turn {
			tokens += s.lines[n].tokens
			n++
		}
	}
	if n == 0 {
		return span{}
	}
	sp := span{from: s.lines[0].Seq, to: s.lines[n-1].Seq, lines: s.lines[:n], tokens: tokens}
	if i := lastBelow(s.head.Stack, sp.from); i >= 0 {
		sp.from = s.head.Stack[i].To + 1
	}
	return sp
}

// planAhead takes the oldest whole turns that together cost about tokens, if there
// are as many that are older than the tail: a smaller piece is not worth a call.
func planAhead(s view, tokens, tail int) span {
	end := sparedFrom(s.lines, s.open, spared{messages: len(s.lines), tokens: tail})
	older := 0
	for _, l := range s.lines[:end] {
		older += l.tokens
	}
	if older < tokens {
		return span{}
	}
	sp := planSpan(s, tokens, spared{})
	for sp.tokens > tokens { // a turn less, if it is not the only one
		last := sp.lines[len(sp.lines)-1]
		n, cost := len(sp.lines), sp.tokens
		for n > 0 && sp.lines[n-1].Turn == last.Turn {
			n--
			cost -= sp.lines[n].tokens
		}
		if n == 0 {
			break
		}
		sp.lines, sp.tokens, sp.to = sp.lines[:n], cost, sp.lines[n-1].Seq
	}
	return sp
}

// spared is what stays of the newest messages: so many, rounded up to turns, and so many turns,
// as far as they cost no more than tokens. The zero value spares nothing.
type spared struct{ messages, turns, tokens int }

// sparedFrom is the index of the first line that stays: what tail spares, of which the newest
// turn stays however large it is, and the turn that is still to be answered.
func sparedFrom(lines []line, open int64, tail spared) int {
	end, turns, tokens := len(lines), 0, 0
	for end > 0 {
		start := end - 1
		cost := lines[start].tokens
		for start > 0 && lines[start-1].Turn == lines[end-1].Turn {
			start--
			cost += lines[start].tokens
		}
		kept := len(lines) - end
		isOpen := open != 0 && lines[start].Turn == open
		if !isOpen && (kept >= tail.messages && turns >= tail.turns || kept > 0 && tokens+cost > tail.tokens) {
			break
		}
		end, turns, tokens = start, turns+1, tokens+cost
	}
	if i := slices.IndexFunc(lines[:end], func(l line) bool { return open != 0 && l.Turn == open }); i >= 0 {
		return i
	}
	return end
}

func between(stack []Compaction, a, b int64) bool {
	return slices.ContainsFunc(stack, func(row Compaction) bool { return row.From > a && row.To < b })
}

// lastBelow is the index of the newest row that ends before seq, -1 if there is none.
func lastBelow(stack []Compaction, seq int64) int {
	found := -1
	for i, c := range stack {
		if c.To < seq {
			found = i
		}
	}
	return found
}

// stackCost is what the stack costs, in tokens.
func stackCost(stack []Compaction) (tokens int) {
	for _, c := range stack {
		tokens += c.Tokens
	}
	return tokens
}

// planFold chooses the neighbours to fold into one. For a model these are the oldest
// run of two to fanIn rows of one level, else the lightest two, which are those over
// the fewest messages: so the oldest text is not summarized again and again. The
// extractive summarizer chooses again among messages, however often it folds, and takes
// the lightest two at once: so what is told is spread evenly over the conversation,
// and the stack stays full. It spares what a model wrote as long as it can. nil
// means that nothing can be folded.
func planFold(s view, fanIn int, extractive bool) []Compaction {
	stack, adjacent := s.head.Stack, s.adjacent
	if extractive {
		own := func(a, b Compaction) bool { return adjacent(a, b) && a.NeedsRepair() && b.NeedsRepair() }
		if pair := lightest(stack, own); pair != nil {
			return pair
		}
		return lightest(stack, adjacent)
	}
	for i := 0; i < len(stack); {
		j := i + 1
		for j < len(stack) && j-i < fanIn && adjacent(stack[j-1], stack[j]) && stack[j].Level == stack[i].Level {
			j++
		}
		if j-i >= 2 && stack[i].Level < MaxLevel {
			return stack[i:j]
		}
		i = j
	}
	return lightest(stack, adjacent)
}

// lightest are the two neighbours over the fewest messages, of those that may fold.
func lightest(stack []Compaction, may func(a, b Compaction) bool) (pair []Compaction) {
	least := 0
	for i := 1; i < len(stack); i++ {
		a, b := stack[i-1], stack[i]
		if weight := a.Messages + b.Messages; may(a, b) && (pair == nil || weight < least) {
			pair, least = stack[i-1:i+1], weight
		}
	}
	return pair
}

// adjacent reports whether no message stands between two rows that follow each other:
// one that was deleted before anything covered it parts nothing. A row without an id
// is not on disk yet and has no neighbours, and one that is being worked on, or of which a part is left, is not folded: its text tells of
// messages beyond the fold, which nobody would find when they are deleted.
func (s view) adjacent(a, b Compaction) bool {
	if a.Cut || b.Cut || overlaps(s.inWork, a) || overlaps(s.inWork, b) {
		return false
	}
	i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].Seq > a.To })
	return a.ID != 0 && b.ID != 0 && (i == len(s.lines) || s.lines[i].Seq > b.To)
}

// insert returns stack with row in it, in place of what it covers. Rows it
// overlaps in part lose that part: they are placeholders, which the store splits.
func insert(stack []Compaction, row Compaction) []Compaction {
	out := append(make([]Compaction, 0, len(stack)+2), row)
	for _, c := range stack {
		for _, rest := range c.Gaps([]Compaction{row}) {
			part := c
			part.Span, part.Cut = rest, c.Cut || rest != c.Span
			out = append(out, part)
		}
	}
	slices.SortFunc(out, func(a, b Compaction) int { return cmp.Compare(a.From, b.From) })
	return out
}

// foldLevel is the level of a fold of children.
func foldLevel(children []Compaction) int {
	top := 0
	for _, c := range children {
		top = max(top, c.Level)
	}
	return min(top+1, MaxLevel)
}
