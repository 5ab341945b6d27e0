package simulate_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/simulate"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// windows are the sizes in which compact_at_tokens must keep its promise.
var windows = []int{16_000, 32_000, 100_000, 200_000, 1_000_000}

// forEachLimit calls f for windows and values of compact_at_tokens, with the most tokens that may be used.
func forEachLimit(t *testing.T, f func(t *testing.T, agent channel.Agent, most int)) {
	for _, window := range windows {
		for _, at := range []int{0, 8_000, 10_000, 100_000} {
			most := window * 8 / 10
			if at > 0 {
				most = min(most, at)
			}
			t.Run(fmt.Sprintf("%d tokens of %d", at, window), func(t *testing.T) {
				check.SkipUnderRace(t)
				t.Parallel()
				f(t, agentOf(window, func(p *compactor.Policy) { p.CompactAtTokens = at }), most)
			})
		}
	}
}

// wantAtMost checks what the database says of the window.
func wantAtMost(t *testing.T, db *store.Store, agent channel.Agent, most int) {
	t.Helper()
	got := check.Must(channel.ReadContext(t.Context(), storetest.Find(t, db, name), agent))(t)
	check.That(t, got.Used <= most && got.Messages > 0, "got %d tokens used, want at most %d", got.Used, most)
}

// promptOf estimates the prompt of a request.
func promptOf(req llm.Request) (cost int) {
	for _, m := range req.Messages {
		cost += tokens.PerMessage + tokens.Estimate(m.Text)
	}
	return cost + compactor.FrameCost("", req.Tools)
}

func TestCompactAtTokensHoldsInAnImport(t *testing.T) {
	forEachLimit(t, func(t *testing.T, agent channel.Agent, most int) {
		db, hub := open(t, t.TempDir(), agent)
		check.Must(hub.Import(t.Context(), name, talk(419, 7), func(channel.ImportProgress) {}))(t)
		check.NoError(t, hub.Close())
		wantAtMost(t, db, agent, most)
		check.NoError(t, db.Close())
	})
}

func TestCompactAtTokensHoldsInASimulation(t *testing.T) {
	rec := simulate.FromFile("talk", talk(419, 7), "")
	forEachLimit(t, func(t *testing.T, agent channel.Agent, most int) {
		report := check.Must(simulate.Run(t.Context(), rec, nil, simulate.OptionsOf(t.Context(), agent, agent.Policy(), prices.List{})))(t)
		used := report.Variants[0].Used
		last := used[len(used)-1].Used
		check.That(t, last <= most, "got %d tokens used at the end, want at most %d", last, most)
	})
}

func TestCompactAtTokensHoldsInTalk(t *testing.T) {
	for _, window := range []int{32_000, 100_000, 1_000_000} {
		for _, worker := range []bool{false, true} {
			t.Run(fmt.Sprintf("a window of %d, a worker: %v", window, worker), func(t *testing.T) {
				check.SkipUnderRace(t)
				t.Parallel()
				const most, turns = 10_000, 270
				agent := agentOf(window, func(p *compactor.Policy) { p.CompactAtTokens = most })
				agent.Recall = 600
				highest := 0
				answers := scripted(window, 0, nil)
				agent.Model = &llmtest.Model{Tokens: window, Delay: answers.Delay, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
					highest = max(highest, promptOf(req))
					return answers.Func(ctx, n, req)
				}}
				if worker {
					agent.Worker = scripted(window, 0, nil)
				}
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) { live(t, dir, agent, conversation{messages: talk(turns, 5)}) })
				check.That(t, highest <= most, "got a prompt of %d tokens, want at most %d", highest, most)
				db, hub := open(t, dir, agent)
				check.NoError(t, hub.Close())
				wantAtMost(t, db, agent, most)
				check.NoError(t, db.Close())
			})
		}
	}
}
