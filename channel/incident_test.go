package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// newOutage returns a rig whose model fails as fails says, for the conversation that a request names.
func newOutage(t *testing.T, fails func(conversation string) error) (r *rig, log *journal, ask func(conversation string)) {
	r = newRig(t, nil)
	r.agent.Model = learningModel{&llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		text := req.Messages[len(req.Messages)-1].Text
		for _, name := range []string{"a", "b", "c"} {
			if strings.Contains(text, "asked in "+name) {
				if err := fails(name); err != nil {
					return llm.Response{}, err
				}
			}
		}
		return llmtest.Say("an answer; by the way, 401 Unauthorized is an HTTP status"), nil
	}}, new(llm.Learnt)}
	log = r.captureLog()
	n := 0
	return r, log, func(conversation string) {
		t.Helper()
		n++
		name := "test:server/" + conversation
		m := channel.Inbound{ID: fmt.Sprint("i", n), AuthorID: "u1", Author: "Ada", Text: "asked in " + conversation, Addressed: true}
		check.Must(r.hub.Deliver(t.Context(), name, m))(t)
		check.NoError(t, r.hub.Idle(t.Context(), name))
	}
}

func TestOutageIsOneIncident(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	_, log, ask := newOutage(t, func(string) error {
		if down.Load() {
			return &llm.Error{Kind: llm.KindAuth, Status: 401}
		}
		return nil
	})
	for range 2 {
		for _, conversation := range []string{"a", "b", "c"} {
			ask(conversation)
		}
	}
	check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 1)
	down.Store(false)
	for _, conversation := range []string{"b", "a", "c"} {
		ask(conversation)
	}
	check.Equal(t, "log lines for the end of the incident", log.lines(slog.LevelInfo, "turns_recovered"), 1)
	down.Store(true)
	ask("c")
	check.Equal(t, "warnings with the next incident", log.lines(slog.LevelWarn, ""), 2)
}

func TestSingleFailingConversationIsItsOwnIncident(t *testing.T) {
	for name, c := range map[string]struct {
		failure  error
		warnings int // including a first one for the server, if the failure could be its fault
	}{
		"a request that is refused": {&llm.Error{Kind: llm.KindBadRequest, Status: 400}, 1},
		"what is no provider's":     {errors.New("something else"), 1},
		"as if the server was down": {&llm.Error{Kind: llm.KindUnreachable}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var mended atomic.Bool
			_, log, ask := newOutage(t, func(conversation string) error {
				if conversation == "a" && !mended.Load() {
					return c.failure
				}
				return nil
			})
			for range 5 {
				ask("a")
				ask("b")
			}
			check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), c.warnings)
			mended.Store(true)
			ask("a")
			check.Equal(t, "ends of incidents", log.lines(slog.LevelInfo, "turns_recovered"), c.warnings)
		})
	}
}
