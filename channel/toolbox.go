package channel

import (
	"context"
	"slices"

	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Tools of other programs, and which of them a conversation has.

// Tool is a tool of another program. Its results are data from strangers.
type Tool struct {
	llm.Tool
	Server  string // the id of the server that provides it
	Approve string // ApproveFirst or ApproveAlways; any other value: no question
}

// ToolServer is a program with tools.
type ToolServer struct {
	ID      string
	Tools   []string // tools that may be called, by the names the models know
	Problem string   // why it cannot be reached; "": it can
}

// Toolbox has the tools that conversations may be given. Only Ready may block.
type Toolbox interface {
	Servers() []ToolServer
	// Tools returns the tools of some servers, as far as they are known.
	Tools(servers []string) []Tool
	// Ready returns once the tools of some servers are known, or when it is not worth waiting
	// longer, or when ctx ends.
	Ready(ctx context.Context, servers []string)
}

// maxAdded is the most servers that /tools may add to a conversation.
const maxAdded = 20

// otherTools returns the tools of other programs that the agent has in a conversation: those of its
// settings, and those that /tools added. nil records means no particular conversation.
func (a Agent) otherTools(ctx context.Context, records *store.Conversation) (all []Tool, err error) {
	servers, err := a.otherServers(ctx, records)
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	return a.Toolbox.Tools(servers), nil
}

// otherServers returns the ids of the servers of these tools.
func (a Agent) otherServers(ctx context.Context, records *store.Conversation) ([]string, error) {
	if a.Toolbox == nil {
		return nil, nil
	}
	if records == nil {
		return a.ToolServers, nil
	}
	rules, err := records.Settings().Tools(ctx)
	return slices.Concat(a.ToolServers, rules.Added), err
}

// awaitTools waits, before a turn, for the tools that its requests offer: servers may still be
// connecting when the program has just started.
func (c *conversation) awaitTools(ctx context.Context) error {
	servers, err := c.agent.otherServers(c.hub.ctx, c.records)
	if err != nil || len(servers) == 0 || c.window.learnt().Facts().RefusesTools {
		return err
	}
	c.agent.Toolbox.Ready(ctx, servers)
	return c.renew(c.hub.ctx)
}

// plain returns the tools without approval.
func plain(tools []Tool) (all []llm.Tool) {
	for _, tool := range tools {
		all = append(all, tool.Tool)
	}
	return all
}

// weighed returns the tools that the agent's model may call in any conversation, only to measure
// them, not to run them.
func (a Agent) weighed() []llm.Tool {
	others, _ := a.otherTools(context.Background(), nil) // reads nothing, so it cannot fail
	return a.toolset(new(store.Conversation), memory.ToolOptions{}, nil, append(plain(others), spawnTools(a.Spawn, nil)...))
}

// reread makes the conversation reopen before its next turn. Only the loop calls it.
func (c *conversation) reread() { c.rules, c.runs.again = nil, true }
