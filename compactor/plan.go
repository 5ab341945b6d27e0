package compactor

import (
	"slices"
	"sort"

	"cairn/transcript"
)

// Plans are pure functions of their arguments: which turns leave, which summaries are folded, how
// long a summary may be.

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

// levelOf returns the highest level that used tokens of window reach; a level is reached at >= its
// threshold. A policy that is not Enabled has only emergency.
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
	case share >= p.BackgroundThreshold:
		return background
	}
	return levelNone
}

// Level returns the highest level that used tokens of a window reach: OnBackground, OnAggressive or
// OnEmergency; "" if none.
func (p Policy) Level(used, window int) Trigger { return levelOf(used, window, p).trigger() }

// nextLevel returns the next level above used, and the smallest number of tokens that reaches it;
// OnEmergency and 0 if emergency is reached.
func nextLevel(used, window int, p Policy) (Trigger, int) {
	now := levelOf(used, window, p)
	if now == emergency {
		return OnEmergency, 0
	}
	above := sort.Search(window, func(n int) bool { return levelOf(n, window, p) > now })
	return levelOf(above, window, p).trigger(), above
}

// fraction returns about which share of the verbatim tokens leaves at a level.
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

// minSpan is the size, in tokens, below which the summary of a span would not be shorter.
const minSpan = transcript.MinSummary + headingCost

// turnSpan is a run of whole turns, oldest first.
type turnSpan struct {
	Span
	messages []transcript.Verbatim
	tokens   int
}

// planSpan takes whole turns, oldest first, until they cost at least need tokens or the spared tail
// starts. From reaches back to the preceding compaction, so that deleted messages in between are
// covered too. An empty span means that nothing may leave.
func planSpan(s view, need int, tail tailLimits) turnSpan {
	end := s.tailStart(tail)
	n := 0
	tokens := 0
	for n < end && (n == 0 || tokens < need) {
		turn := s.Messages[n].Turn
		between := func(row Summary) bool { return row.From > s.Messages[n-1].Seq && row.To < s.Messages[n].Seq }
		if n > 0 && slices.ContainsFunc(s.Head.Stack, between) {
			break // messages beyond another compaction are another span
		}
		for n < end && s.Messages[n].Turn == turn {
			tokens += s.Messages[n].As.Tokens
			n++
		}
	}
	if n == 0 {
		return turnSpan{}
	}
	sp := turnSpan{Span{From: s.Messages[0].Seq, To: s.Messages[n-1].Seq}, s.Messages[:n], tokens}
	for _, row := range s.Head.Stack { // in order
		if row.To < s.Messages[0].Seq {
			sp.From = row.To + 1
		}
	}
	return sp
}

// planNearest takes the oldest whole turns that come nearest to need tokens, at least one and enough for a summary, older
// than the spared tail.
func planNearest(s view, need int, tail tailLimits) turnSpan {
	sp := planSpan(s, need, tail)
	shorter := sp.withoutLastTurn()
	if shorter.tokens >= minSpan && need-shorter.tokens < sp.tokens-need {
		return shorter
	}
	return sp
}

// planAhead is planNearest for what no level demands yet. The span is empty if less than that is older than the tail: a smaller
// piece is not worth a call.
func planAhead(s view, tokens, tail int) turnSpan {
	newest := tailLimits{messages: len(s.Messages), tokens: tail}
	if transcript.CostOf(s.Messages[:s.tailStart(newest)]) < tokens {
		return turnSpan{}
	}
	return planNearest(s, tokens, newest)
}

// withoutLastTurn returns the span without its last turn; without messages if it has only one.
func (sp turnSpan) withoutLastTurn() turnSpan {
	n := 0
	if len(sp.messages) > 0 {
		n = lastTurn(sp.messages)
	}
	if n == 0 {
		return turnSpan{}
	}
	sp.tokens -= transcript.CostOf(sp.messages[n:])
	sp.messages = sp.messages[:n]
	sp.To = sp.messages[n-1].Seq
	return sp
}

// tailLimits limits the newest messages that stay: messages, rounded up to turns, and turns, as long as
// they cost no more than tokens. The zero value spares nothing.
type tailLimits struct{ messages, turns, tokens int }

// tailStart returns the index of the first message that no span may reach.
func (s view) tailStart(tail tailLimits) int {
	end := tailStart(s.Messages, s.Open, tail)
	if s.beyond != 0 {
		end = min(end, s.IndexOf(s.beyond))
	}
	return end
}

// tailStart returns the index of the first message that stays: the tail, in which the newest turn
// stays however large it is, and the turn that is not answered yet.
func tailStart(lines []transcript.Verbatim, open int64, tail tailLimits) int {
	end := len(lines)
	turns := 0
	tokens := 0
	for end > 0 {
		start := lastTurn(lines[:end])
		cost := transcript.CostOf(lines[start:end])
		kept := len(lines) - end
		isOpen := open != 0 && lines[start].Turn == open
		if !isOpen && (kept >= tail.messages && turns >= tail.turns || kept > 0 && tokens+cost > tail.tokens) {
			break
		}
		end = start
		turns = turns + 1
		tokens = tokens + cost
	}
	if i := slices.IndexFunc(lines[:end], func(l transcript.Verbatim) bool { return open != 0 && l.Turn == open }); i >= 0 {
		return i
	}
	return end
}

func lastTurn(lines []transcript.Verbatim) int {
	n := len(lines) - 1
	for n > 0 && lines[n-1].Turn == lines[n].Turn {
		n--
	}
	return n
}

// planFold chooses neighbours to fold into one row; nil if nothing can be folded. For a model it
// takes the oldest run of two to fanIn rows of one level, else the pair over the fewest messages,
// so that the oldest text is not summarized again and again. The extractive summarizer chooses
// among the original messages however often it folds, so it takes the pair over the fewest messages
// at once, see balanced: that spreads detail over the conversation and keeps the stack full. It
// leaves rows that a model wrote for last. It includes none of the rows except.
func planFold(s view, except []Summary, fanIn int, extractive bool) []Summary {
	stack := s.Head.Stack
	adjacent := func(a, b Summary) bool { return !overlaps(except, a) && !overlaps(except, b) && s.adjacent(a, b) }
	if extractive {
		repairable := func(a, b Summary) bool { return adjacent(a, b) && a.NeedsRepair() && b.NeedsRepair() }
		if pair := balanced(stack, repairable); pair != nil {
			return pair
		}
		return balanced(stack, adjacent)
	}
	for i := 0; i < len(stack); {
		j := i + 1
		for j < len(stack) && j-i < fanIn && adjacent(stack[j-1], stack[j]) && stack[j].Level == stack[i].Level {
			j++
		}
		if j-i >= 2 && stack[i].Level < transcript.MaxLevel {
			return stack[i:j]
		}
		i = j
	}
	return lightest(stack, adjacent)
}

// tooLarge returns the only summary of a stack if it has more than limit tokens, as one of a larger
// window may; else nil. It is folded alone, but not again and again.
func (s view) tooLarge(limit int) []Summary {
	stack := s.Head.Stack
	if len(stack) != 1 {
		return nil
	}
	only := stack[0]
	foldable := only.ID != 0 && !only.Cut && only.Kind != Placeholder && only.Level < transcript.MaxLevel
	if !foldable || only.Tokens <= limit {
		return nil
	}
	return stack
}

// lightest returns the two neighbours over the fewest messages for which may returns true; nil if
// there are none.
func lightest(stack []Summary, may func(a, b Summary) bool) (pair []Summary) {
	least := 0
	for i := 1; i < len(stack); i++ {
		a := stack[i-1]
		b := stack[i]
		if weight := a.Messages + b.Messages; may(a, b) && (pair == nil || weight < least) {
			pair = stack[i-1 : i+1]
			least = weight
		}
	}
	return pair
}

// adjacent reports whether two consecutive rows may be folded: no message is between them. A
// message that was deleted before anything covered it does not separate them. Excluded are rows that
// are not on disk like this yet, without an id or cut.
func (s view) adjacent(a, b Summary) bool {
	i := s.IndexOf(a.To + 1)
	return a.ID != 0 && b.ID != 0 && !a.Cut && !b.Cut && (i == len(s.Messages) || s.Messages[i].Seq > b.To)
}

// turnSince reports whether a turn started at seq or later.
func (s view) turnSince(seq int64) bool {
	n := len(s.Messages)
	return n > 0 && s.Messages[n-1].Turn >= seq
}

func overlaps(rows []Summary, row Summary) bool {
	return slices.ContainsFunc(rows, func(r Summary) bool { return r.Overlaps(row.Span) })
}
