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
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
)

// modelTimeout limits each request to a model: loading one can take more than a minute.
const modelTimeout = 2 * time.Minute

// models sends each model, once, the requests that turns and workers send.
func (d *doctor) models(ctx context.Context) {
	agents, err := newModelSet(slog.New(slog.DiscardHandler)).agents(&d.app.settings)
	if err != nil {
		d.report("model", err)
		return
	}
	turns, workers := map[llm.Model]bool{}, map[llm.Model]bool{}
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agent := agents[id]
		if !turns[agent.Model] && ctx.Err() == nil {
			turns[agent.Model] = true
			workers[agent.Model] = !d.turn(ctx, agent) // a worker of this model would fail likewise
		}
		if agent.Worker != nil && !workers[agent.Worker] && ctx.Err() == nil {
			workers[agent.Worker] = true
			d.worker(ctx, agent)
		}
	}
}

// answered sends the agent's model a request, and returns what it shows about the model.
func answered(ctx context.Context, agent channel.Agent, full bool) (fact string, err error) {
	window, start := agent.Model.Window(ctx), time.Now()
	probe, err := agent.Probe(ctx, full)
	tools := map[bool]string{true: "supports tools", false: "supports no tools"}[probe.Tools]
	return fmt.Sprintf("answered in %s, %s; window of %d tokens", time.Since(start).Round(time.Millisecond), tools, window.Tokens), err
}

// turn sends the agent's model the request of a turn, and reports whether it answered.
func (d *doctor) turn(ctx context.Context, agent channel.Agent) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*modelTimeout)
	defer cancel()
	fact, err := answered(ctx, agent, true)
	name := fmt.Sprintf("%s, of agent %s", agent.Model.Name(), agent.ID)
	if err != nil {
		d.report("model", explained(name, err))
		return false
	}
	fact = fmt.Sprintf("%s: %s (%s)", name, fact, agent.Model.Window(ctx).Source)
	m, remote := agent.Model.(*located)
	if remote {
		fact += fmt.Sprintf("; wire %s, at %s", m.Wire(), m.where.Address)
	}
	d.report("model", nil, fact)
	if problem := agent.ValidateWindow(ctx); problem != "" {
		d.report("model", nil, name+": warning: "+problem)
	}
	if !remote {
		return true
	}
	d.report("model", nil, name+": "+d.cache(ctx, agent, m))
	if sees, err := d.acceptsPictures(ctx, agent, m); err != nil {
		d.report("model", explained(name+", asked with a picture", err))
	} else {
		d.report("model", nil, name+": "+sees)
	}
	return true
}

// cache sends the same request again and reports how much the provider read from its cache.
func (d *doctor) cache(ctx context.Context, agent channel.Agent, m *located) string {
	again, err := agent.Probe(ctx, true)
	warm := fmt.Sprintf("; a prompt stays cached for %v", compactor.Duration(m.CacheTTL()))
	switch {
	case err != nil:
		return fmt.Sprintf("the same request a second time failed: %v", err)
	case again.Usage.Prompt == 0:
		return "cache unknown: the server does not count tokens" + warm
	case again.Usage.Cached == 0:
		return fmt.Sprintf("cache not used: none of the %d tokens of a second, identical request came from the provider's cache%s", again.Usage.Prompt, warm)
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
	case llm.TakesNoImages(err):
		return blind, nil
	case llm.RefusesImages(err): // perhaps only this one
		return fmt.Sprintf("refused a test picture: %v; it gets descriptions of pictures that it refuses", err), nil
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

// worker lets the agent's summarizing model summarize two messages.
func (d *doctor) worker(ctx context.Context, agent channel.Agent) {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	start := time.Now()
	how, err := compactor.Probe(ctx, agent.Worker, agent.Policy())
	name := fmt.Sprintf("%s, which summarizes for agent %s", agent.Worker.Name(), agent.ID)
	if err != nil {
		d.report("worker", explained(name, err))
		return
	}
	d.report("worker", nil, fmt.Sprintf("%s: answered in %s, %s", name, time.Since(start).Round(time.Millisecond), how))
}

// explained adds to an error the model, its server and how to fix the problem.
func explained(name string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %v: look at the load of its server", name, compactor.Duration(modelTimeout))
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
