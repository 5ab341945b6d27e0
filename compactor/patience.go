package compactor

import (
	"math"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
)

// How long the worker waits for its model, and how much material it sends at once.

const (
	// longestPiece is the time limit for one piece of a span, with all its requests; a longer timeout
	// in the policy wins.
	longestPiece = 15 * time.Minute

	// aimedPiece is the time that a piece should take at the measured speed.
	aimedPiece = 3 * time.Minute

	// minPiece is the smallest piece, in tokens, however slow the model is: the instructions are
	// about as long.
	minPiece = 1000
)

// throughput returns how many tokens the model processes in the time aimed at for a piece.
func (c *Compactor) throughput(model llm.Model) int {
	speed := learntOf(model).Speed.PerSecond()
	if speed <= 0 {
		return math.MaxInt
	}
	return int(min(speed*aimedPiece.Seconds(), math.MaxInt32))
}

// piece returns how many tokens of material one request may contain at the model's speed.
func (w worker) piece() int {
	return max(w.c.throughput(w.model)-w.frame(), minPiece)
}

// pieceOf returns how many tokens to summarize ahead at once: one request's material, less
// instructions and answer.
func (c *Compactor) pieceOf(model llm.Model, p Policy) int {
	fits := c.throughput(model) - tokens.Estimate(prompts.In(c.o.Language).Worker) - min(c.systemCost, maxAgentTokens) - requestCost
	return max(fits/(100+p.TargetPct)*100, minPiece)
}
