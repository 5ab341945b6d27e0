// The MCP tools of agents and conversations.

package main

import (
	"context"
	"time"

	"cairn/channel"
	"cairn/mcp"
)

// toolbox has the tools of the connected MCP servers in the settings.
type toolbox struct{ b *bot }

func (t toolbox) Tools(servers []string) (tools []channel.Tool) {
	approve := map[string]string{}
	for _, s := range t.b.settings().Tools {
		approve[s.ID] = s.Approve
	}
	for _, tool := range t.b.tools.Tools(servers) {
		tools = append(tools, channel.Tool{Tool: tool.Tool, Server: tool.Server, Approve: approve[tool.Server]})
	}
	return tools
}

// toolTimeout is how long after the start turns wait for tool servers.
const toolTimeout = 15 * time.Second

// Ready lets the first turns and resumed tasks wait for their tools. The tools of a slower server
// are available from the first turn after it has connected.
func (t toolbox) Ready(ctx context.Context, servers []string) {
	limited, cancel := context.WithDeadline(ctx, t.b.connectStart.Add(toolTimeout))
	defer cancel()
	_ = t.b.tools.Tried(limited, servers) // each connection logs its own failure
}

func (t toolbox) Servers() (all []channel.ToolServer) {
	for _, s := range t.b.tools.Status() {
		one := channel.ToolServer{ID: s.ID, Problem: s.Error}
		for _, tool := range s.Tools {
			one.Tools = append(one.Tools, mcp.ToolName(s.ID, tool))
		}
		all = append(all, one)
	}
	return all
}

// toolsChanged gives open conversations the current tools from their next turn on.
func (b *bot) toolsChanged() { b.hub.Renew(b.rules(b.settings())) }
