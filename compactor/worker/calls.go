package worker

import (
	"cairn/compactor/judge"
	"cairn/llm"
)

// calls counts the calls of a model for one part of the material, and limits them.
type calls struct {
	w          *writer
	limit      int
	used       int
	refundable bool   // the last call is counted, and may be taken back
	alive      func() // called when the model sends something
}

// newCalls returns the calls for a part. Material that was declined before gets few.
func (w *writer) newCalls(alive func()) *calls {
	limit := w.MaxCalls
	if declined := w.Repaired.Declined.Count(w.Model.Name()); declined > 0 {
		limit = min(limit, max(3-declined, 1))
	}
	return &calls{w: w, limit: limit, alive: alive}
}

// left returns how often the model may still be called.
func (c *calls) left() int { return c.limit - c.used }

// spend counts a request to the model, retries after failures included.
func (c *calls) spend() error {
	select {
	case <-c.w.Changed:
		return ErrChanged
	default:
	}
	if c.left() <= 0 {
		return judge.RefusedCalls
	}
	if c.w.Spend != nil {
		if err := c.w.Spend(true); err != nil {
			return err
		}
	}
	c.used++
	c.refundable = true
	c.alive() // a request or a retry starts
	return nil
}

// refund takes back the count of a request that the server refused because of its form. The model's client and the exchange may
// both say so.
func (c *calls) refund() {
	if c.refundable {
		c.used--
		c.refundable = false
	}
}

func (c *calls) count(u llm.Usage) {
	if c.w.Spent != nil {
		c.w.Spent(c.w.model.Name(), u)
	}
}

// show reports activity; only the complete text is used.
func (c *calls) show(string) { c.alive() }
