// Arguments of memory_save. Small models do not follow the schema, and a memory is worth more than its form, so the forms that
// they often use are accepted; for anything else the error says what to send instead.

package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// loose is a text that a model may write as a number, true or false; null is "".
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var number json.Number
		if string(raw) != "true" && string(raw) != "false" && json.Unmarshal(raw, &number) != nil {
			return errForm
		}
		text = cmp.Or(number.String(), string(raw))
	}
	*l = loose(strings.TrimSpace(text))
	return nil
}

// looseList is a list whose only element may stand without the list.
type looseList []loose

func (l *looseList) UnmarshalJSON(raw []byte) error {
	var list []loose
	if json.Unmarshal(raw, &list) == nil {
		*l = list
		return nil
	}
	*l = make(looseList, 1)
	return (*l)[0].UnmarshalJSON(raw)
}

// items returns the texts of a list, also if a model wrote them as one text with commas.
func (l looseList) items() (all []string) {
	for _, text := range l {
		for _, one := range strings.Split(string(text), ",") {
			one = strings.TrimSpace(one)
			if one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// item is one memory of a call.
type item struct {
	draft
	err error // why it cannot be read; nil: it can
}

// readItems returns the memories of a call, in their order.
func readItems(arguments json.RawMessage) (items []item) {
	for _, raw := range rawItems(arguments, maxNesting) {
		var it item
		it.draft, it.err = readDraft(raw)
		items = append(items, it)
	}
	return items
}

// maxNesting limits how deep lists, and JSON inside of texts, may be nested in a call.
const maxNesting = 4

// rawItems finds the memories in what a model wrote: in "memories", in a list alone, in one object, or in JSON inside of a text.
// What is none of these is an item that cannot be read.
func rawItems(raw json.RawMessage, nesting int) (items []json.RawMessage) {
	var list []json.RawMessage
	var text string
	var object struct{ Memories, Content json.RawMessage }
	switch first := (string(raw) + " ")[0]; {
	case nesting == 0:
	case first == '[' && json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			items = append(items, rawItems(one, nesting-1)...)
		}
		return items
	case first == '"' && json.Unmarshal(raw, &text) == nil:
		inside := strings.TrimSpace(text)
		if json.Valid([]byte(inside)) && strings.ContainsAny(inside[:1], "{[") {
			return rawItems(json.RawMessage(inside), nesting-1)
		}
	case first == '{' && json.Unmarshal(raw, &object) == nil && !isNull(object.Memories):
		items = rawItems(object.Memories, nesting-1)
		if isNull(object.Content) {
			return items
		}
	}
	return append(items, raw)
}

var errForm = errors.New(`the arguments cannot be read: send {"memories": [{"content": "…", "kind": "fact", "messages": [3]}]}, one object for each memory`)

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// readDraft reads one memory. A text alone is a fact.
func readDraft(raw json.RawMessage) (d draft, err error) {
	var a struct {
		Content                                      *loose
		Kind, Importance, About, Supersedes, Expires loose
		Attribute, Since, Until                      loose
		Value, Also, Messages                        looseList
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && !isNull(raw) {
		alone := loose(text)
		a.Content = &alone
		a.Kind = "fact"
	} else if err := json.Unmarshal(raw, &a); err != nil || a.Content == nil {
		return d, errForm
	}
	d.By = byWorker
	d.Content = string(*a.Content)
	d.Kind = strings.ToLower(string(a.Kind))
	d.expires = string(a.Expires)
	if d.Kind == "person" {
		d.Kind = "identity"
	}
	d.About = strings.TrimPrefix(string(a.About), "@")
	d.Attribute = string(a.Attribute)
	d.Since = string(a.Since)
	d.Until = string(a.Until)
	d.Also = a.Also.items()
	if len(a.Value) == 1 { // what has several values at a time has none that supersedes another
		d.Value = string(a.Value[0])
	}
	for _, written := range a.Messages {
		seq, err := strconv.ParseFloat(strings.TrimPrefix(string(written), "#"), 64)
		if err != nil || seq != float64(int64(seq)) {
			return d, fmt.Errorf("messages holds %q: send a list of integers, [3, 4]", written)
		}
		d.Sources = append(d.Sources, int64(seq))
	}
	d.Importance, err = importanceOf(string(a.Importance))
	if err != nil {
		return d, err
	}
	if a.Supersedes != "" && a.Supersedes != "none" {
		d.supersedes, err = strconv.ParseInt(strings.TrimPrefix(string(a.Supersedes), "#"), 10, 64)
		if err != nil {
			return d, fmt.Errorf("supersedes is %q: send the id of a memory as an integer, or leave it out", a.Supersedes)
		}
	}
	return d, nil
}

var importanceWords = map[string]float64{"": 0, "low": 0.3, "medium": 0.5, "high": 0.8}

// importanceOf reads 0.8, 8 (of ten) and "high". 0 means the default of the kind.
func importanceOf(written string) (float64, error) {
	if worth, found := importanceWords[strings.ToLower(written)]; found {
		return worth, nil
	}
	n, err := strconv.ParseFloat(written, 64)
	if err != nil {
		return 0, fmt.Errorf("importance is %q: send a number from 0 to 1, or leave it out", written)
	}
	if n >= 2 { // from 1 to 2 it may be out of one, two or ten
		n /= 10
	}
	return n, nil
}
