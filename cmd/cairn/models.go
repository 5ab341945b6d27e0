// cairn models: what the configured servers offer; the checks of cairn doctor that send requests to models.

package main

import (
	"bytes"
	"cmp"
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

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/config"
	"cairn/internal/network"
	"cairn/llm"
	"cairn/web"
)

func newModels(a *app) *cobra.Command {
	return a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "models [--json]",
		Short: "List the models that the configured servers offer",
		Long: `List the models of all servers in the settings and the environment: the protocol (wire), the
context window in tokens, whether the model supports tools and pictures, and which agents use it;
"default" is chosen if the settings name none. If a cell is empty, the server does not say. While the
bot runs, it asks its own servers. Exit code 1: no server answered.`,
		Example: `  cairn models
  cairn models --json | jq -r 'select(.tools == "yes") | .model'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.models(cmd.Context()) },
	})
}

func modelCells(m web.OfferedModel) []string {
	used := m.Used
	if m.Default {
		used = append([]string{"default"}, used...)
	}
	return []string{m.Model, m.Wire, unlessZero(m.Window), m.Tools, m.Images, m.Server, strings.Join(used, ", ")}
}

func (a *app) models(ctx context.Context) error {
	found, err := reading(ctx, a,
		func(bot *otherBot) (web.Offered, error) { return bot.models(ctx) },
		func() (web.Offered, error) { return listModels(ctx, &a.settings, &a.secrets) })
	if err != nil {
		return err
	}
	for _, problem := range found.Problems {
		fmt.Fprintln(a.err, wrapped(a.err, problem))
	}
	if len(found.Problems) > 0 && len(found.Models) == 0 {
		return errors.New("no server listed its models, see above")
	}
	return showTable(&a.console, "MODEL WIRE WINDOW TOOLS VISION SERVER USED", found.Models, modelCells)
}

// listModels asks the servers of settings for their models.
func listModels(ctx context.Context, s *config.Settings, secrets *redactor) (all web.Offered, err error) {
	servers, err := s.Servers()
	if err != nil {
		return all, usage(err)
	}
	if len(servers) == 0 {
		return all, usage(errors.New("no server is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or base_url under [llm]"))
	}
	for _, at := range servers {
		found, err := offered(ctx, at)
		if err != nil {
			all.Problems = append(all.Problems, secrets.mask(explained(cmp.Or(at.Provider, config.MaskAddress(at.BaseURL)), err).Error()))
			continue
		}
		all.Models = append(all.Models, found...)
	}
	return all, nil
}

const listTimeout = 30 * time.Second

// offered returns the models that a server lists, followed by models that are used but not listed:
// a server may serve models that it does not list.
func offered(ctx context.Context, at config.UsedServer) (all []web.OfferedModel, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	model, err := newModelSet(slog.New(slog.DiscardHandler)).model(config.Target{Server: at.Server}, 0, compactor.AutoTTL)
	if err != nil {
		return nil, err
	}
	listed, err := model.Models(ctx)
	if err != nil {
		return nil, err
	}
	model.Window(ctx) // chooses a model if none is named
	chosen := model.Name()
	for name := range at.Used {
		if name != "" && !slices.ContainsFunc(listed, func(o llm.Offered) bool { return o.ID == name }) {
			listed = append(listed, llm.Offered{ID: name})
		}
	}
	for _, o := range listed {
		m := web.OfferedModel{
			Model: model.prefix + o.ID, Server: config.MaskAddress(at.BaseURL), Wire: model.Wire(),
			Window: o.Window, Tools: o.Tools, Images: o.Images, Used: at.Used[o.ID], Default: o.ID == chosen,
		}
		if m.Default {
			m.Used = append(slices.Clone(m.Used), at.Used[""]...)
		}
		all = append(all, m)
	}
	return all, nil
}

// modelTimeout limits each request to a model: loading one can take more than a minute.
const modelTimeout = 2 * time.Minute

// models sends each model, once, the requests that turns and workers send.
func (d *doctor) models(ctx context.Context) {
	agents, err := newModelSet(slog.New(slog.DiscardHandler)).agents(&d.app.settings)
	if err != nil {
		d.report("model", err)
		return
	}
	turns := map[llm.Model]bool{}
	workers := map[llm.Model]bool{}
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		agent := agents[id]
		for _, model := range append([]llm.Model{agent.Model}, agent.Fallback...) {
			if !turns[model] && ctx.Err() == nil {
				answering := agent
				answering.Model = model
				turns[model] = true
				workers[model] = !d.turn(ctx, answering) // a worker of this model would fail likewise
			}
		}
		if agent.Worker != nil && !workers[agent.Worker] && ctx.Err() == nil {
			workers[agent.Worker] = true
			d.worker(ctx, agent)
		}
	}
	for _, model := range unpriced(&d.app.settings, agents) {
		d.report("model", nil, fmt.Sprintf("%s: warning: it has no price: %s; %s", model, access.Unlimited, access.SetPrice(model)))
	}
}

// answered sends the agent's model a request, and returns what it shows about the model.
func answered(ctx context.Context, agent channel.Agent, full bool) (fact string, err error) {
	window := agent.Model.Window(ctx)
	start := time.Now()
	probe, err := agent.Probe(ctx, full)
	tools := map[bool]string{true: "supports tools", false: "supports no tools"}[probe.Tools]
	return fmt.Sprintf("answered in %v, %s; window of %d tokens", sinceStart(start), tools, window.Tokens), err
}

// sinceStart returns the time since start in milliseconds, at least one.
func sinceStart(start time.Time) time.Duration {
	return max(time.Since(start).Round(time.Millisecond), time.Millisecond)
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
	m, remote := agent.Model.(*located)
	if !remote {
		d.report("model", fmt.Errorf("agent %s has no model, so it can only search and quote messages: set OPENAI_API_KEY, ANTHROPIC_API_KEY or base_url "+
			"under [llm], or run `cairn setup`", agent.ID))
		return true
	}
	d.report("model", nil, fmt.Sprintf("%s: %s (%s); wire %s, at %s", name, fact, agent.Model.Window(ctx).Source, m.Wire(), m.where.Address))
	if problem := agent.ValidateWindow(ctx); problem != "" {
		d.report("model", nil, name+": warning: "+problem)
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
		return fmt.Sprintf("cache not used: none of the %d tokens of a second, identical request came from it%s", again.Usage.Prompt, warm)
	}
	return fmt.Sprintf("cache works: %d of the %d tokens of a second, identical request came from it%s", again.Usage.Cached, again.Usage.Prompt, warm)
}

// acceptsPictures sends the model a small picture, unless it is known to refuse pictures.
func (d *doctor) acceptsPictures(ctx context.Context, agent channel.Agent, m *located) (string, error) {
	const blind = "accepts no pictures; it gets descriptions instead"
	if m.Learned().Facts().RefusesImages {
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

// worker lets the agent's summarizing model summarize the known span.
func (d *doctor) worker(ctx context.Context, agent channel.Agent) {
	limited, cancel := context.WithTimeout(ctx, spanTimeout)
	defer cancel()
	name := fmt.Sprintf("%s, which summarizes for agent %s", agent.Worker.Name(), agent.ID)
	trial, err := trySpan(limited, agent)
	var refused *llm.Error
	switch {
	case ctx.Err() != nil:
		return
	case limited.Err() != nil:
		d.report("worker", fmt.Errorf("%s: it has not summarized %d messages within %v: check the load of its server", name, len(knownMessages()), compactor.Duration(spanTimeout)))
		return
	case err != nil:
		d.report("worker", explained(name, err))
		return
	case errors.As(trial.failure, &refused): // by its server
		d.report("worker", explained(name, trial.failure))
		return
	}
	how := ""
	if learned := llm.LearnedOf(agent.Worker, nil); learned.WorkPlain.Load() || learned.Facts().RefusesTools {
		how = ", in plain text: its server supports no tools, so it saves no memories"
	}
	words, enough := trial.verdict()
	if !enough {
		d.report("worker", fmt.Errorf("%s: not good enough: %s%s\n%s", name, words, how, betterWorker))
		return
	}
	d.report("worker", nil, fmt.Sprintf("%s: good enough: %s%s", name, words, how))
}

// spanTimeout limits the summary of the known span, which may take several requests.
const spanTimeout = 3 * modelTimeout

// betterWorker says what to do about a model that is not good enough.
const betterWorker = "try again; if it stays so, name a larger model under [defaults.compaction] model: what a model cannot summarize is replaced by sentences of the messages"

// explained adds to an error the model, its server and how to fix the problem.
func explained(name string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %v: check the load of its server", name, compactor.Duration(modelTimeout))
	}
	var e *llm.Error
	located := errors.As(err, &e) && e.Where.Address != ""
	if located {
		if inWords := network.Explain(e.Where.Address, err); inWords != nil {
			return fmt.Errorf("%s: %w", name, inWords)
		}
	}
	text := fmt.Sprintf("%s: %v", name, err)
	if located {
		text += ", from " + e.Where.Address
	}
	if remedy, ok := llm.RemedyOf(err); ok {
		text += "\nwhat to do: " + remedy.Operator
	}
	return errors.New(text)
}
