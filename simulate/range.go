// A range of the messages of a recording.

package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNoMessages means that a range has no messages.
var ErrNoMessages = errors.New("there are no messages")

// Until returns the recording as it was before the message after the one with a seq; 0: all of it.
func (r Recording) Until(seq int64) Recording {
	next := slices.IndexFunc(r.Messages, func(m Message) bool { return m.Seq > seq })
	if seq == 0 || next < 0 {
		return r
	}
	r.ended = r.Messages[next].Saved
	r.Messages = r.Messages[:next]
	r.Imported = min(r.Imported, seq)
	r.Summaries = slices.DeleteFunc(slices.Clone(r.Summaries), func(s Summary) bool { return !s.Began.Before(r.ended) })
	r.Sessions = slices.DeleteFunc(slices.Clone(r.Sessions), func(first int64) bool { return first > seq })
	return r
}

// count notes in the report which messages count.
func (r *Recording) count(from int64, report *Report) error {
	first := slices.IndexFunc(r.Messages, func(m Message) bool { return m.Seq >= from })
	if first < 0 && len(r.Messages) > 0 {
		return fmt.Errorf("from #%d on %w: the last one is #%d", from, ErrNoMessages, r.Messages[len(r.Messages)-1].Seq)
	}
	if len(r.Messages) == 0 {
		return nil
	}
	if first > 0 {
		r.began = r.Messages[first].Saved
	}
	report.Messages = len(r.Messages) - first
	report.From = r.Messages[first].Seq
	report.To = r.Messages[len(r.Messages)-1].Seq
	return nil
}

// counts reports whether something that happened at t is in the range.
func (r *Recording) counts(t time.Time) bool {
	return !t.Before(r.began) && (r.ended.IsZero() || t.Before(r.ended))
}

// enter begins to count if the messages up to the one with a seq reach into the range.
func (p *player) enter(seq int64) {
	if p.entered || seq < p.o.From {
		return
	}
	p.entered = true
	p.result = Result{}
	p.sums = sums{}
	p.summaries.spent = Spent{}
	if p.newest.Seq > 0 {
		used, _, _ := p.engine.Usage()
		p.point(used)
	}
}
