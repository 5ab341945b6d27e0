package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/tokens"
	"cairn/llm"
)

// Limits of a server's tools: they are part of every prompt.
const (
	maxOffered     = 1000   // tools that are read from one server
	maxSearched    = 10_000 // tools that are read while an allowed one is missing
	maxPages       = 100    // pages of its list
	maxDescription = 300    // estimated tokens
	maxSchema      = 1500   // estimated tokens
	maxName        = 64     // characters, a limit of the providers
)

// listing is what a server's list of tools has beside those that are offered, by their names there.
type listing struct {
	refused  []string // not allowed, sorted
	missing  []string // allowed, and not in the list
	unusable []string // allowed, each with the reason: "name: reason"
	read     int      // all tools that were read
	cut      bool     // the list is too long, and was not read to its end
}

// problems returns what is wrong with the list, for the log.
func (l listing) problems() (all []string) {
	if l.cut {
		all = append(all, fmt.Sprintf("the server lists more than %d tools: the rest are ignored", l.read))
	}
	for _, name := range l.missing {
		all = append(all, name+": the server does not have it")
	}
	return append(all, l.unusable...)
}

// readAllowed reads a server's tools. It returns those that can be offered, sorted by name, and the rest of the list.
func (c *connection) readAllowed(ctx context.Context, session *sdk.ClientSession) (allowed []llm.Tool, l listing, err error) {
	allowed = []llm.Tool{} // not nil: it was read
	found, l, err := c.readTools(ctx, session)
	for _, name := range c.Allow {
		if err == nil && found[name] == nil {
			l.missing = append(l.missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		tool, problem := c.toolOf(found[name])
		if problem == "" && slices.ContainsFunc(allowed, func(other llm.Tool) bool { return other.Name == tool.Name }) {
			problem = "another tool has the same name, " + tool.Name
		}
		if problem != "" {
			l.unusable = append(l.unusable, name+": "+problem)
			continue
		}
		allowed = append(allowed, tool)
	}
	slices.SortFunc(allowed, func(a, b llm.Tool) int { return strings.Compare(a.Name, b.Name) })
	return allowed, l, err
}

// readTools reads a server's list of tools within the limits: the allowed ones, by name, and the names of others.
func (c *connection) readTools(ctx context.Context, session *sdk.ClientSession) (allowed map[string]*sdk.Tool, l listing, err error) {
	allowed = map[string]*sdk.Tool{}
	var page sdk.ListToolsParams
	for range maxPages {
		result, err := session.ListTools(ctx, &page)
		if err != nil {
			return nil, listing{}, err
		}
		for _, tool := range result.Tools {
			if slices.Contains(c.Allow, tool.Name) {
				allowed[tool.Name] = tool
			} else if len(l.refused) < maxOffered {
				l.refused = append(l.refused, tokens.Clip(tool.Name, maxName))
			}
		}
		l.read += len(result.Tools)
		page.Cursor = result.NextCursor
		complete := page.Cursor == ""
		enough := l.read >= maxOffered && len(allowed) == len(c.Allow)
		if complete || enough || l.read >= maxSearched {
			break
		}
	}
	l.cut = page.Cursor != ""
	slices.Sort(l.refused)
	return allowed, l, nil
}

// toolOf validates a tool's definition and limits its size.
func (c *connection) toolOf(offered *sdk.Tool) (tool llm.Tool, problem string) {
	if c.tasks.has(offered.Name) {
		return tool, "it runs only as a task of the protocol, which Cairn does not support"
	}
	object, _ := offered.InputSchema.(map[string]any)
	if object["type"] != "object" {
		return tool, `its input schema is not of type "object"`
	}
	if object["properties"] == nil {
		object["properties"] = map[string]any{} // OpenAI refuses a schema without
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "enum"} {
		delete(object, key) // OpenAI and Anthropic refuse them at this place; the server checks the arguments itself
	}
	schema, err := json.Marshal(object) // keys are sorted, so equal schemas have equal text
	if err != nil {
		return tool, "its input schema is not JSON"
	}
	if n := tokens.Estimate(string(schema)); n > maxSchema {
		return tool, fmt.Sprintf("its input schema takes %d tokens; the limit is %d", n, maxSchema)
	}
	description := strings.ToValidUTF8(strings.TrimSpace(offered.Description), "\uFFFD")
	return llm.Tool{
		Name: toolName(c.ID, offered.Name), Description: tokens.Clip(description, maxDescription), Parameters: schema, Approve: c.Approve,
		Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
			return c.call(ctx, offered.Name, arguments)
		},
	}, ""
}

// foreign are characters that providers do not accept in a tool's name.
var foreign = regexp.MustCompile(`[^-_0-9A-Za-z]`)

// toolName returns the name by which models call a server's tool: "calc_add" for add of calc. Characters that
// providers refuse become "_", and a long name ends with a hash of the full name.
func toolName(server, tool string) string {
	name := foreign.ReplaceAllString(server+"_"+tool, "_")
	if len(name) <= maxName {
		return name
	}
	return fmt.Sprintf("%s_%x", name[:maxName-9], sha256.Sum256([]byte(tool)))[:maxName]
}

func names(tools []llm.Tool) []string {
	all := make([]string, 0, len(tools))
	for _, tool := range tools {
		all = append(all, tool.Name)
	}
	return all
}

// idempotencyKey is the field of a call's _meta with a key that is the same if the call is repeated after a crash.
const idempotencyKey = "cairn/idempotency-key"

// call calls a tool. Its errors are read by the model.
func (c *connection) call(ctx context.Context, tool string, arguments json.RawMessage) (llm.Result, error) {
	c.mu.Lock()
	session := c.session
	why := c.why
	c.mu.Unlock()
	if session == nil {
		return llm.Result{}, fmt.Errorf("the server of this tool cannot be reached (%s); it is tried again in the background. Go on without it", why)
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	params := sdk.CallToolParams{Name: tool, Arguments: arguments}
	if key := llm.CallKey(ctx); key != "" {
		params.Meta = sdk.Meta{idempotencyKey: key}
	}
	answer, err := session.CallTool(limited, &params)
	switch {
	case ctx.Err() != nil:
		return llm.Result{}, ctx.Err()
	case limited.Err() != nil:
		return llm.Result{}, fmt.Errorf("the tool did not answer within %v", c.Timeout)
	case errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, io.EOF):
		return llm.Result{}, errors.New("the server of this tool died during the call. Whether it did anything is unknown")
	case err != nil:
		return llm.Result{}, fmt.Errorf("the tool failed: %s", tokens.Clip(c.describe(err), 200))
	case answer.NeedsInput():
		return llm.Result{}, errors.New("the tool asks for more input, which is not possible here")
	}
	text, pictures := contentOf(answer)
	result := llm.Result{Text: tokens.Clip(text, c.MaxResultTokens), Images: pictures}
	if answer.IsError {
		return result, errors.New(result.Text)
	}
	return result, nil
}
