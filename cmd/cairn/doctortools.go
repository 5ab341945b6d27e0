// cairn doctor: checks of the MCP servers and their tools.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"cairn/mcp"
)

func (d *doctor) tools(ctx context.Context) {
	servers, err := d.app.settings.ToolServers()
	if err != nil {
		d.report("tools", err)
	}
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
	fact := fmt.Sprintf("%s: may be called: %s", s.ID, cmp.Or(strings.Join(status.Tools, ", "), "none"))
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
	case len(status.Tools)+len(status.Refused) == 0:
		d.report("tools", errors.New(s.ID+": the server has no tools"))
	default:
		d.report("tools", nil, fact)
	}
}
