// A range of messages, for charts and simulations.

package web

import (
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// messageRange is a range of messages by seq, both ends included; 0: the first one, the last one.
type messageRange struct {
	From int64 `json:"from,omitempty" jsonschema:"the first message that counts; those before it are replayed; absent: the first one"`
	To   int64 `json:"to,omitempty" jsonschema:"the last message; absent: the newest one"`
}

// rangeOf returns the range in a query; what is no number is no limit.
func rangeOf(query url.Values) (r messageRange) {
	from, _ := strconv.ParseInt(query.Get("from"), 10, 64)
	to, _ := strconv.ParseInt(query.Get("to"), 10, 64)
	r.From = max(from, 0)
	r.To = max(to, 0)
	return r
}

// query returns the range as parameters.
func (r messageRange) query() url.Values {
	q := url.Values{}
	if r.From > 0 {
		q.Set("from", strconv.FormatInt(r.From, 10))
	}
	if r.To > 0 {
		q.Set("to", strconv.FormatInt(r.To, 10))
	}
	return q
}

// has reports whether a message is in the range.
func (r messageRange) has(seq int64) bool { return seq >= r.From && (r.To == 0 || seq <= r.To) }

// check returns a Problem if no message can be in the range.
func (r messageRange) check() error {
	if r.From < 0 || r.To < 0 || r.To > 0 && r.To < r.From {
		return invalid("from %d to %d: that is no range of messages.", r.From, r.To)
	}
	return nil
}

// rangeFields are the fields of a form for the range.
func rangeFields(r messageRange) g.Node {
	field := func(label, name string, seq int64, other string) g.Node {
		value := ""
		if seq > 0 {
			value = strconv.FormatInt(seq, 10)
		}
		return h.Label(g.Text(label), h.Input(
			h.Type("number"), h.Name(name), h.Min("1"), h.Step("1"), h.Class("seq"), h.Value(value), h.Placeholder(other),
		))
	}
	return g.Group{field("Messages from ", "from", r.From, "first"), g.Text(" "), field("to ", "to", r.To, "last")}
}
