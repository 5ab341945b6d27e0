// The tools of MCP servers, for the agents and conversations that the settings name.
package main

import (
	"cairn/config"
	"cairn/llm"
)

// toolsFor returns the tools that an agent has in a conversation, as far as their servers have
// been reached.
func (b *bot) toolsFor(s *config.Settings, agent, conversation string) (tools []llm.Tool) {
	for _, tool := range b.tools.Tools(s.ToolsFor(agent, conversation)) {
		tools = append(tools, tool.Tool)
	}
	return tools
}

// toolsChanged gives open conversations, before their next turn, the tools of now.
func (b *bot) toolsChanged() { b.hub.Renew(b.rules(&b.current.Load().settings)) }
