package compactor

import (
	"math"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
)

// How long the worker waits for its model, and how much it gives it at once.

const (
	// longestPiece is the time for one piece of a span, with all its requests; a
	// longer timeout in the policy wins.
	longestPiece = 15 * time.Minute

	// aimedPiece is the time that a piece should take, at the speed seen so far.
	aimedPiece = 3 * time.Minute

	// minPiece is the least a piece holds, in tokens, however slow the model is: the
	// instructions are about as long.
	minPiece = 1000
)

// throughput is how many tokens the model works through in the time for a piece.
func (c *Compactor) throughput(model llm.Model) int {
	speed := learntOf(model).Speed.PerSecond()
	if speed <= 0 {
		return math.MaxInt
	}
	return int(min(speed*aimedPiece.Seconds(), math.MaxInt32))
}

// piece is how much material one request may hold, in tokens, at the speed of the model.
func (w worker) piece() int {
	return max(w.c.throughput(w.model)-w.frame(), minPiece)
}

// pieceOf is how much should be summarized ahead at once, in tokens: one request's
// material, with the instructions and the answer beside it.
func (c *Compactor) pieceOf(model llm.Model, p Policy) int {
	fits := c.throughput(model) - tokens.Estimate(prompts.In(c.o.Language).Worker) - min(c.fixed.system, mostOfAgent) - requestCost
	return max(fits/(100+p.TargetPct)*100, minPiece)
}
