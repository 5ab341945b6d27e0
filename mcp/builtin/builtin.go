// Package builtin has MCP servers that run inside the program: fetch reads web pages, files reads one folder. Both are
// read-only. The package imports nothing of Cairn.
package builtin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
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

// Limits of the files server.
const (
	maxFile    = 4 << 20  // bytes of a file
	maxSearch  = 64 << 20 // bytes that one search may read
	maxEntries = 500      // of a directory listing
	maxHits    = 50       // of a search
	maxLine    = 300      // bytes of a line in search results
)

type listArguments struct {
	Folder string `json:"folder,omitempty" jsonschema:"a folder, as notes/2026; the top folder without it"`
}

type readArguments struct {
	Path   string `json:"path" jsonschema:"a file, as notes/plan.md"`
	Offset int    `json:"offset,omitempty" jsonschema:"byte to begin at; 0 for the beginning"`
}

type searchArguments struct {
	Text string `json:"text" jsonschema:"what to look for; case does not matter"`
}

// filesServer serves one folder. root confines access to it: neither .. nor a link leads out.
func filesServer(root *os.Root) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "files"}, nil)
	f := files{root}
	addTool(s, &sdk.Tool{Name: "list", Description: "List a folder of shared files."}, f.list)
	addTool(s, &sdk.Tool{Name: "read", Description: "Read a shared text file."}, f.read)
	addTool(s, &sdk.Tool{Name: "search", Description: "Find a text in the shared files: returns paths, line numbers and lines."}, f.search)
	return s
}

type files struct{ root *os.Root }

// clean returns a path below the folder, which models also write as if it were the root.
func clean(name string) string { return path.Clean(strings.TrimLeft(name, "/")) }

func (f files) list(_ context.Context, in listArguments) (string, error) {
	folder := clean(in.Folder)
	entries, err := fs.ReadDir(f.root.FS(), folder)
	if err != nil {
		return "", describeError(err, in.Folder)
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxEntries {
			fmt.Fprintf(&b, "[%d more]\n", len(entries)-i)
			break
		}
		switch info, err := f.root.Stat(path.Join(folder, e.Name())); {
		case err != nil: // a broken link, or one that leads out of the folder
		case info.IsDir():
			fmt.Fprintf(&b, "%s/\n", e.Name())
		default:
			fmt.Fprintf(&b, "%s  %d bytes\n", e.Name(), info.Size())
		}
	}
	return cmp.Or(b.String(), "The folder is empty."), nil
}

func (f files) read(_ context.Context, in readArguments) (string, error) {
	text, err := f.text(clean(in.Path))
	if err != nil {
		return "", describeError(err, in.Path)
	}
	return page(string(text), in.Offset)
}

func (f files) text(name string) ([]byte, error) {
	info, err := f.root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has %d bytes, and at most %d can be read", info.Size(), maxFile)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err == nil && (!utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0) {
		err = errors.New("it is not a text file")
	}
	return text, err
}

func (f files) search(ctx context.Context, in searchArguments) (string, error) {
	wanted := strings.ToLower(strings.TrimSpace(in.Text))
	if wanted == "" {
		return "", errors.New("text is empty: say what to look for")
	}
	var b strings.Builder
	read := 0
	hits := 0
	err := fs.WalkDir(f.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return ctx.Err() // an unreadable file has no hits
		}
		text, err := f.text(name)
		if err != nil {
			return ctx.Err()
		}
		if read += len(text); read > maxSearch {
			fmt.Fprintf(&b, "[stopped after %d MiB]\n", maxSearch>>20)
			return fs.SkipAll
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if !strings.Contains(strings.ToLower(line), wanted) {
				continue
			}
			hits++
			if hits > maxHits {
				fmt.Fprintf(&b, "[more than %d lines; look for something rarer]\n", maxHits)
				return fs.SkipAll
			}
			line = strings.TrimSpace(line)
			if len(line) > maxLine {
				line = strings.ToValidUTF8(line[:maxLine], "") + "…" // without half a character
			}
			fmt.Fprintf(&b, "%s:%d: %s\n", name, n, line)
		}
		return ctx.Err()
	})
	if err != nil {
		return "", err
	}
	return cmp.Or(b.String(), "No shared file contains this."), nil
}

// describeError explains an error about a path, without the path of the folder.
func describeError(err error, name string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %q", name)
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return fmt.Errorf("%q cannot be read: %w", name, err)
}
