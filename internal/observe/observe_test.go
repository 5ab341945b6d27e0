package observe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"cairn/internal/observe"
	"cairn/testkit/check"
)

// recorder notes what it is told.
type recorder struct{ told []string }

func (r *recorder) Begin(ctx context.Context, s *observe.Step) context.Context {
	r.told = append(r.told, "begin "+string(s.Kind)+" in "+s.Conversation)
	return ctx
}

func (r *recorder) Event(s *observe.Step, name string, attrs []slog.Attr) {
	r.told = append(r.told, name+" of "+string(s.Kind)+" "+attrs[0].String())
}

func (r *recorder) End(s *observe.Step) {
	line := fmt.Sprint("end ", s.Kind, " ", s.Attr("a"), " ", s.Err)
	if s.Parent != nil {
		line += " part of " + string(s.Parent.Kind)
	}
	r.told = append(r.told, line)
}

func TestStepsAreToldToEachObserverInOrder(t *testing.T) {
	one := &recorder{}
	two := &recorder{}
	ctx := observe.In(observe.With(t.Context(), one, two), "terminal:x")
	ctx, turn := observe.Begin(ctx, observe.Turn)
	_, request := observe.Begin(ctx, observe.Request)
	request.Add(slog.String("a", "b"))
	request.Text()
	request.Fail(errors.New("no"))
	request.End()
	turn.Event("happened", slog.Int("n", 1))
	turn.End()
	check.EqualAll(t, "events", one.told, []string{
		"begin turn in terminal:x", "begin request in terminal:x", "end request b no part of turn", "happened of turn n=1", "end turn  <nil>",
	})
	check.EqualAll(t, "events of the second observer", two.told, one.told)
	check.That(t, turn.First > 0 && turn.First >= request.First, "first text after %v in the turn, %v in its request", turn.First, request.First)
}

func TestAStepThatNobodyObservesCostsNothing(t *testing.T) {
	ctx := observe.In(observe.With(t.Context()), "terminal:x")
	check.Equal(t, "allocations", testing.AllocsPerRun(100, func() {
		_, step := observe.Begin(ctx, observe.Turn)
		step.Text()
		step.Fail(nil)
		step.End()
	}), 0)
	_, step := observe.Begin(ctx, observe.Turn)
	step.Event("happened") // and is told to nobody
	check.That(t, step == nil, "there is a step")
}

func TestIncidentIsAWarningAndAnEndOnce(t *testing.T) {
	var i observe.Incident
	for range 2 {
		check.That(t, !i.On() && !i.End(), "an incident that has not begun is on, or ends")
		check.EqualAll(t, "levels", []slog.Level{i.Begin(), i.Begin(), i.Begin()}, []slog.Level{slog.LevelWarn, slog.LevelDebug, slog.LevelDebug})
		check.That(t, i.On() && i.End(), "it is not on, or does not end")
	}
}
