package compactor

import (
	"reflect"
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

	handed []llm.Message // the last request, if it had no pictures; none of its elements is ever overwritten
	same   int           // so many messages of handed are those of settled for good
}

// next returns what renderMessages does. The caller may change the pictures of the
// messages, and nothing else: requests share what they have in common.
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
	if len(r.pictures) > 0 {
		all := slices.Clone(r.settled)
		for i := range all {
			all[i].Images = slices.Clone(all[i].Images)
		}
		return appendLines(all, s.lines[r.cut:], r.pictures, s.volatile)
	}
	return r.hand(appendLines(slices.Clone(r.settled[r.same:]), s.lines[r.cut:], nil, s.volatile))
}

// hand returns a request that goes on with rest behind what is the same as before.
// Where the last one went on otherwise, it keeps its array and this one gets another:
// so it is at the beginning of a turn, when the volatile block has moved, but not
// between the steps of one.
func (r *rendering) hand(rest []llm.Message) []llm.Message {
	const spare = 16 // messages that may follow before the array grows
	at := 0
	for at < len(rest) && r.same+at < len(r.handed) && reflect.DeepEqual(rest[at], r.handed[r.same+at]) {
		at++
	}
	if r.same+at < len(r.handed) || r.handed == nil {
		r.handed = append(make([]llm.Message, 0, r.same+len(rest)+spare), r.settled[:r.same]...)
		at = 0
	}
	r.handed = append(r.handed, rest[at:]...)
	r.same = max(len(r.settled)-1, 0) // what follows may join the last one
	return slices.Clip(r.handed)
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
