package compactor

import (
	"slices"

	"cairn/llm"
)

// rendering keeps what the next request begins with, so that a request costs what
// was added and not what the window holds. Its owner is the conversation's.
type rendering struct {
	head     string
	lines    []line        // as they were; holds their array, so that no other one gets its address
	cut      int           // settled ends before this line
	settled  []llm.Message // system prompt, head, and the lines that nothing behind them changes
	pictures map[int64][]llm.Image
}

// next returns what renderMessages does. It is the caller's to change.
func (r *rendering) next(system string, s snapshot) []llm.Message {
	if !r.goesOn(s) {
		*r = rendering{head: s.headText, pictures: shownPictures(s.lines)}
		r.settled = appendHead(make([]llm.Message, 0, len(s.lines)/2+2), system, s.headText)
	}
	if cut := lastRun(s.lines); cut > r.cut {
		r.settled = appendLines(r.settled, s.lines[r.cut:cut], r.pictures, "")
		r.cut = cut
	}
	r.lines = s.lines
	out := append(make([]llm.Message, 0, len(r.settled)+len(s.lines)-r.cut), r.settled...)
	for i := range out {
		out[i].Images = slices.Clone(out[i].Images)
	}
	return appendLines(out, s.lines[r.cut:], r.pictures, s.volatile)
}

// goesOn tells whether s shows the lines of the last request, and more behind them.
// No element of a history's lines is ever overwritten: what begins at the same place
// in memory and is no shorter begins with the same lines. A new picture may take the
// place of an older one.
func (r *rendering) goesOn(s snapshot) bool {
	n := len(r.lines)
	if n == 0 || len(s.lines) < n || &s.lines[0] != &r.lines[0] || s.headText != r.head {
		return false
	}
	return !slices.ContainsFunc(s.lines[n:], func(l line) bool { return l.pictures > 0 })
}

// lastRun is the index where the last neighbours in user role begin: another one may
// join them, and the volatile block stands behind them. What is before them stays.
func lastRun(lines []line) int {
	i := max(lastOfUser(lines), 0)
	for i > 0 && lines[i-1].Role == llm.RoleUser {
		i--
	}
	return i
}
