package transcript

import (
	"errors"
	"fmt"
)

// Errors of operations that the state does not allow.
var (
	ErrOrder = errors.New("the message does not stand where it should")
	ErrSpan  = errors.New("the span cannot be summarized")
	ErrStale = errors.New("what was read has changed")
	ErrOpen  = errors.New("a turn waits for its answer")
	ErrEmpty = errors.New("the session holds no message")
)

// Append adds messages at the end. A message without a Seq gets the next one, and one
// without a Turn is a turn of its own. A message that somebody addressed to the bot opens
// its turn. ErrOrder: a seq is not the next one, or a turn is neither its message's own nor
// the one before. ErrOpen: another turn waits for its answer, and a turn's messages are
// neighbours.
func (s *State) Append(messages ...Message) (Change, error) {
	d := s.draft()
	appended, err := d.append(messages)
	if err != nil {
		return s.none(), err
	}
	for _, m := range appended {
		if m.Addressed && m.Role == User {
			d.Open = m.Turn
		}
	}
	c := d.change()
	c.Appended = appended
	return c, nil
}

// Answer ends the open turn with what the bot and its tools said in it. Without messages the
// turn ends without an answer, and no stored turn has the context that was sent with it.
func (s *State) Answer(messages ...Message) (Change, error) {
	d := s.draft()
	appended, err := d.append(messages)
	if err != nil {
		return s.none(), err
	}
	d.Open = 0
	if len(messages) == 0 {
		return d.headChange(), nil
	}
	c := d.change()
	c.Appended = appended
	return c, nil
}

// append gives messages their places. The state has them with the change.
func (d *draft) append(messages []Message) (placed []Message, err error) {
	before := d.Open // the turn of the message before
	if newest, ok := d.Messages.Last(); ok && before == 0 {
		before = newest.Turn
	}
	for _, m := range messages {
		if m.Seq == 0 {
			m.Seq = d.NextSeq
		}
		if m.Turn == 0 {
			m.Turn = m.Seq
		}
		if d.Open != 0 && m.Turn != d.Open {
			return nil, fmt.Errorf("message %d of turn %d, turn %d: %w", m.Seq, m.Turn, d.Open, ErrOpen)
		}
		if m.Seq != d.NextSeq || m.Turn != m.Seq && m.Turn != before {
			return nil, fmt.Errorf("message %d of turn %d, where %d is next behind turn %d: %w", m.Seq, m.Turn, d.NextSeq, before, ErrOrder)
		}
		placed = append(placed, m)
		before = m.Turn
		d.NextSeq++
		d.InSession++
	}
	return placed, nil
}
