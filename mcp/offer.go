package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/tokens"

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

// offer is an allowed tool of a server.
type offer struct {
	name        string
	description string
	schema      json.RawMessage
}

func (o offer) equal(other offer) bool {
	return o.name == other.name && o.description == other.description && bytes.Equal(o.schema, other.schema)
}

// readOffers reads a server's tools. It returns the allowed ones, sorted by name; the names of the
// others; and problems of allowed tools that cannot be used.
func readOffers(ctx context.Context, session *sdk.ClientSession, s Server) (offered []offer, refused, problems []string, err error) {
	taken := map[string]bool{}
	all, more, err := readTools(ctx, session)
	if more {
		problems = append(problems, fmt.Sprintf("the server's list has no end after %d tools: the rest is not read", len(all)))
	}
	for _, tool := range all {
		if !slices.Contains(s.Allow, tool.Name) {
			refused = append(refused, tokens.Clip(tool.Name, maxName))
			continue
		}
		name := ToolName(s.ID, tool.Name)
		o, problem := offerOf(tool)
		if problem == "" && taken[name] {
			problem = "another tool has the same name, " + name
		}
		if problem != "" {
			problems = append(problems, tool.Name+": "+problem)
			continue
		}
		taken[name] = true
		offered = append(offered, o)
	}
	slices.SortFunc(offered, func(a, b offer) int { return strings.Compare(a.name, b.name) })
	slices.Sort(refused)
	if offered == nil {
		offered = []offer{} // read, but empty
	}
	return offered, refused, problems, err
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

// offerOf validates a tool's definition and limits its size.
func offerOf(tool *sdk.Tool) (o offer, problem string) {
	object, _ := tool.InputSchema.(map[string]any)
	if object["type"] != "object" {
		return o, `its input schema is not of type "object"`
	}
	if object["properties"] == nil {
		object["properties"] = map[string]any{} // OpenAI refuses a schema without
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "enum"} {
		delete(object, key) // OpenAI and Anthropic refuse them here; the server checks the arguments itself
	}
	schema, err := json.Marshal(object) // keys are sorted, so equal schemas have equal text
	if err != nil {
		return o, "its input schema is no JSON"
	}
	if n := tokens.Estimate(string(schema)); n > maxSchema {
		return o, fmt.Sprintf("its input schema takes %d tokens, and at most %d may", n, maxSchema)
	}
	description := strings.ToValidUTF8(strings.TrimSpace(tool.Description), "\uFFFD")
	return offer{name: tool.Name, description: tokens.Clip(description, maxDescription), schema: schema}, ""
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

func names(offered []offer) []string {
	all := make([]string, 0, len(offered))
	for _, o := range offered {
		all = append(all, o.name)
	}
	return all
}
