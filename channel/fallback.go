package channel

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cairn/channel/report"
	"cairn/compactor"
	"cairn/llm"
)

// Which model answers a turn: the agent's own, or, while its server fails, one of the agent's fallback.

// errTooSmall says that the prompt does not fit the window of a fallback model.
var errTooSmall = errors.New("the prompt does not fit the window of the fallback model")

// lineup are the models that may answer a turn, and which of them does.
type lineup struct {
	own    *answerer   // of the conversation
	models []llm.Model // the agent's own first
	tried  []bool
	at     int   // index of the one that answers
	why    error // why the agent's own did not answer, or the first that was tried; nil: none has failed
}

// lineUp chooses the model that is tried first: the agent's own, unless it rests after a failure.
func (t *turn) lineUp() {
	t.lineup = lineup{own: t.answerer, models: append([]llm.Model{t.agent.Model}, t.agent.Fallback...)}
	if t.other != nil {
		t.lineup.models = append([]llm.Model{t.other.Model}, t.other.Fallback...)
	}
	t.lineup.tried = make([]bool, len(t.lineup.models))
	if len(t.lineup.models) > 1 {
		first, _ := t.nextModel()
		t.use(first)
	}
}

// learnedOf returns what is known of one of the models.
func (t *turn) learnedOf(i int) *llm.Learned {
	if i == 0 && t.other == nil {
		return t.lineup.own.window.learned()
	}
	return llm.LearnedOf(t.lineup.models[i], nil)
}

// nextModel returns the first model that was not tried and does not rest; if all rest, the first that was not tried.
func (t *turn) nextModel() (next int, ok bool) {
	next = -1
	for i, tried := range t.lineup.tried {
		switch {
		case tried:
		case t.learnedOf(i).Rest.Take():
			return i, true
		case next < 0:
			next = i
		}
	}
	return next, next >= 0
}

// use has one of the models write the next attempt.
func (t *turn) use(i int) {
	t.lineup.at = i
	t.lineup.tried[i] = true
	switch {
	case t.other != nil:
		t.other.Model = t.lineup.models[i]
		t.other.Learned = t.learnedOf(i)
	case i == 0:
		t.answerer = t.lineup.own
	default:
		t.answerer = t.lineup.own.standIn(newWindow(t.life, t.lineup.models[i]))
	}
}

// standIn returns an answerer for a model of the fallback. What it learns about pictures, tools and filters is of this model alone.
func (a *answerer) standIn(w *window) *answerer {
	other := &answerer{agent: a.agent, policy: a.policy, tools: a.tools, window: w, standsIn: true}
	other.agent.Model = w.model
	other.agent.Provider = ""
	other.pictures = pictures{records: a.pictures.records, log: a.pictures.log, window: w, unfit: make(map[int64]bool)}
	other.filter.withheld = make(map[string]bool)
	return other
}

// moves has the next model answer if the server of the one that did fails, or if its window is too small, and reports whether
// there is one. What another model would refuse, too, moves nothing.
func (t *turn) moves(err error) bool {
	small := t.standsIn && (errors.Is(err, errTooSmall) || llm.KindOf(err) == llm.KindOverflow)
	if len(t.lineup.models) < 2 || !small && !llm.OfServer(err) {
		return false
	}
	attrs := append(llm.LogAttrs(err), "turn", t.Seq)
	failed := t.lineup.models[t.lineup.at].Name()
	level := t.noteFailure(err, small)
	next, ok := t.nextModel()
	ok = ok && t.Starts < maxStarts
	if ok {
		t.use(next)
		attrs = append(attrs, "fallback", t.lineup.models[next].Name())
	}
	if small {
		t.log.Log(t.life, level, "fallback_too_small", append(attrs, "model", failed)...)
	} else {
		t.log.Log(t.life, level, "answer_model_failed", append(attrs, "failed", failed)...)
	}
	return ok
}

// noteFailure has the model rest, unless only its window is too small, and returns the level at which to log that.
func (t *turn) noteFailure(err error, small bool) slog.Level {
	l := &t.lineup
	if !small {
		if l.at == 0 || l.why == nil {
			l.why = err
		}
		return t.learned().Rest.Begin(err)
	}
	if t.access.First("too small: "+l.models[l.at].Name(), time.Hour) {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// reason returns why a turn failed whose last attempt ended with err.
func (l *lineup) reason(err error) error {
	if l.why != nil {
		return l.why
	}
	return err
}

// worked notes that the model answered.
func (t *turn) worked() {
	model := t.lineup.models[t.lineup.at].Name()
	if t.learned().Rest.End() {
		t.log.Info("answer_model_recovered", "model", model)
	}
	if t.lineup.at > 0 {
		t.step.Add(slog.String("fallback", model))
	}
}

// fitting returns the prompt for a fallback model.
func (a *attempt) fitting(prompt compactor.Prompt) (compactor.Prompt, error) {
	prompt, ok := prompt.For(a.window.last(), a.agent.MaxOutput, a.window.learned().Factor())
	if !ok {
		return prompt, fmt.Errorf("%w of %d tokens: it has about %d", errTooSmall, a.window.last(), prompt.Estimate)
	}
	return prompt, nil
}

// StandIn returns which model of the fallback answers now in place of the agent's own; nil: the agent's own answers.
func (a Agent) StandIn() *report.StandIn {
	left, why := llm.LearnedOf(a.Model, nil).Rest.Why()
	if why == nil || len(a.Fallback) == 0 {
		return nil
	}
	remedy, _ := llm.RemedyOf(why)
	return &report.StandIn{Own: a.Model.Name(), Model: a.firstFallback().Name(), Reason: remedy.Reason, Again: llm.InMinutes(left)}
}

// answers returns the model that answers now: the agent's own, or one of the fallback.
func (a Agent) answers() llm.Model {
	if a.StandIn() == nil {
		return a.Model
	}
	return a.firstFallback()
}

// firstFallback returns the first model of the fallback that is not failing; if all are, the first.
func (a Agent) firstFallback() llm.Model {
	for _, other := range a.Fallback {
		if _, failing := llm.LearnedOf(other, nil).Rest.Why(); failing == nil {
			return other
		}
	}
	return a.Fallback[0]
}
