// Results of tools: text for the model, and pictures for models that can see. Of what else a server sends, one line says
// that it was left out.

package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // for their sizes
	_ "image/jpeg"
	_ "image/png"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/tokens"
	"cairn/llm"
)

// Limits of the pictures of a result. Claude refuses larger ones, and others count more tokens for them:
// https://docs.anthropic.com/en/docs/build-with-claude/vision, General limits.
const (
	maxPictures     = 4
	maxPictureBytes = 5 << 20
	maxPictureSide  = 8000 // pixels
)

// contentOf returns a result as text and pictures. Each picture has a line in the text, for models that cannot see.
func contentOf(result *sdk.CallToolResult) (text string, pictures []llm.Image) {
	var parts []string
	show := func(data []byte, mediaType string) {
		line, picture, ok := pictureOf(data, mediaType, len(pictures))
		parts = append(parts, line)
		if ok {
			pictures = append(pictures, picture)
		}
	}
	for _, content := range result.Content {
		switch part := content.(type) {
		case *sdk.TextContent:
			parts = append(parts, part.Text)
		case *sdk.ImageContent:
			show(part.Data, part.MIMEType)
		case *sdk.AudioContent:
			parts = append(parts, leftOut("sound", part.MIMEType, len(part.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, linkText(part))
		case *sdk.EmbeddedResource:
			switch r := part.Resource; {
			case r == nil:
			case strings.HasPrefix(r.MIMEType, "image/") && len(r.Blob) > 0:
				show(r.Blob, r.MIMEType)
			case len(r.Blob) > 0:
				parts = append(parts, leftOut("file", r.MIMEType, len(r.Blob)))
			default:
				parts = append(parts, r.Text)
			}
		default:
			parts = append(parts, leftOut("file", "", 0))
		}
	}
	if len(parts) == 0 && result.StructuredContent != nil {
		structured, err := json.Marshal(result.StructuredContent)
		if err == nil {
			parts = append(parts, string(structured))
		}
	}
	text = strings.TrimSpace(printable(strings.Join(parts, "\n")))
	return cmp.Or(text, "The tool returned nothing."), pictures
}

// pictureOf returns a picture and its line: "[picture: image/png, 640×480, 120 kB]". ok is false if the model does not get
// it, which the line says. before counts the pictures before it in the result.
func pictureOf(data []byte, mediaType string, before int) (line string, picture llm.Image, ok bool) {
	picture = llm.Image{Data: data}
	detected, sendable := picture.MediaType()
	if !sendable {
		return leftOut("picture", mediaType, len(data)), picture, false
	}
	picture.Type = detected
	facts := detected
	size, _, err := image.DecodeConfig(bytes.NewReader(data)) // an error: a WebP, or broken
	if err == nil {
		facts += fmt.Sprintf(", %d×%d", size.Width, size.Height)
	}
	large := len(data) > maxPictureBytes || max(size.Width, size.Height) > maxPictureSide
	if large || before == maxPictures {
		return leftOut("picture", facts, len(data)), picture, false
	}
	return fmt.Sprintf("[picture: %s, %s]", facts, sizeOf(len(data))), picture, true
}

// leftOut returns the line for content that the model does not get: "[sound, left out: audio/wav, 4 kB]".
func leftOut(what, mediaType string, size int) string {
	facts := []string{tokens.Clip(strings.Join(strings.Fields(mediaType), " "), 20)}
	if size > 0 {
		facts = append(facts, sizeOf(size))
	}
	if facts[0] == "" {
		facts = facts[1:]
	}
	return strings.TrimSuffix("["+what+", left out: "+strings.Join(facts, ", "), ": ") + "]"
}

func sizeOf(bytes int) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%d kB", (bytes+500)/1000)
}

// linkText returns a link as text: "[link: Report, https://example.com/r.pdf, application/pdf: figures of May]".
func linkText(link *sdk.ResourceLink) string {
	parts := []string{cmp.Or(link.Title, link.Name), link.URI, link.MIMEType}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	text := "[link: " + strings.Join(parts, ", ")
	if link.Description != "" {
		text += ": " + link.Description
	}
	return text + "]"
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
