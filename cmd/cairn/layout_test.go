// What the sources must look like; docs/log-events.md, which lists what they log.

package main

import (
	"cmp"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cairn/testkit/check"
)

type goFile struct {
	name string // its path from the module's root
	file *ast.File
	at   *token.FileSet
}

var sources = sync.OnceValues(func() (all []goFile, err error) {
	return all, fs.WalkDir(os.DirFS(checkout), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		one := goFile{name: name, at: token.NewFileSet()}
		one.file, err = parser.ParseFile(one.at, filepath.Join(checkout, name), nil, parser.SkipObjectResolution)
		all = append(all, one)
		return err
	})
})

// of reports whether a file is in a folder of this name, at any level.
func (s goFile) of(folder string) bool { return strings.Contains("/"+s.name, "/"+folder+"/") }

func isTestFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

// TestLayout compares the imports with ARCHITECTURE.md's table: which packages of this module each
// package may import. All imports run down.
func TestLayout(t *testing.T) {
	_, table, found := strings.Cut(read(t, checkout+"/ARCHITECTURE.md"), "| package | imports |\n|---|---|\n")
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
	used := make(map[string]map[string]bool)
	for _, s := range check.Must(sources())(t) {
		pkg := path.Dir(s.name)
		if used[pkg] == nil && !s.of("testdata") {
			used[pkg] = make(map[string]bool)
		}
		if isTestFile(s.name) || s.of("testdata") { // tests may import every package
			continue
		}
		for _, spec := range s.file.Imports {
			imported := check.Must(strconv.Unquote(spec.Path.Value))(t)
			check.That(t, imported != "text/template" && imported != "html/template",
				"%s imports %s: a template finds methods by name, so the linker keeps every method of every library, 25 MB of them", s.name, imported)
			if other, ours := strings.CutPrefix(imported, "cairn/"); ours {
				used[pkg][other] = true
				check.That(t, slices.Contains(allowed[pkg], other), "%s imports %s, which ARCHITECTURE.md's table does not allow", s.name, other)
			}
		}
	}
	for pkg := range used {
		check.That(t, allowed[pkg] != nil, "ARCHITECTURE.md's table lacks package %s", pkg)
	}
	for pkg, imports := range allowed {
		check.That(t, used[pkg] != nil, "ARCHITECTURE.md's table has package %s, which does not exist", pkg)
		for _, other := range imports {
			check.That(t, other == "" || used[pkg][other], "ARCHITECTURE.md's table says that %s imports %s, and it does not", pkg, other)
		}
	}
}

// TestImportsRunDown compares the imports with ARCHITECTURE.md's list of folders: a package imports
// only packages of its own folder and of folders further down.
func TestImportsRunDown(t *testing.T) {
	_, list, found := strings.Cut(read(t, checkout+"/ARCHITECTURE.md"), "enforces it.\n\n```\n")
	check.Require(t, found, "ARCHITECTURE.md has no list of folders")
	list, _, _ = strings.Cut(list, "\n```")
	floor := make(map[string]int)
	for number, line := range strings.Split(list, "\n") {
		if !strings.HasPrefix(line, " ") { // what is indented belongs to the folder above
			folder, _, _ := strings.Cut(line, "/")
			floor[folder] = number + 1
		}
	}
	for _, s := range check.Must(sources())(t) {
		folder, _, _ := strings.Cut(s.name, "/")
		check.That(t, floor[folder] != 0, "ARCHITECTURE.md's list lacks the folder of %s", s.name)
		if isTestFile(s.name) || s.of("testdata") {
			continue
		}
		for _, spec := range s.file.Imports {
			other, ours := strings.CutPrefix(check.Must(strconv.Unquote(spec.Path.Value))(t), "cairn/")
			other, _, _ = strings.Cut(other, "/")
			check.That(t, !ours || floor[other] >= floor[folder], "%s imports %s, which is above it in ARCHITECTURE.md's list", s.name, other)
		}
	}
}

// impure matches what reaches other goroutines, the disk, the network, a clock or the time zone.
var impure = regexp.MustCompile(`(?m)^\s+"(database/sql|math/rand|math/rand/v2|net|net/http|os|os/exec|sync|sync/atomic)"|^\s+go (func|\w+[.(])|\btime\.(After|AfterFunc|NewTicker|NewTimer|Now|Since|Sleep|Tick|Until)\(|\bcontext\.AfterFunc\(|\btime\.Local\b|\.Local\(\)`)

// TestPureLayout allows no goroutines, locks, files, clocks or local time zone where summaries are
// decided: values in, values out.
func TestPureLayout(t *testing.T) {
	for _, dir := range []string{"transcript", "compactor", "compactor/worker", "compactor/judge", "compactor/summarize", "chat", "memory/search"} {
		for _, name := range check.Must(filepath.Glob(filepath.Join(checkout, dir, "*.go")))(t) {
			if !isTestFile(name) {
				check.Equal(t, name, impure.FindString(read(t, name)), "")
			}
		}
	}
}

// TestOneFunctionWritesTimes keeps texts from having a time without an offset in an hour that exists twice: chat.Time and its
// neighbours write times.
func TestOneFunctionWritesTimes(t *testing.T) {
	bare := regexp.MustCompile(`\.Format\([^)]*(15:04(:05)?"|TimeFormat|DateTime)\)`)
	for _, s := range check.Must(sources())(t) {
		if isTestFile(s.name) || s.of("testkit") || s.of("bench") || s.name == "chat/time.go" {
			continue
		}
		for line := range strings.Lines(read(t, filepath.Join(checkout, s.name))) {
			check.That(t, !bare.MatchString(line) || strings.Contains(line, "chat.Offset"), "%s writes a time without chat.Time: %s", s.name, line)
		}
	}
}

// mostMethods is the largest number of exported methods of a type, mostFields of fields that the
// goroutine of a conversation owns.
const mostMethods, mostFields = 20, 20

// wide are the types that may have more: a pure value.
var wide = map[string]int{"transcript.View": 31}

// TestHandlesAreSmall limits the methods of types. The doubles of platforms are exempt: their
// methods are what a test may trigger.
func TestHandlesAreSmall(t *testing.T) {
	check.SkipUnderRace(t)
	methods := make(map[string]int)
	fields := 0
	for _, s := range check.Must(sources())(t) {
		if isTestFile(s.name) || s.of("testkit") || s.of("testdata") {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.IsExported() {
				if of := strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"); ast.IsExported(of) {
					methods[path.Dir(s.name)+"."+of]++
				}
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && s.name == "channel/conversation.go" && spec.Name.Name == "conversation" {
				fields = spec.Type.(*ast.StructType).Fields.NumFields()
			}
			return s.name == "channel/conversation.go"
		})
	}
	check.That(t, fields != 0 && fields <= mostFields, "conversation has %d fields, want 1 to %d", fields, mostFields)
	check.Require(t, methods["store.Store"] != 0, "got no methods")
	for name, n := range methods {
		limit := max(mostMethods, wide[name])
		check.That(t, n <= limit, "%s has %d exported methods, of at most %d", name, n, limit)
	}
}

// longestFile and longestTest are in lines: about 300, so that nobody writes denser to stay below it. Split what exceeds them by what
// it does.
const longestFile, longestTest = 320, 80

func TestFilesAndTestFunctionsAreShort(t *testing.T) {
	check.SkipUnderRace(t)
	for _, s := range check.Must(sources())(t) {
		line := func(at token.Pos) int { return s.at.Position(at).Line }
		check.That(t, line(s.file.FileEnd)-1 <= longestFile, "%s has %d lines, more than %d", s.name, line(s.file.FileEnd)-1, longestFile)
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && isTestFile(s.name) {
				lines := line(f.End()) - line(f.Pos()) + 1
				check.That(t, lines <= longestTest, "%s: %s has %d lines, more than %d", s.name, f.Name.Name, lines, longestTest)
			}
		}
	}
}

var update = flag.Bool("update", false, "write docs/log-events.md anew")

func TestLogEventsPage(t *testing.T) {
	check.SkipUnderRace(t)
	const mark = "<!-- Generated from the source. Renew it: go test ./cmd/cairn -run TestLogEventsPage -update -->\n"
	page := checkout + "/docs/log-events.md"
	intro, table, _ := strings.Cut(read(t, page), mark)
	want := "\n| event | level | attributes | package |\n|---|---|---|---|\n" + strings.Join(logEvents(t), "")
	if *update {
		check.NoError(t, os.WriteFile(page, []byte(intro+mark+want), 0o644))
		return
	}
	check.Equal(t, "docs/log-events.md", table, want)
}

func logEvents(t *testing.T) (rows []string) {
	t.Helper()
	for _, s := range check.Must(sources())(t) {
		if isTestFile(s.name) || s.of("testkit") || s.of("bench") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if row := logEvent(n); row != "" {
				rows = append(rows, "| "+row+" | "+path.Dir(s.name)+" |\n")
			}
			return true
		})
	}
	slices.SortFunc(rows, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return slices.Compact(rows)
}

// logEvent returns event, level and attributes of a call of a logger; empty for anything else, and
// for debug.
func logEvent(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logger.MatchString(types.ExprString(method.X)) {
		return ""
	}
	level := strings.ToLower(method.Sel.Name)
	args := call.Args
	switch {
	case level == "log" && len(args) > 2: // an incident: a warning, and debug while it lasts
		level = "warn, then debug"
		args = args[2:]
		if strings.HasPrefix(types.ExprString(call.Args[1]), "max(") { // not below info
			level = "warn, then info"
		}
	case !slices.Contains([]string{"info", "warn", "error"}, level) || len(args) == 0:
		return ""
	}
	if event, ok := stringOf(args[0]); ok {
		return event + " | " + level + " | " + strings.Join(attributesOf(args[1:]), ", ")
	}
	return ""
}

// logger matches expressions that are named like a logger: log, o.Log, c.log().
var logger = regexp.MustCompile(`(?i)log(\(.*\))?$`)

// attributesOf returns the names of a call's attributes: each is a key followed by a value, or a
// slog.Attr.
func attributesOf(args []ast.Expr) (names []string) {
	for i := 0; i < len(args); i++ {
		key, ok := stringOf(args[i])
		if ok {
			i++ // its value
		} else if attr, call := args[i].(*ast.CallExpr); call && len(attr.Args) > 0 {
			key, ok = stringOf(attr.Args[0])
		}
		if ok {
			names = append(names, "`"+key+"`")
		}
	}
	return names
}

func stringOf(x ast.Expr) (string, bool) {
	literal, ok := x.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
