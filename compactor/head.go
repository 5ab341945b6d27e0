package compactor

import (
	"context"
	"errors"

	"cairn/transcript"
)

// Types of package transcript, under the names of this package.
type (
	Summary  = transcript.Summary
	Kind     = transcript.Kind
	By       = transcript.By
	Trigger  = transcript.Trigger
	Declined = transcript.Declined
	Span     = transcript.Span

	Head    = transcript.Head
	Pin     = transcript.Pin
	Context = transcript.Context
	Sent    = transcript.Sent
)

// Kinds, authors, states and triggers of compactions, see transcript.
const (
	Leaf        = transcript.Leaf
	Rollup      = transcript.Rollup
	Placeholder = transcript.Placeholder

	ByWorker     = transcript.Worker
	ByExtractive = transcript.Extractive
	ByNobody     = transcript.Nobody

	Running  = transcript.Running
	Prepared = transcript.Prepared
	Applied  = transcript.Applied
	RolledUp = transcript.RolledUp
	Undone   = transcript.Undone
	Failed   = transcript.Failed
	Stale    = transcript.Stale

	OnBackground = transcript.OnBackground
	OnAggressive = transcript.OnAggressive
	OnEmergency  = transcript.OnEmergency
	OnManual     = transcript.OnManual
	OnSelf       = transcript.OnSelf
	OnReactive   = transcript.OnReactive
	OnRepair     = transcript.OnRepair
	OnRollup     = transcript.OnRollup
	OnPrepare    = transcript.OnPrepare
	OnNew        = transcript.OnNew
	OnRewrite    = transcript.OnRewrite
)

// PinCost is the cost of a pin's copy.
type PinCost = transcript.PinCost

// PinCosts returns the costs of the copies of pins, in their order, if they share budget tokens
// with the first messages, see Status.PinBudget.
func PinCosts(pins []Pin, budget int) []PinCost { return transcript.PinCosts(pins, budget) }

// StartSession puts the verbatim messages behind a placeholder, which is summarized in the
// background, and starts a new session. It does not wait for a model. started is false if the
// current session is empty. Call it on the owner's goroutine, between turns.
func (c *Compactor) StartSession(ctx context.Context) (started bool, err error) {
	change, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) {
		change, err := s.NewSession(c.view.WasAddressed()) // talk without the bot is not worth a model
		if errors.Is(err, transcript.ErrEmpty) {
			err = nil
		}
		return change, err
	})
	if err != nil || change.Empty() {
		return false, err
	}
	c.tokenDeficit = 0
	c.Check(ctx)
	return true, nil
}
