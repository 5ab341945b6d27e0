// cairn models: list the models that the configured servers offer.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
)

func newModels(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models [--json]",
		Short: "List the models that the configured servers offer",
		Long: `List the models of all servers in the settings and the environment: the protocol (wire), the
context window in tokens, and whether the model supports tools and pictures. Names that begin
with the id of one of [[providers]] and "/" can be copied into the settings.

The last column shows which agents use a model, for answers or summaries, and which model is
chosen if the settings name none ("default"). If a cell is empty, the server does not say. Exit
code 1: no server answered.`,
		Example: `  cairn models
  cairn models --json | jq -r 'select(.tools == "yes") | .model'`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.models(cmd.Context()) },
	}
	a.jsonFlag(cmd, "one JSON object per line")
	return cmd
}

// offeredModel is one model of one server.
type offeredModel struct {
	Model   string   `json:"model"`  // as written in the settings
	Server  string   `json:"server"` // its address
	Wire    string   `json:"wire"`
	Window  int      `json:"window,omitempty"` // tokens; 0: the server does not say
	Tools   string   `json:"tools,omitempty"`  // "yes", "no"; empty: the server does not say
	Images  string   `json:"vision,omitempty"` // as Tools
	Used    []string `json:"used,omitempty"`   // "agent cairn", "summaries of cairn"
	Default bool     `json:"default"`          // used if the settings name no model
}

func (m offeredModel) cells() []string {
	used := m.Used
	if m.Default {
		used = append([]string{"default"}, used...)
	}
	return []string{m.Model, m.Wire, unlessZero(m.Window), m.Tools, m.Images, m.Server, strings.Join(used, ", ")}
}

func (a *app) models(ctx context.Context) error {
	if err := a.load(); err != nil {
		return err
	}
	servers, err := a.settings.Servers()
	if err != nil {
		return usage(err)
	}
	if len(servers) == 0 {
		return usage(errors.New("no server is named: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or base_url under [llm]"))
	}
	var rows []row
	answered := 0
	for _, at := range servers {
		found, err := a.offered(ctx, at)
		if err != nil {
			fmt.Fprintln(a.err, a.secrets.mask(explained(cmp.Or(at.Provider, config.ShownAddress(at.BaseURL)), err).Error()))
			continue
		}
		answered++
		rows = append(rows, found...)
	}
	if answered == 0 {
		return errors.New("no server listed its models, see above")
	}
	return a.showTable("MODEL WIRE WINDOW TOOLS VISION SERVER USED", rows)
}

// listTimeout limits a request for a server's list.
const listTimeout = 30 * time.Second

// offered returns the models that a server lists, followed by models that are used but not listed:
// a server may serve models that it does not list.
func (a *app) offered(ctx context.Context, at config.UsedServer) ([]row, error) {
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
	var rows []row
	for _, o := range listed {
		m := offeredModel{
			Model: model.prefix + o.ID, Server: config.ShownAddress(at.BaseURL), Wire: model.Wire(),
			Window: o.Window, Tools: o.Tools, Images: o.Images, Used: at.Used[o.ID], Default: o.ID == chosen,
		}
		if m.Default {
			m.Used = append(slices.Clone(m.Used), at.Used[""]...)
		}
		rows = append(rows, m)
	}
	return rows, nil
}
