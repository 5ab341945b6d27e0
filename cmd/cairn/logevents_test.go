// docs/log-events.md: its table is generated from the calls of the loggers.

package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/check"
)

var update = flag.Bool("update", false, "write docs/log-events.md anew")

var logEventsPage = checkout + "/docs/log-events.md"

const logEventsMark = "<!-- Generated from the source. Renew it: go test ./cmd/cairn -run TestLogEventsPage -update -->\n"

func TestLogEventsPage(t *testing.T) {
	check.SkipUnderRace(t)
	intro, table, _ := strings.Cut(read(t, logEventsPage), logEventsMark)
	want := "\n| event | level | attributes | package |\n|---|---|---|---|\n" + strings.Join(logEvents(t), "")
	if *update {
		check.NoError(t, os.WriteFile(logEventsPage, []byte(intro+logEventsMark+want), 0o644))
		return
	}
	check.Equal(t, "docs/log-events.md", table, want)
}

// logEvents returns the rows of the table, for the events from info on.
func logEvents(t *testing.T) (rows []string) {
	t.Helper()
	for _, s := range check.Must(sources())(t) {
		if isTestFile(s.name) || s.of("test") || s.of("bench") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			row := ""
			switch n := n.(type) {
			case *ast.CallExpr:
				row = logEvent(n, path.Dir(s.name))
			case *ast.KeyValueExpr:
				row = incidentEvent(n, path.Dir(s.name))
			}
			if row != "" {
				rows = append(rows, row)
			}
			return true
		})
	}
	slices.SortFunc(rows, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return slices.Compact(rows)
}

// logEvent returns the row of a call of a logger; empty for any other call, and for debug.
func logEvent(call *ast.CallExpr, room string) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isLogger(method.X) {
		return ""
	}
	level := strings.ToLower(method.Sel.Name)
	args := call.Args
	switch level {
	case "info", "warn", "error":
	case "log": // an incident: a warning, and debug while it lasts
		level = "warn, then debug"
		if len(args) > 1 && isCallOf(args[1], "max") { // not below info
			level = "warn, then info"
		}
		args = args[min(2, len(args)):]
	default:
		return ""
	}
	if len(args) == 0 {
		return ""
	}
	event, ok := stringOf(args[0])
	if !ok {
		return ""
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", event, level, strings.Join(attributesOf(args[1:]), ", "), room)
}

func isCallOf(x ast.Expr, name string) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.Ident)
	return ok && f.Name == name
}

// incidentEvent returns the row of a field of a platform.Incident that names an event; empty for
// any other field.
func incidentEvent(field *ast.KeyValueExpr, room string) string {
	key, _ := field.Key.(*ast.Ident)
	switch event, ok := stringOf(field.Value); {
	case key == nil || !ok:
		return ""
	case key.Name == "Failed":
		return fmt.Sprintf("| %s | warn | `error` | %s |\n", event, room)
	case key.Name == "Recovered":
		return fmt.Sprintf("| %s | info |  | %s |\n", event, room)
	}
	return ""
}

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

// isLogger reports whether an expression is named like a logger: log, o.Log, c.log().
func isLogger(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(x.Name), "log")
	case *ast.SelectorExpr:
		return isLogger(x.Sel)
	case *ast.CallExpr:
		return isLogger(x.Fun)
	}
	return false
}

func stringOf(x ast.Expr) (string, bool) {
	literal, ok := x.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
