package compactor

import (
	"slices"

	"cairn/llm"
)

// rendering keeps the last request, so that the next one costs what was added and not
// what the window holds. Its owner is the conversation's.
type rendering struct {
	head     string
	lines    []line        // as they were; holds their array, so that no other one gets its address
	contexts []turnContext // likewise
	out      []llm.Message // the request; requests share it, and none of its elements is ever overwritten
	headLen  int           // system prompt and head
	pictures map[int64][]llm.Image
}

// next returns what renderMessages does. The caller may change the pictures of the
// messages, and nothing else: requests share what they have in common.
func (r *rendering) next(system string, s view) []llm.Message {
	if !r.goesOn(s) {
		*r = rendering{head: s.headText, pictures: shownPictures(s.lines)}
		r.out = appendHead(make([]llm.Message, 0, len(s.lines)+len(s.lines)/8+16), system, s.headText)
		r.headLen = len(r.out)
	}
	r.out = appendLines(r.out, s.lines[len(r.lines):], s.contexts[len(r.contexts):], r.pictures)
	r.lines, r.contexts = s.lines, s.contexts
	if len(r.pictures) == 0 {
		return slices.Clip(r.out)
	}
	all := slices.Clone(r.out)
	for i := range all {
		all[i].Images = slices.Clone(all[i].Images)
	}
	return all
}

// dropsPictures reports whether new pictures in s take the places of some that the last
// request showed: that changes what was sent, and so is a new head.
func (r *rendering) dropsPictures(s view) bool {
	if len(r.pictures) == 0 || len(s.lines) <= len(r.lines) || !slices.ContainsFunc(s.lines[len(r.lines):], func(l line) bool { return l.pictures > 0 }) {
		return false
	}
	shown := shownPictures(s.lines)
	return slices.ContainsFunc(s.lines, func(l line) bool { return len(shown[l.Seq]) < len(r.pictures[l.Seq]) })
}

// goesOn reports whether s shows the lines and contexts of the last request, and more
// behind them. No element of a history's lines is ever overwritten: what begins at the
// same place in memory and is no shorter begins with the same lines. A new picture may
// take the place of an older one, and a new result that of a missing one.
func (r *rendering) goesOn(s view) bool {
	n, k := len(r.lines), len(r.contexts)
	if n == 0 || len(s.lines) < n || &s.lines[0] != &r.lines[0] || s.headText != r.head {
		return false
	}
	if len(s.contexts) < k || k > 0 && &s.contexts[0] != &r.contexts[0] || len(s.contexts) > k && s.contexts[k].Seq <= r.lines[n-1].Seq {
		return false
	}
	rest := s.lines[n:]
	return !slices.ContainsFunc(rest, func(l line) bool { return l.pictures > 0 }) && (len(rest) == 0 || rest[0].Role != llm.RoleTool)
}
