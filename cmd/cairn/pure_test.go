package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/check"
)

// pure lists the packages that decide about summaries: values in, values out.
var pure = []string{"transcript", "compactor", "compactor/summarize", "chat", "memory/search"}

// impureImports are imports that reach other goroutines, the disk or the network.
var impureImports = []string{"database/sql", "io/ioutil", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "sync", "sync/atomic"}

// clocks are functions that read a clock, or wait for one, by package. A context with a deadline,
// which ends a call, is allowed.
var clocks = map[string][]string{
	"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"context": {"AfterFunc"},
}

// TestPurePackages allows no goroutines, locks, files, clocks, local time zone or changed package
// variables where summaries are decided. A time is shown in its own zone. Options.Now may have
// time.Now as its default.
func TestPurePackages(t *testing.T) {
	for _, dir := range pure {
		for _, name := range check.Must(filepath.Glob(filepath.Join(checkout, dir, "*.go")))(t) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, found := range impurities(t, name, nil) {
				t.Errorf("%s: %s", name, found)
			}
		}
	}
}

// impurities returns what a pure package may not contain, of a file. source is as for
// parser.ParseFile.
func impurities(t *testing.T, name string, source any) (found []string) {
	file := check.Must(parser.ParseFile(token.NewFileSet(), name, source, 0))(t)
	for _, spec := range file.Imports {
		if imported := check.Must(strconv.Unquote(spec.Path.Value))(t); slices.Contains(impureImports, imported) {
			found = append(found, "imports "+spec.Path.Value)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, "starts a goroutine")
		case *ast.CallExpr:
			if called := clockCall(n); called != "" {
				found = append(found, "calls "+called)
			}
		case *ast.SelectorExpr:
			if n.Sel.Name == "Local" { // time.Local, or a time's method
				found = append(found, "reads the time zone")
			}
		case *ast.IncDecStmt:
			found = append(found, changed(file, n.X)...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				found = append(found, changed(file, left)...)
			}
		}
		return true
	})
	return found
}

// clockCall returns the name of the clock that a call reads; "" for other calls.
func clockCall(call *ast.CallExpr) string {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if of, ok := function.X.(*ast.Ident); ok && slices.Contains(clocks[of.Name], function.Sel.Name) {
		return of.Name + "." + function.Sel.Name
	}
	return ""
}

// changed returns the package variable that an assignment to left changes; "" for variables of
// functions.
func changed(file *ast.File, left ast.Expr) []string {
	for {
		switch e := left.(type) {
		case *ast.IndexExpr:
			left = e.X
		case *ast.SelectorExpr:
			left = e.X
		case *ast.StarExpr:
			left = e.X
		case *ast.ParenExpr:
			left = e.X
		case *ast.Ident: // one that another file declares has no object
			if e.Name != "_" && (e.Obj == nil || e.Obj == file.Scope.Lookup(e.Name)) {
				return []string{"changes " + e.Name}
			}
			return nil
		default:
			return nil
		}
	}
}
