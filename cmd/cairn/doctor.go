// cairn doctor: check everything, and say how to fix problems.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/config"
	"cairn/connector/discord"
	"cairn/connector/slack"
	"cairn/internal/network"
	"cairn/mcp"
	"cairn/store"
)

func newDoctor(a *app) *cobra.Command {
	var d doctor
	cmd := a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "doctor [--live CHANNEL [--wait]] [--json]",
		Short: "Check the settings, the data folder, the servers of models, embeddings and tools, and the tokens",
		Long: `Check everything a running bot depends on: the settings; the data folder, including every page
of the database, or the PostgreSQL server; the MCP servers and their tools; and what the tokens of Discord and Slack may
do. It sends each model a turn with tools, the same turn again to see the provider's cache at
work, and a picture, and has the model that summarizes summarize a known conversation of 28 messages, to see whether it
is good enough. It asks the server of embeddings for vectors, and the server for transcription
for what is said in a second of silence. It works while the bot runs, and asks it how it is, at
its health or [web] address.

With --live, it also does in a channel what a bot does there: it posts, looks up what it posted, edits,
streams, takes back, and has you press a button. It prints what the platform did beside what Cairn
expects, without names, ids and texts, and deletes everything that it posted, also after Ctrl-C.
Everybody in that channel sees it: choose a quiet one.

Exit code 1: something is wrong, or differs.`,
		Example: `  cairn doctor
  cairn doctor --live slack:C0123456789
  cairn doctor --live discord:1234567890123456
  cairn doctor --json | jq 'select(.ok | not)'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.app = a
			if cmd.Flags().Changed("live") {
				if err := checkPlace(d.place); err != nil {
					return err
				}
			}
			return d.examine(cmd.Context())
		},
	})
	cmd.Flags().StringVar(&d.place, "live", "", "try what a bot does in this `CHANNEL` of Discord or Slack")
	cmd.Flags().BoolVar(&d.wait, "wait", false, "with --live, ask somebody to press a button though standard input is no terminal")
	return cmd
}

const serverTimeout = 30 * time.Second

type doctor struct {
	app      *app
	failures int
	place    string // in which --live tries the connector; "": nowhere
	wait     bool   // somebody may press a button, though standard input is no terminal
	hasData  bool   // the database exists and can be read
	printErr error  // standard output could not be written
}

type diagnosis struct {
	Check  string `json:"check"` // settings, data, model, worker, search, files, tools, platform, discord, slack, bot, live
	OK     bool   `json:"ok"`
	Detail string `json:"said"`

	// Of live alone; see platform.Step.
	Step     string `json:"step,omitempty"`
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen,omitempty"`
	Skipped  bool   `json:"skipped,omitempty"`
}

func (d diagnosis) String() string {
	mark := map[bool]string{true: "ok   ", false: "WRONG"}[d.OK]
	return fmt.Sprintf("%s  %-9s %s", mark, d.Check, strings.ReplaceAll(d.Detail, "\n", "\n                 "))
}

// report prints facts, and err as a failed check, without secrets.
func (d *doctor) report(name string, err error, facts ...string) {
	for _, fact := range facts {
		d.print(diagnosis{Check: name, OK: true, Detail: d.app.secrets.mask(fact)})
	}
	if err != nil {
		d.failures++
		d.print(diagnosis{Check: name, Detail: d.app.secrets.mask(err.Error())})
	}
}

func (d *doctor) print(c diagnosis) {
	if d.printErr == nil {
		d.printErr = d.app.show(d.app.out, c)
	}
}

func (d *doctor) examine(ctx context.Context) error {
	s := &d.app.settings
	if err := d.app.load(); err != nil {
		d.report("settings", err)
		*s = d.app.flags.over(config.Default()) // the flags may name the data folder
	} else {
		d.report("settings", nil, cmp.Or(s.Files, "no file, the defaults"))
	}
	for _, w := range s.Warnings {
		d.report("settings", nil, "warning: "+w.String())
	}
	if s.Ambiguous() {
		d.report("settings", nil, "warning: "+bothProviders)
	}
	for _, look := range []func(context.Context){d.data, d.models, d.embeddings, d.tools, d.connectors, d.runningBot, d.live} {
		look(ctx)
		if err := cmp.Or(d.printErr, ctx.Err()); err != nil {
			return err
		}
	}
	if d.failures > 0 {
		return fmt.Errorf("%s wrong, see above", counted(d.failures, "thing is", "things are"))
	}
	return nil
}

func (d *doctor) data(ctx context.Context) {
	where, err := storeOptions(&d.app.settings)
	if err != nil { // the check of the settings reports it
		return
	}
	if where.Postgres != "" {
		d.server(ctx, where)
		return
	}
	dir := where.Dir
	contents, err := store.Inspect(ctx, store.File(dir))
	if errors.Is(err, store.ErrNotFound) {
		d.report("data", nil, dir+": there is none yet")
		return
	}
	var found []store.Finding
	if err == nil {
		d.hasData = true
		d.report("data", nil, fmt.Sprintf("%s: %s, every page can be read", store.File(dir), contentsOf(contents)))
		err = d.app.withStore(ctx, true, func(db *store.Store) (err error) {
			found, err = db.Upkeep().Check(ctx)
			return err
		})
	}
	backups := backupsOf(&d.app.settings)
	files, unread := backups.List(time.Now())
	switch {
	case err != nil:
		d.report("data", d.app.withRemedy(err))
	case unread != nil:
		d.report("data", store.Writable(dir), "warning: "+unread.Error())
	case len(files) == 0:
		d.report("data", store.Writable(dir), "no backups in "+backups.Dir+" yet")
	default:
		d.report("data", store.Writable(dir), counted(len(files), "backup", "backups")+", the newest is "+files[0])
	}
	for _, f := range found {
		d.report("data", errors.New(f.String()))
	}
	if len(found) > 0 {
		d.report("data", errors.New(d.app.howToRestore()))
	}
}

// withRemedy adds to a damage error how to restore a backup.
func (a *app) withRemedy(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("%w\n%s", err, a.howToRestore())
	}
	return err
}

func (a *app) howToRestore() string {
	file := "FILE` with a backup that `cairn backup` wrote; there is none in " + backupsOf(&a.settings).Dir
	if files, err := backupsOf(&a.settings).List(time.Now()); err == nil && len(files) > 0 {
		file = files[0] + "`, the newest backup"
	}
	return "to restore: stop the bot, run `cairn" + a.sameFolder() + " restore " + file +
		". The current database is kept beside it. Messages since the backup are read again from Discord and Slack."
}

func (d *doctor) connectors(ctx context.Context) {
	connectors, err := openConnectors(&d.app.settings, new(readers), d.app.settings.Web.Listen != "", slog.New(slog.DiscardHandler))
	switch {
	case errors.Is(err, errNoConnector):
		d.report("platform", nil, "no tokens are set: only the terminal is available")
	case err != nil:
		d.report("platform", err)
	}
	if len(connectors) > 0 { // only platforms have attachments
		d.attachments(ctx)
	}
	for _, connector := range connectors {
		facts, err := checkConnector(ctx, &d.app.settings, connector)
		d.report(connector.Name(), err, facts...)
	}
}

// checkConnector calls Check; an error of the network is in words.
func checkConnector(ctx context.Context, s *config.Settings, connector outerConnector) (facts []string, err error) {
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	facts, err = connector.Check(limited)
	address := map[string]string{discord.Name: s.Discord.APIBase, slack.Name: s.Slack.APIBase}[connector.Name()]
	inWords := network.Explain(cmp.Or(address, connector.Name()), err)
	return facts, cmp.Or(inWords, err)
}

// runningBot reports what the running bot says of itself, if the settings name its address and a bot answers there: what it waits
// for, a second process cannot see.
func (d *doctor) runningBot(ctx context.Context) {
	found, answers := d.askBot(ctx)
	if !answers {
		return
	}
	if found.OK {
		d.report("bot", nil, "it runs and is ready")
	}
	for _, part := range found.Parts {
		switch {
		case part.OK && part.Why != "":
			d.report("bot", nil, part.Part+": "+part.Why)
		case !part.OK:
			d.report("bot", fmt.Errorf("it runs, and is not ready: %s: %s", part.Part, part.Why))
		}
	}
}

// askBot asks the running bot how it is; answers is false if the settings name no address, it does not run, or another program does.
func (d *doctor) askBot(ctx context.Context) (found state, answers bool) {
	address := cmp.Or(d.app.settings.Health, d.app.settings.Web.Listen)
	if address == "" {
		return found, false
	}
	text, _, err := getHealth(ctx, address, "/readyz")
	return found, err == nil && json.Unmarshal(text, &found) == nil && len(found.Parts) > 0
}

func (d *doctor) tools(ctx context.Context) {
	servers, err := d.app.settings.ToolServers()
	d.report("tools", err)
	for _, s := range servers {
		d.toolServer(ctx, s)
	}
}

// toolServer connects to one server, as the bot would.
func (d *doctor) toolServer(ctx context.Context, s mcp.Server) {
	host := mcp.Start([]mcp.Server{s}, version(), nil, slog.New(slog.DiscardHandler))
	defer host.Close()
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	tried := host.Tried(limited, []string{s.ID})
	status := host.Status()[0]
	may := slices.DeleteFunc(slices.Sorted(slices.Values(s.Allow)), func(name string) bool {
		unusable := slices.ContainsFunc(status.Unusable, func(problem string) bool { return strings.HasPrefix(problem, name+": ") })
		return unusable || slices.Contains(status.Missing, name)
	})
	fact := fmt.Sprintf("%s: allowed: %s", s.ID, cmp.Or(strings.Join(may, ", "), "none"))
	if len(status.Refused) > 0 {
		fact += "; not allowed: " + strings.Join(status.Refused, ", ")
	}
	switch {
	case ctx.Err() != nil:
	case tried != nil:
		d.report("tools", fmt.Errorf("%s: not reached within %v: %s", s.ID, serverTimeout, status.Error))
	case !status.Connected:
		d.report("tools", fmt.Errorf("%s: %s", s.ID, status.Error))
	case len(status.Missing) > 0:
		d.report("tools", fmt.Errorf("%s: allow names tools that the server does not have: %s", s.ID, strings.Join(status.Missing, ", ")), fact)
	case len(status.Unusable) > 0:
		d.report("tools", fmt.Errorf("%s: allow names tools that cannot be used: %s", s.ID, strings.Join(status.Unusable, "; ")), fact)
	case len(status.Tools)+len(status.Refused) == 0:
		d.report("tools", errors.New(s.ID+": the server has no tools"))
	default:
		d.report("tools", nil, fact)
	}
}
