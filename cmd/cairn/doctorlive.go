// cairn doctor --live: what Discord or Slack does in a real conversation, beside what Cairn expects of it.

package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"cairn/channel"
	"cairn/compactor"
	"cairn/connector/discord"
	"cairn/connector/platform"
	"cairn/connector/slack"
	"cairn/llm"
	"cairn/store"
)

// checkPlace returns an error if a conversation is not one of a platform.
func checkPlace(conversation string) error {
	connector, rest, _ := strings.Cut(conversation, ":")
	if !slices.Contains([]string{discord.Name, slack.Name}, connector) || rest == "" {
		return usage(fmt.Errorf("--live %s: name a conversation of Discord or Slack, as discord:1234567890123456 or slack:C0123456789", conversation))
	}
	return nil
}

// platformNames are the names of platforms as people know them, by those of their connectors.
var platformNames = map[string]string{discord.Name: "Discord", slack.Name: "Slack"}

// live tries the connector of a platform in the conversation that --live names.
func (d *doctor) live(ctx context.Context) {
	if d.place == "" {
		return
	}
	name, _, _ := strings.Cut(d.place, ":")
	connectors, _ := openConnectors(&d.app.settings, new(readers), true, slog.New(slog.DiscardHandler)) // connectors reports the error
	i := slices.IndexFunc(connectors, func(c outerConnector) bool { return c.Name() == name })
	if i < 0 {
		d.report("live", fmt.Errorf("%s cannot be tried: its tokens are not set", platformNames[name]))
		return
	}
	err := withTemporaryStore(ctx, func(db *store.Store) error {
		offline := channel.Agent{Model: llm.NewOffline(0), Policy: compactor.DefaultPolicy}
		hub := channel.New(channel.Options{Store: db, Agent: func(string) channel.Agent { return offline }, Log: slog.New(slog.DiscardHandler)})
		err := d.tryIn(ctx, connectors[i], hub)
		closeErr := hub.Close()
		if err == nil {
			err = closeErr
		}
		return err
	})
	if ctx.Err() == nil {
		d.report("live", err)
	}
}

// tryIn runs the trial. Its report has nothing private: a difference can be passed on as it is.
func (d *doctor) tryIn(ctx context.Context, connector outerConnector, hub *channel.Hub) error {
	trial, err := connector.Trial(ctx, hub, d.place)
	if err != nil {
		return err
	}
	noPress := d.whyNoPress(ctx)
	asks := ""
	if noPress == "" {
		asks = ", asks you to press a button there within a minute,"
	}
	d.report("live", nil, fmt.Sprintf("Cairn %s on %s: it now posts five or six messages that begin with \"Trial\" and a number%s and deletes them at the end, also after Ctrl-C", version(), platformNames[connector.Name()], asks))
	trial.Run(ctx, noPress, func(s platform.Step) { d.print(d.diagnose(s)) })
	return nil
}

// whyNoPress says why nobody is asked to press a button; "" if somebody is.
func (d *doctor) whyNoPress(ctx context.Context) string {
	where, err := storeOptions(&d.app.settings)
	_, answers := d.askBot(ctx)
	switch {
	case answers, err == nil && where.Postgres == "" && store.InUse(where.Dir):
		return "the bot runs, and would get the press: stop it to try this"
	case !d.wait && !isTerminal(d.app.in):
		return "standard input is no terminal: --wait asks anyway"
	}
	return ""
}

// diagnose counts a step that differs, and describes each.
func (d *doctor) diagnose(s platform.Step) diagnosis {
	c := diagnosis{Check: "live", OK: s.OK || s.Skipped, Step: s.Name, Expected: s.Expected, Seen: d.app.secrets.mask(s.Seen), Skipped: s.Skipped}
	switch {
	case s.Skipped:
		c.Detail = s.Name + ": not tried: " + c.Seen
	case s.OK:
		c.Detail = s.Name + ": " + c.Seen + "\nas expected: " + s.Expected
	default:
		c.Detail = s.Name + ": " + c.Seen + "\nexpected: " + s.Expected
		d.failures++
	}
	return c
}
