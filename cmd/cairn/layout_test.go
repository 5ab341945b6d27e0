package main

import (
	"go/ast"
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

	"cairn/internal/check"
)

// eachFile parses the Go files of the module, by their path from its root, but for folders that skip names.
func eachFile(t *testing.T, mode parser.Mode, skip func(folder string) bool, do func(name string, file *ast.File, at *token.FileSet)) {
	t.Helper()
	check.NoError(t, fs.WalkDir(os.DirFS(checkout), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || skip(entry.Name())):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		at := token.NewFileSet()
		file, err := parser.ParseFile(at, filepath.Join(checkout, name), nil, mode)
		if err == nil {
			do(name, file, at)
		}
		return err
	}))
}

func isTestFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

// allowedImports reads ARCHITECTURE.md's table: which packages of this module each package
// may import. All imports run down.
func allowedImports(t *testing.T) map[string][]string {
	text := check.Must(os.ReadFile(checkout + "/ARCHITECTURE.md"))(t)
	_, table, found := strings.Cut(string(text), "| package | imports |\n|---|---|\n")
	check.Require(t, found, "ARCHITECTURE.md has no table of imports")
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
	eachFile(t, parser.ImportsOnly, func(folder string) bool { return folder == "testdata" }, func(name string, file *ast.File, _ *token.FileSet) {
		pkg := path.Dir(name)
		if used[pkg] == nil {
			used[pkg] = make(map[string]bool)
		}
		if isTestFile(name) { // tests may import every package
			return
		}
		for _, spec := range file.Imports {
			imported := check.Must(strconv.Unquote(spec.Path.Value))(t)
			if imported == "text/template" || imported == "html/template" {
				t.Errorf("%s imports %s: a template finds methods by name, so the linker keeps every method of every library, 25 MB of them", name, imported)
			}
			if other, ours := strings.CutPrefix(imported, "cairn/"); ours {
				used[pkg][other] = true
				if !slices.Contains(allowed[pkg], other) {
					t.Errorf("%s imports %s, which ARCHITECTURE.md's table does not allow", name, other)
				}
			}
		}
	})
	for pkg := range used {
		if _, listed := allowed[pkg]; !listed {
			t.Errorf("ARCHITECTURE.md's table lacks package %s", pkg)
		}
	}
	for pkg, imports := range allowed {
		check.That(t, used[pkg] != nil, "ARCHITECTURE.md's table has package %s, which does not exist", pkg)
		for _, other := range imports {
			if other != "" && !used[pkg][other] {
				t.Errorf("ARCHITECTURE.md's table says that %s imports %s, and it does not", pkg, other)
			}
		}
	}
}

// mostMethods is the largest number of exported methods of a type.
const mostMethods = 20

// TestHandlesAreSmall limits the methods of types. The doubles of platforms are exempt: their
// methods are what a test may trigger.
func TestHandlesAreSmall(t *testing.T) {
	check.SkipUnderRace(t)
	methods := make(map[string]int)
	doubles := func(folder string) bool { return strings.HasSuffix(folder, "test") || folder == "testdata" }
	eachFile(t, parser.SkipObjectResolution, doubles, func(name string, file *ast.File, _ *token.FileSet) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || isTestFile(name) || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if id, ok := of.(*ast.Ident); ok && id.IsExported() {
				methods[path.Dir(name)+"."+id.Name]++
			}
		}
	})
	check.Require(t, methods["store.Store"] != 0, "got no methods")
	for name, n := range methods {
		check.That(t, n <= mostMethods, "%s has %d exported methods, of at most %d", name, n, mostMethods)
	}
}

// TestAConversationIsSmall limits the fields that one goroutine owns.
func TestAConversationIsSmall(t *testing.T) {
	file := check.Must(parser.ParseFile(token.NewFileSet(), checkout+"/channel/conversation.go", nil, parser.SkipObjectResolution))(t)
	fields := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "conversation" {
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				fields += max(len(f.Names), 1)
			}
		}
		return true
	})
	check.That(t, fields != 0 && fields <= 20, "conversation has %d fields, want 1 to 20", fields)
}

// longestFile and longestTest are in lines. Split what exceeds them by what it does.
const (
	longestFile = 300
	longestTest = 80
)

func TestFilesAndTestFunctionsAreShort(t *testing.T) {
	check.SkipUnderRace(t)
	none := func(string) bool { return false }
	eachFile(t, parser.SkipObjectResolution, none, func(name string, file *ast.File, files *token.FileSet) {
		line := func(at token.Pos) int { return files.Position(at).Line }
		if n := line(file.FileEnd) - 1; n > longestFile {
			t.Errorf("%s has %d lines, more than %d", name, n, longestFile)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && isTestFile(name) && line(f.End())-line(f.Pos())+1 > longestTest {
				t.Errorf("%s: %s has %d lines, more than %d", name, f.Name.Name, line(f.End())-line(f.Pos())+1, longestTest)
			}
		}
	})
}
