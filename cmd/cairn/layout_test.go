package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowedImports reads ARCHITECTURE.md's table: which packages of this module each package
// may import. All imports run down.
func allowedImports(t *testing.T) map[string][]string {
	text := must(os.ReadFile("../../ARCHITECTURE.md"))(t)
	_, table, found := strings.Cut(string(text), "| package | imports |\n|---|---|\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no table of imports")
	}
	allowed := make(map[string][]string)
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			break
		}
		for pkg := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
			allowed[pkg] = strings.Split(strings.TrimSpace(cells[2]), ", ")
		}
	}
	return allowed
}

func TestLayout(t *testing.T) {
	allowed := allowedImports(t)
	used := make(map[string]map[string]bool)
	noError(t, fs.WalkDir(os.DirFS("../.."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		pkg := path.Dir(name)
		if used[pkg] == nil {
			used[pkg] = make(map[string]bool)
		}
		if strings.HasSuffix(name, "_test.go") { // tests may import every package
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if other, ours := strings.CutPrefix(imported, "cairn/"); ours {
				used[pkg][other] = true
				if !slices.Contains(allowed[pkg], other) {
					t.Errorf("%s imports %s, which ARCHITECTURE.md's table does not allow", name, other)
				}
			}
		}
		return nil
	}))
	for pkg := range used {
		if _, listed := allowed[pkg]; !listed {
			t.Errorf("ARCHITECTURE.md's table lacks package %s", pkg)
		}
	}
	for pkg, imports := range allowed {
		if used[pkg] == nil {
			t.Errorf("ARCHITECTURE.md's table has package %s, which does not exist", pkg)
		}
		for _, other := range imports {
			if other != "" && !used[pkg][other] {
				t.Errorf("ARCHITECTURE.md's table says that %s imports %s, and it does not", pkg, other)
			}
		}
	}
}
