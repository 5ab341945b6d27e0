package channel

import (
	"cmp"
	"context"
	"slices"

	"cairn/channel/task"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Tools of other programs, and which of them a conversation has.

// ToolServer is a program with tools.
type ToolServer struct {
	ID      string
	Tools   []string // tools that may be called, by the names the models know
	Problem string   // why it cannot be reached; "": it can
}

// Toolbox has the tools that conversations may be given. Only Ready may block.
type Toolbox interface {
	Servers() []ToolServer
	// Tools returns the tools of some servers, as far as they are known. Their results are data from strangers.
	Tools(servers []string) []llm.Tool
	// Ready returns once the tools of some servers are known, or it is not worth waiting, or ctx ends.
	Ready(ctx context.Context, servers []string)
}

// toolHosts run calls of a conversation's tools; nil: the tools are only measured.
type toolHosts struct {
	approvals *approvals
	context   *contextTool
	tasks     *task.Parent
}

// tools returns the tools that the model may call in a conversation; with records nil, in no particular one.
func (a Agent) tools(ctx context.Context, records *store.Conversation, o memory.ToolOptions, hosts toolHosts) (all []llm.Tool, err error) {
	servers, err := a.otherServers(ctx, records)
	if err == nil && len(servers) > 0 {
		for _, tool := range a.Toolbox.Tools(servers) {
			all = append(all, hosts.approvals.wrap(tool))
		}
	}
	all = append(all, task.Tools(a.Spawn, hosts.tasks)...)
	return slices.Concat(memory.Of(cmp.Or(records, new(store.Conversation))).Tools(o), []llm.Tool{hosts.context.tool()}, all), err
}

// weighed returns the tools that the model may call in every conversation, to measure them.
func (a Agent) weighed() []llm.Tool {
	all, _ := a.tools(context.Background(), nil, memory.ToolOptions{}, toolHosts{})
	return all
}

// otherServers returns the ids of the servers of other programs: of the settings, and added by /tools.
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

// awaitTools waits, before a turn, for tools of servers that still connect after a start.
func (c *conversation) awaitTools(ctx context.Context) error {
	servers, err := c.agent.otherServers(c.life, c.records)
	if err != nil || len(servers) == 0 || c.window.learned().Facts().RefusesTools {
		return err
	}
	c.agent.Toolbox.Ready(ctx, servers)
	return c.renew(c.life)
}

// reread makes the conversation reopen before its next turn. Only the loop calls it.
func (c *conversation) reread() {
	c.rules = nil
	c.runs.rereads++
	c.runs.again = true
}
