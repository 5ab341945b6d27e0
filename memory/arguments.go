// Arguments that a model sends to memory_save. Small models do not follow the schema, and a memory
// is worth more than its form, so each field is accepted in every form with a clear meaning. For
// anything else the error says what to send instead.

package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// readDraft parses the arguments of memory_save. The error lists everything that cannot be parsed,
// because a model may have only one more attempt.
func readDraft(arguments json.RawMessage) (draft, error) {
	var encoded string // some servers encode the object twice
	if json.Unmarshal(arguments, &encoded) == nil {
		arguments = json.RawMessage(encoded)
	}
	var a map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &a); err != nil || a == nil {
		return draft{}, errors.New(`the arguments cannot be read: send one object, {"content": "…", "kind": "fact", "messages": [3]}`)
	}
	d := draft{by: byWorker}
	var wrong []error
	read := func(read func() error) {
		if err := read(); err != nil {
			wrong = append(wrong, err)
		}
	}
	read(func() (err error) { d.Content, err = textOf(a, "content", "text", "memory"); return err })
	read(func() (err error) { d.Kind, err = kindOf(a); return err })
	read(func() (err error) { d.Importance, err = importanceOf(a); return err })
	read(func() (err error) { d.Messages, err = messagesOf(a); return err })
	read(func() (err error) { d.About, err = textOf(a, "about"); return err })
	read(func() (err error) { d.supersedes, err = supersededBy(a); return err })
	read(func() (err error) { d.until, err = textOf(a, "expires"); return err })
	d.About = strings.TrimPrefix(strings.TrimSpace(d.About), "@")
	return d, errors.Join(wrong...)
}

// textOf returns the first of the named fields that exists, as text: a number as written, a list of
// one element as that element. Missing fields and null are "".
func textOf(a map[string]json.RawMessage, names ...string) (string, error) {
	for _, name := range names {
		raw, found := a[name]
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
			raw = list[0]
		}
		var text string
		var number json.Number
		switch {
		case !found || string(raw) == "null":
			continue
		case json.Unmarshal(raw, &text) == nil:
		case json.Unmarshal(raw, &number) == nil:
			text = number.String()
		default:
			return "", fmt.Errorf("%s cannot be read: send one text", name)
		}
		return text, nil
	}
	return "", nil
}

// otherKinds maps other words for kinds of memory, as models use them.
var otherKinds = map[string]string{
	"person": "identity", "profile": "identity", "plan": "goal", "intention": "goal", "choice": "decision",
	"task": "todo", "commitment": "todo", "promise": "todo", "reminder": "todo", "like": "preference", "information": "fact",
}

// kindOf reads a kind: "Decision", "preferences", "to-do", "fact (work)", "task". A memory without
// a kind is a fact. Anything else is returned unchanged, for the check to refuse.
func kindOf(a map[string]json.RawMessage) (string, error) {
	written, err := textOf(a, "kind", "type", "category")
	if err != nil {
		return "", err
	}
	parts := strings.FieldsFunc(strings.ToLower(written), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(parts) == 0 {
		return "fact", nil
	}
	for _, kind := range []string{strings.Join(parts, ""), parts[0]} {
		if one, found := strings.CutSuffix(kind, "ies"); found {
			kind = one + "y"
		} else {
			kind = strings.TrimSuffix(kind, "s")
		}
		if other, found := otherKinds[kind]; found {
			kind = other
		}
		if slices.Contains(Kinds, kind) {
			return kind, nil
		}
	}
	return written, nil
}

var importanceWords = map[string]float64{"low": 0.3, "medium": 0.5, "moderate": 0.5, "normal": 0.5, "high": 0.8, "very high": 0.9, "critical": 1}

// importanceOf reads 0.8, "0.8", 8 (of ten), "8/10", 80 (of a hundred), "80%" and "high". 0 means
// the default of the kind.
func importanceOf(a map[string]json.RawMessage) (float64, error) {
	written, err := textOf(a, "importance")
	text := strings.ToLower(strings.TrimSpace(written))
	if err != nil || text == "" || text == "none" || text == "null" {
		return 0, err
	}
	if worth, found := importanceWords[text]; found {
		return worth, nil
	}
	part, whole, divided := strings.Cut(strings.ReplaceAll(text, "%", "/100"), "/")
	n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
	of := 1.0
	switch {
	case err != nil:
	case divided:
		of, err = strconv.ParseFloat(strings.TrimSpace(whole), 64)
	case n > 10:
		of = 100
	case n >= 2: // from 1 to 2 it may be out of one, two or ten
		of = 10
	}
	if err != nil || !(n >= 0 && n <= of && of >= 1) { // true for NaN
		return 0, fmt.Errorf("importance is %q: send a number from 0 to 1, or leave it out", written)
	}
	return n / of, nil
}

// mostInRange is the maximum number of messages in a range: one fact does not come from more.
const mostInRange = 50

var (
	seqPattern  = regexp.MustCompile(`#?(\d+)(?:\s*(?:-|–|—|\.\.+|to)\s*#?(\d+))?`)
	besidesSeqs = regexp.MustCompile(`(?i)^(?:[\s,;#()\[\]"]|messages?|msgs?|numbers?|no\.|and)*$`)
)

// messagesOf reads the numbers of messages: [3], 3, ["3"], "#3", "3, 4", "3-5".
func messagesOf(a map[string]json.RawMessage) (seqs []int64, err error) {
	raw := a["messages"]
	if raw == nil {
		raw = a["message"]
	}
	var list []json.RawMessage
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, one := range list {
		text, err := textOf(map[string]json.RawMessage{"messages": one}, "messages")
		if err != nil {
			return nil, errors.New("messages cannot be read: send a list of integers, [3, 4]")
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil && n == float64(int64(n)) { // 3.0 and -3 too
			seqs = append(seqs, int64(n))
			continue
		}
		if !besidesSeqs.MatchString(seqPattern.ReplaceAllString(text, " ")) {
			return nil, fmt.Errorf("messages holds %q: send a list of integers, [3, 4]", text)
		}
		for _, m := range seqPattern.FindAllStringSubmatch(text, -1) {
			from, err := strconv.ParseInt(m[1], 10, 64)
			to := from
			if err == nil && m[2] != "" {
				to, err = strconv.ParseInt(m[2], 10, 64)
			}
			if err != nil || to < from || to-from >= mostInRange {
				return nil, fmt.Errorf("messages holds %q: name the few messages it comes from, as a list of integers", text)
			}
			for seq := from; seq <= to; seq++ {
				seqs = append(seqs, seq)
			}
		}
	}
	return seqs, nil
}

// supersededBy reads the id of the memory that a draft supersedes; 0: none.
func supersededBy(a map[string]json.RawMessage) (int64, error) {
	written, err := textOf(a, "supersedes")
	text := strings.ToLower(strings.TrimSpace(written))
	if err != nil || slices.Contains([]string{"", "none", "null", "no", "n/a", "false"}, text) {
		return 0, err
	}
	id, err := strconv.ParseInt(strings.TrimLeft(strings.TrimPrefix(text, "memory"), "# "), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("supersedes is %q: send the id of a memory as an integer, or leave it out", written)
	}
	return max(id, 0), nil
}

// selfWords are words that models use for the speaker of a memory's messages.
var selfWords = []string{"user", "the user", "speaker", "the speaker", "author", "the author", "me", "i", "myself", "self"}
