// What the dashboard shows of the connectors.

package main

import (
	"context"
	"fmt"
	"log/slog"

	"cairn/web"
)

// connectorPage answers the dashboard's questions about the connectors.
type connectorPage struct {
	bot    *bot
	health *health
}

// States returns the state of each connector.
func (p *connectorPage) States() (all []web.ConnectorState) {
	for _, connector := range p.health.connectors {
		var s state
		p.health.addConnector(&s, connector)
		one := web.ConnectorState{Name: connector.Name(), OK: s.Parts[0].OK, Why: s.Parts[0].Why}
		one.Heard, one.Delay = connector.Heard()
		all = append(all, one)
	}
	return all
}

// Check asks the platform of a connector, by another one with the same settings: the first does not notice.
func (p *connectorPage) Check(ctx context.Context, name string) (facts []string, err error) {
	settings := p.bot.settings()
	again, err := openConnectors(settings, new(readers), true, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	for _, connector := range again {
		if connector.Name() == name {
			return checkConnector(ctx, settings, connector)
		}
	}
	return nil, fmt.Errorf("the settings have no token for %s any more", name)
}
