package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"cairn/internal/tokens"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// call calls a tool. Its errors are read by the model.
func (c *connection) call(ctx context.Context, tool string, arguments json.RawMessage) (string, error) {
	c.mu.Lock()
	session, why := c.session, c.why
	c.mu.Unlock()
	if session == nil {
		return "", fmt.Errorf("the server of this tool cannot be reached (%s); it is tried again in the background. Go on without it", why)
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	result, err := session.CallTool(limited, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", fmt.Errorf("the tool did not answer within %v", c.Timeout)
	case errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, io.EOF):
		return "", errors.New("the server of this tool died during the call. Whether it did anything is unknown")
	case err != nil:
		return "", fmt.Errorf("the tool failed: %s", tokens.Clip(c.describe(err), 200))
	case result.NeedsInput():
		return "", errors.New("the tool asks for more input, which is not possible here")
	}
	text := tokens.Clip(resultText(result), c.MaxResultTokens)
	if result.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// resultText returns a result as text. Other content is only described.
func resultText(result *sdk.CallToolResult) string {
	var parts []string
	for _, content := range result.Content {
		switch part := content.(type) {
		case *sdk.TextContent:
			parts = append(parts, part.Text)
		case *sdk.ImageContent:
			parts = append(parts, fmt.Sprintf("[an image, %s, %d bytes, which is not shown]", part.MIMEType, len(part.Data)))
		case *sdk.EmbeddedResource:
			if part.Resource != nil && part.Resource.Text != "" {
				parts = append(parts, part.Resource.Text)
				continue
			}
			parts = append(parts, "[a file, which is not shown]")
		default:
			parts = append(parts, "[a sound or a link, which is not shown]")
		}
	}
	if len(parts) == 0 && result.StructuredContent != nil {
		if text, err := json.Marshal(result.StructuredContent); err == nil {
			parts = append(parts, string(text))
		}
	}
	text := strings.TrimSpace(printable(strings.Join(parts, "\n")))
	if text == "" {
		return "The tool returned nothing."
	}
	return text
}

// printable removes broken UTF-8 and control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
