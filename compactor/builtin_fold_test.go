package compactor_test

import (
	"fmt"
	"testing"

	"cairn/compactor"
)

// Without a model, what can be told of a long conversation is told: the stack is
// nearly full at every instant, and no part of the conversation gets much more of it
// than another.
func TestWithoutAModelTheStackIsFullAndEven(t *testing.T) {
	r := newRig(t, 8000, nil)
	budget := 8000 * 15 / 100
	said, full, looks := 0, 0, 0
	for i := range 1500 {
		r.hear(fmt.Sprintf("On day %d Ada saw %d birds near River%d, and Paul sold boat %d to Marta%d.", i, i*7, i, i%97, i))
		r.settle()
		said++
		stack := r.c.Gauge().Stack
		if len(stack) == 0 || stack[len(stack)-1].To < 500 {
			continue // it grows still
		}
		cost, hidden, most := 0, 0, 0
		for _, row := range stack {
			cost += compactor.TokensOfCompaction(row)
			hidden += row.Messages
			most = max(most, row.Messages)
		}
		looks++
		full += cost
		if cost > budget {
			t.Fatalf("after %d messages the stack has %d of %d tokens", said, cost, budget)
		}
		if most > hidden*2/3 {
			t.Fatalf("after %d messages one row stands for %d of %d", said, most, hidden)
		}
	}
	if share := full * 100 / max(looks*budget, 1); share < 85 {
		t.Errorf("the stack has %d %% of its budget in the mean", share)
	}
	r.verify()
}
