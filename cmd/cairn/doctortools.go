// cairn doctor: whether the MCP servers of the settings answer, and what their tools are.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"

	"cairn/hooks"
	"cairn/mcp"
)

func (d *doctor) tools(ctx context.Context) {
	servers, err := d.app.settings.ToolServers()
	if err != nil {
		d.tell("tools", err)
	}
	for _, s := range servers {
		d.toolServer(ctx, s)
	}
}

// hooks checks that the programs of hooks exist. It calls none.
func (d *doctor) hooks(context.Context) {
	for _, name := range hooks.Names {
		target := d.app.settings.Hooks.Calls()[name]
		if len(target) == 0 || hooks.IsURL(target) {
			continue
		}
		_, err := exec.LookPath(target[0])
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		d.tell("hooks", err, name+": "+target[0])
	}
}

// toolServer connects to one server, as a bot would.
func (d *doctor) toolServer(ctx context.Context, s mcp.Server) {
	host := mcp.Start([]mcp.Server{s}, version(), nil, slog.New(slog.DiscardHandler))
	defer host.Close()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reached := host.Ready(limited)
	status := host.Status()[0]
	fact := fmt.Sprintf("%s: may be called: %s", s.ID, cmp.Or(strings.Join(status.Tools, ", "), "none"))
	if len(status.Refused) > 0 {
		fact += "; not allowed: " + strings.Join(status.Refused, ", ")
	}
	switch {
	case ctx.Err() != nil:
	case reached != nil:
		d.tell("tools", fmt.Errorf("%s: not reached within %v: %s", s.ID, patience, status.Error))
	case len(status.Missing) > 0:
		d.tell("tools", fmt.Errorf("%s: allow names tools that the server does not have: %s", s.ID, strings.Join(status.Missing, ", ")), fact)
	case len(status.Tools)+len(status.Refused) == 0:
		d.tell("tools", errors.New(s.ID+": the server has no tools"))
	default:
		d.tell("tools", nil, fact)
	}
}
