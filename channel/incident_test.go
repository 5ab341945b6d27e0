package channel_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// A model server that fails everywhere is one incident; so is one failing conversation.
func TestTurnFailuresAreIncidents(t *testing.T) {
	auth, down := &llm.Error{Kind: llm.KindAuth, Status: 401}, &llm.Error{Kind: llm.KindUnreachable}
	for name, c := range map[string]struct {
		failure  error
		fails    string // conversations
		warnings int    // including a first one for the server, if the failure could be its fault
		ends     int
	}{
		"an outage":                       {auth, "a b c", 1, 1},
		"a request that is refused":       {&llm.Error{Kind: llm.KindBadRequest, Status: 400}, "a", 1, 1},
		"a failure that is no provider's": {errors.New("something else"), "a", 1, 1},
		"one that looks like an outage":   {down, "a", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			fails := c.fails
			r := newRig(t, nil)
			r.agent.Model = learningModel{&llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
				for _, place := range strings.Fields(fails) {
					if strings.Contains(lastText(req), "asked in "+place) {
						return llm.Response{}, c.failure
					}
				}
				return llmtest.Say("an answer; by the way, 401 Unauthorized is an HTTP status"), nil
			}}, new(llm.Learnt)}
			log := r.captureLog()
			ask := func(times int, places ...string) {
				for range times {
					for _, place := range places {
						r.tell("test:server/"+place, "asked in "+place, addressed)
					}
				}
			}
			ask(4, "a", "b", "c")
			check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), c.warnings)
			fails = ""
			ask(1, "b", "a", "c")
			check.Equal(t, "ends of incidents", log.lines(slog.LevelInfo, "turns_recovered"), c.ends)
			fails = c.fails
			ask(1, "a")
			check.Equal(t, "warnings with the next incident", log.lines(slog.LevelWarn, ""), c.warnings+1)
		})
	}
}
