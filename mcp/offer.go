package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/tokens"
	"cairn/llm"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a server's tools: they are part of every prompt.
const (
	maxOffered     = 1000 // tools that are read from one server
	maxPages       = 100  // pages of its list
	maxDescription = 300  // estimated tokens
	maxSchema      = 1500 // estimated tokens
	maxName        = 64   // characters, a limit of the providers
)

// readAllowed reads a server's tools. It returns the allowed ones, sorted by name; the names of the
// others; and problems of allowed tools that cannot be used.
func (c *connection) readAllowed(ctx context.Context, session *sdk.ClientSession) (allowed []Tool, refused, problems []string, err error) {
	allowed = []Tool{} // not nil: it was read
	taken := map[string]bool{}
	all, more, err := readTools(ctx, session)
	if more {
		problems = append(problems, fmt.Sprintf("the server's list has no end after %d tools: the rest is not read", len(all)))
	}
	for _, offered := range all {
		if !slices.Contains(c.Allow, offered.Name) {
			refused = append(refused, tokens.Clip(offered.Name, maxName))
			continue
		}
		tool, problem := c.toolOf(offered)
		if problem == "" && taken[tool.Name] {
			problem = "another tool has the same name, " + tool.Name
		}
		if problem != "" {
			problems = append(problems, offered.Name+": "+problem)
			continue
		}
		taken[tool.Name] = true
		allowed = append(allowed, tool)
	}
	slices.SortFunc(allowed, func(a, b Tool) int { return strings.Compare(a.Original, b.Original) })
	slices.Sort(refused)
	return allowed, refused, problems, err
}

// readTools reads a server's list of tools within the limits; more reports that the list continues.
func readTools(ctx context.Context, session *sdk.ClientSession) (all []*sdk.Tool, more bool, err error) {
	var page sdk.ListToolsParams
	for range maxPages {
		result, err := session.ListTools(ctx, &page)
		if err != nil {
			return nil, false, err
		}
		all = append(all, result.Tools...)
		if page.Cursor = result.NextCursor; page.Cursor == "" || len(all) > maxOffered {
			break
		}
	}
	return all[:min(len(all), maxOffered)], page.Cursor != "" || len(all) > maxOffered, nil
}

// toolOf validates a tool's definition and limits its size.
func (c *connection) toolOf(offered *sdk.Tool) (tool Tool, problem string) {
	object, _ := offered.InputSchema.(map[string]any)
	if object["type"] != "object" {
		return tool, `its input schema is not of type "object"`
	}
	if object["properties"] == nil {
		object["properties"] = map[string]any{} // OpenAI refuses a schema without
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "enum"} {
		delete(object, key) // OpenAI and Anthropic refuse them here; the server checks the arguments itself
	}
	schema, err := json.Marshal(object) // keys are sorted, so equal schemas have equal text
	if err != nil {
		return tool, "its input schema is no JSON"
	}
	if n := tokens.Estimate(string(schema)); n > maxSchema {
		return tool, fmt.Sprintf("its input schema takes %d tokens, and at most %d may", n, maxSchema)
	}
	description := strings.ToValidUTF8(strings.TrimSpace(offered.Description), "\uFFFD")
	return Tool{Server: c.ID, Original: offered.Name, Tool: llm.Tool{
		Name: ToolName(c.ID, offered.Name), Description: tokens.Clip(description, maxDescription), Parameters: schema,
		Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			return c.call(ctx, offered.Name, arguments)
		},
	}}, ""
}

// ToolName returns the name by which models call a server's tool: "calc_add" for add of calc.
// Providers accept letters, digits, "_" and "-", and at most 64 characters: other characters become
// "_", and a long name ends with a hash of the full name.
func ToolName(server, tool string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, server+"_"+tool)
	if len(name) <= maxName {
		return name
	}
	return fmt.Sprintf("%s_%x", name[:maxName-9], sha256.Sum256([]byte(tool)))[:maxName]
}

// names returns the tools' names on the server.
func names(tools []Tool) []string {
	all := make([]string, 0, len(tools))
	for _, tool := range tools {
		all = append(all, tool.Original)
	}
	return all
}
