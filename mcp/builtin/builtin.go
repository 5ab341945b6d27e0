// Package builtin has MCP servers that run inside the program: fetch reads web pages, files reads one folder. Both are
// read-only. The package imports nothing of Cairn.
package builtin

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names are the names of the servers.
var Names = []string{"fetch", "files"}

// New returns the server with this name; folder is the root of files.
func New(name, folder string) (*sdk.Server, error) {
	switch name {
	case "fetch":
		return fetchServer(newClient(publicOnly)), nil
	case "files":
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, fmt.Errorf("open the folder of files: %w", err)
		}
		return filesServer(root), nil
	}
	return nil, fmt.Errorf("there is no built-in server %q", name)
}

// addTool adds a tool that returns text. Its errors are read by the model.
func addTool[In any](s *sdk.Server, tool *sdk.Tool, run func(ctx context.Context, in In) (string, error)) {
	tool.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(s, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		text, err := run(ctx, in)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, err
	})
}

// pageLength is how many bytes of a text one call returns. In most languages they fit the default limit of
// a result, 4000 tokens.
const pageLength = 14_000

// page returns the part of text that starts at offset, with a note about where the rest starts.
func page(text string, offset int) (string, error) {
	if offset < 0 || offset > len(text) {
		return "", fmt.Errorf("offset %d is outside the text, which has %d bytes", offset, len(text))
	}
	for offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset++
	}
	end := min(offset+pageLength, len(text))
	for end > offset && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	part := text[offset:end]
	if end < len(text) {
		part += fmt.Sprintf("\n[%d of %d bytes; the rest begins at offset %d]", end, len(text), end)
	}
	return cmp.Or(part, "[empty]"), nil
}
