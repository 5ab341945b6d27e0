// What the bot tells programs of others, and what it gets from them: the events of hooks, MCP tools.

package main

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/hooks"
	"cairn/mcp"
)

// proposedEvent is the event passed to before_compaction.
type proposedEvent struct {
	Conversation string `json:"conversation"`
	Trigger      string `json:"trigger"`
	Kind         string `json:"kind"`
	From         int64  `json:"from_seq"`
	To           int64  `json:"to_seq"`
	Messages     int    `json:"messages"`
	Tokens       int    `json:"tokens"` // estimate for the span to summarize; 0: not known yet
	Used         int    `json:"used_tokens"`
	Window       int    `json:"max_tokens"`
	Focus        string `json:"focus"`
}

// endedEvent is the event passed to after_compaction.
type endedEvent struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	State        string `json:"state"` // applied or failed
	Trigger      string `json:"trigger"`
	Kind         string `json:"kind"`
	By           string `json:"by"`
	From         int64  `json:"from_seq"`
	To           int64  `json:"to_seq"`
	Messages     int    `json:"messages"`
	Before       int    `json:"before_tokens"`
	After        int    `json:"after_tokens"`
	Window       int    `json:"max_tokens"`
	Error        string `json:"error,omitempty"`
	Summary      string `json:"summary,omitempty"`
	Path         string `json:"path"` // path of the summary in the HTTP API, with its messages
}

type memoryEvent struct {
	Conversation string `json:"conversation"`
	ID           int64  `json:"id"`
	Kind         string `json:"kind"`
	Content      string `json:"content"`
}

type replyEvent struct {
	Conversation string   `json:"conversation"`
	To           []string `json:"to"` // platform ids of the messages that are answered
	Text         string   `json:"text"`
	Failure      bool     `json:"failure"` // the text reports a failure and is not the model's
}

// propose asks the hook that is called before a compaction.
func (b *bot) propose(ctx context.Context, conversation string, p compactor.Proposal) (focus string, err error) {
	v := b.hooks.Ask(ctx, hooks.Before, proposedEvent{
		Conversation: conversation, Trigger: string(p.Trigger), Kind: string(p.Kind), From: p.From, To: p.To, Messages: p.Messages,
		Tokens: p.Tokens, Used: p.BeforeTokens, Window: p.Window, Focus: p.Focus,
	})
	if v.Veto {
		return "", errors.New(v.Reason)
	}
	return v.Focus, nil
}

func (b *bot) replied(conversation string, to []string, text string, failure bool) {
	b.hooks.Tell(hooks.OnReply, replyEvent{conversation, to, text, failure})
}

func ended(conversation string, e channel.Event) endedEvent {
	id := e.ID
	if id == 0 && len(e.Set) > 0 {
		id = e.Set[0].ID
	}
	one := endedEvent{
		Conversation: conversation, ID: id, State: string(e.State), Trigger: string(e.Trigger), Kind: string(e.Kind), By: string(e.By),
		From: e.From, To: e.To, Messages: e.Messages, Before: e.BeforeTokens, After: e.AfterTokens, Window: e.Window, Error: e.Error, Summary: e.Summary,
	}
	one.Path = "/api/conversations/" + url.PathEscape(conversation) + "/summaries"
	if id > 0 {
		one.Path += "/" + strconv.FormatInt(id, 10)
	}
	return one
}

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
