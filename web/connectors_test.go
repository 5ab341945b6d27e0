package web

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"cairn/testkit/check"
)

// platforms are two connectors.
type platforms struct{ states []ConnectorState }

func (p platforms) States() []ConnectorState { return p.states }

func (p platforms) Check(_ context.Context, name string) ([]string, error) {
	if name == "slack" {
		return nil, errors.New("the token was revoked <b>")
	}
	return []string{"the bot is Cairn", "warning: it may not write in #news"}, nil
}

func TestConnectors(t *testing.T) {
	r := newRig(t, rigOptions{platforms: platforms{[]ConnectorState{
		{Name: "discord", OK: true, Heard: time.Now(), Delay: 3 * time.Second},
		{Name: "slack", Why: "not connected, it rejects the token"},
	}}})
	log := slog.New(r.events.Logged(slog.DiscardHandler))
	log.Warn("connection_lost", "connector", "slack", "error", "it was <reset>")
	log.Info("connected", "connector", "slack")

	all := get[connectorList](r, "/api/connectors").Connectors
	check.Len(t, "connectors", all, 2)
	check.Equal(t, "the delay of Discord", all[0].Delay, 3.0)
	check.That(t, all[0].Trouble == nil, "Discord has the trouble %v", all[0].Trouble)
	check.Equal(t, "the trouble of Slack", all[1].Trouble.Name, "connection_lost")
	check.Contains(t, "the page", r.page(200, "/connectors"), "connected", "arrived 3 seconds after it was written", "it rejects the token",
		"none since the start", "connection_lost", "it was &lt;reset&gt;", `data-src="/connectors/slack/check"`)
	check.Contains(t, "what Discord says", r.page(200, "/connectors/discord/check"), "the bot is Cairn", `warning</span> it may not write in #news`)
	check.Contains(t, "what Slack says", r.page(200, "/connectors/slack/check"), "the token was revoked &lt;b&gt;")
	check.Equal(t, "the same for programs", get[checkAnswer](r, "/api/connectors/slack/check").Problem, "the token was revoked <b>")
	r.do(404, nil, "GET /api/connectors/irc/check", "")
}
