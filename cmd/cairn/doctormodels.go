// cairn doctor: checks of the models.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
)

// modelTimeout limits each request to a model: loading one can take more than a minute.
const modelTimeout = 2 * time.Minute

// models sends each model, once, the requests that turns and workers send.
func (d *doctor) models(ctx context.Context) {
	models := newModelSet(slog.New(slog.DiscardHandler))
	models.notebook.Open(d.learnt, nil)
	agents, err := models.agents(&d.app.settings, func() *config.Settings { return &d.app.settings })
	if err != nil {
		d.report("model", err)
		return
	}
	turns, workers := map[llm.Model]bool{}, map[llm.Model]bool{}
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agent := agents[id]
		if !turns[agent.Model] && ctx.Err() == nil {
			turns[agent.Model] = true
			d.ask("model", agent.Model, func() error { return d.turn(ctx, agent) })
		}
		if agent.Worker != nil && !workers[agent.Worker] && ctx.Err() == nil {
			workers[agent.Worker] = true
			d.ask("worker", agent.Worker, func() error { return d.worker(ctx, agent) })
		}
	}
}

// ask calls try unless the model's server has just failed in a way that affects every model and key
// of it: each attempt takes seconds, and one report is enough.
func (d *doctor) ask(name string, m llm.Model, try func() error) {
	remote, ok := m.(*located)
	if ok && d.failed[remote.where.Address] {
		d.report(name, nil, fmt.Sprintf("%s: not asked, its server failed, see above", m.Name()))
		return
	}
	var e *llm.Error
	if err := try(); ok && errors.As(err, &e) && (e.Temporary() || e.Kind == llm.KindWrongAddress) {
		d.failed[remote.where.Address] = true
	}
}

// turn sends the agent's model the request of a turn, reports the result, and returns an error of the
// request.
func (d *doctor) turn(ctx context.Context, agent channel.Agent) error {
	ctx, cancel := context.WithTimeout(ctx, 3*modelTimeout)
	defer cancel()
	window := agent.Model.Window(ctx)
	start := time.Now()
	probe, err := agent.Probe(ctx, true)
	name := fmt.Sprintf("%s, of agent %s", agent.Model.Name(), agent.ID)
	if err != nil {
		d.report("model", explained(name, err))
		return err
	}
	fact := fmt.Sprintf("%s: answered in %s, %s; window of %d tokens (%s)", name, time.Since(start).Round(time.Millisecond), withTools(probe.Tools), window.Tokens, window.Source)
	m, remote := agent.Model.(*located)
	if !remote {
		d.report("model", nil, fact)
		return nil
	}
	facts := []string{fact + fmt.Sprintf("; wire %s, at %s", m.Wire(), m.where.Address)}
	facts = append(facts, name+": "+d.cache(ctx, agent, m))
	sees, err := d.acceptsPictures(ctx, agent, m)
	if err != nil {
		err = explained(name+", asked with a picture", err)
	} else {
		facts = append(facts, name+": "+sees)
	}
	if learnt := factWords(m.Learnt().Facts()); learnt != "" {
		facts = append(facts, name+": learned from its server: "+learnt)
	}
	d.report("model", err, facts...)
	return nil
}

// withTools says whether a model was asked with tools.
func withTools(is bool) string {
	if !is {
		return "without tools, which it does not support"
	}
	return "with tools"
}

// cache sends the same request again and reports how much the provider read from its cache.
func (d *doctor) cache(ctx context.Context, agent channel.Agent, m *located) string {
	again, err := agent.Probe(ctx, true)
	warm := fmt.Sprintf("; a prompt stays cached for %v", m.CacheTTL())
	switch {
	case err != nil:
		return fmt.Sprintf("the same request a second time failed: %v", err)
	case again.Usage.Prompt == 0:
		return "cache unknown: the server does not count tokens" + warm
	case again.Usage.Cached == 0:
		return fmt.Sprintf("cache not seen: none of the %d tokens of a second, identical request came from it%s", again.Usage.Prompt, warm)
	}
	return fmt.Sprintf("cache works: %d of the %d tokens of a second, identical request came from it%s", again.Usage.Cached, again.Usage.Prompt, warm)
}

// acceptsPictures sends the model a small picture, unless it is known to refuse pictures.
func (d *doctor) acceptsPictures(ctx context.Context, agent channel.Agent, m *located) (string, error) {
	const blind = "accepts no pictures; it gets descriptions instead"
	if m.Learnt().Facts().RefusesImages {
		return blind, nil
	}
	_, err := agent.Probe(ctx, false, llm.Image{Type: "image/png", Label: "a grey square", Data: greySquare()})
	switch {
	case err == nil:
		return "accepts pictures", nil
	case llm.RefusesImages(err):
		return blind, nil
	}
	return "", err
}

// greySquare returns a PNG of 64 by 64 pixels: some models accept none that is smaller.
func greySquare() []byte {
	var file bytes.Buffer
	grey := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range grey.Pix {
		grey.Pix[i] = 0x80
	}
	_ = png.Encode(&file, grey) // writing to a Buffer never fails
	return file.Bytes()
}

// worker lets the agent's summarizing model summarize two messages, and is otherwise like turn.
func (d *doctor) worker(ctx context.Context, agent channel.Agent) error {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	start := time.Now()
	how, err := compactor.Probe(ctx, agent.Worker, agent.Policy())
	name := fmt.Sprintf("%s, which summarizes for agent %s", agent.Worker.Name(), agent.ID)
	if err != nil {
		d.report("worker", explained(name, err))
		return err
	}
	d.report("worker", nil, fmt.Sprintf("%s: answered in %s, %s", name, time.Since(start).Round(time.Millisecond), how))
	return nil
}

// explained adds to an error the model, its server and how to fix the problem.
func explained(name string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %v: look at the load of its server", name, modelTimeout)
	}
	var e *llm.Error
	text := fmt.Sprintf("%s: %v", name, err)
	if errors.As(err, &e) && e.Where.Address != "" {
		text += ", from " + e.Where.Address
	}
	if remedy, ok := llm.RemedyOf(err); ok {
		text += "\nwhat to do: " + remedy.Operator
	}
	return errors.New(text)
}

// factWords describes what is known about a model; "" if nothing is.
func factWords(f llm.Facts) string {
	var words []string
	add := func(is bool, text string) {
		if is {
			words = append(words, text)
		}
	}
	add(f.Window > 0, fmt.Sprintf("a limit of %d tokens", f.Window))
	add(f.Factor > 0, fmt.Sprintf("%.2f tokens per estimated token", f.Factor))
	add(f.RefusesTools, "supports no tools")
	add(f.RefusesForced, "cannot be forced to call a tool")
	add(f.RefusesImages, "accepts no pictures")
	add(f.WantsReasoning, "requires earlier reasoning")
	add(f.Wire != "", "requires the wire "+f.Wire)
	return strings.Join(words, ", ")
}
