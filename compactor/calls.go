package compactor

import (
	"errors"

	"cairn/compactor/judge"
	"cairn/llm"
)

// How often a worker may call its model for one chunk.

// callCount counts the calls of a model.
type callCount struct {
	made       int
	refundable bool // the last call is counted, and may be taken back
}

// errChanged ends a job whose messages people have changed: it must not send again what was deleted. A running request
// may finish: its usage is known only then.
var errChanged = errors.New(reasonStale)

// spend counts a request to the model, retries after failures included: max_turns for a chunk.
func (w worker) spend() error {
	if w.j.unchanged.Err() != nil {
		return errChanged
	}
	if w.left() <= 0 {
		return judge.RefusedCalls
	}
	if w.models.spend != nil {
		if err := w.models.spend(true); err != nil {
			return err
		}
	}
	w.calls.made++
	w.calls.refundable = true
	w.alive() // a request or a retry starts
	return nil
}

// refund takes back the count of a request that the server refused because of its form. The model's client and the exchange may
// both say so.
func (w worker) refund() {
	if w.calls.refundable {
		w.calls.made--
		w.calls.refundable = false
	}
}

func (w worker) count(u llm.Usage) {
	if w.models.spent != nil {
		w.models.spent(w.model.Name(), u)
	}
}

// left returns how often the model may still be called for this chunk. Material that was declined
// before gets few calls.
func (w worker) left() int {
	most := w.j.policy.MaxTurns
	if declined := w.models.declineCount(w.j.repaired); declined > 0 {
		most = min(most, max(3-declined, 1))
	}
	return most - w.calls.made
}
