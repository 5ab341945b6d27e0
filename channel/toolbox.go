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

// Toolbox has the tools that conversations may be given. Its methods must not block.
type Toolbox interface {
	Servers() []ToolServer
	// Tools returns the tools of some servers, as far as they are known.
	Tools(servers []string) []Tool
}

// maxAdded is the most servers that /tools may add to a conversation.
const maxAdded = 20

// otherTools returns the tools of other programs that the agent has in a conversation: those of its
// settings, and those that /tools added. nil records means no particular conversation.
func (a Agent) otherTools(ctx context.Context, records *store.Conversation) (all []Tool, err error) {
	if a.Toolbox == nil {
		return nil, nil
	}
	var rules store.ToolRules
	if records != nil {
		if rules, err = records.Settings().Tools(ctx); err != nil {
			return nil, err
		}
	}
	return a.Toolbox.Tools(slices.Concat(a.ToolServers, rules.Added)), nil
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

// reread has the conversation reopened before its next turn. Only the loop calls it.
func (c *conversation) reread() { c.rules, c.runs.again = nil, true }
