// docs/log-events.md: its table is generated from the calls of the loggers.

package main

import (
	"cmp"
	"flag"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path"
	"regexp"
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

// logEvent returns event, level and attributes of a call of a logger, or of a field of a
// platform.Incident that names an event; empty for anything else, and for debug.
func logEvent(n ast.Node) string {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		event, _ := stringOf(n.Value)
		switch key := types.ExprString(n.Key); {
		case event != "" && key == "Failed":
			return event + " | warn | `error`"
		case event != "" && key == "Recovered":
			return event + " | info | "
		}
	case *ast.CallExpr:
		method, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || !logger.MatchString(types.ExprString(method.X)) {
			return ""
		}
		level, args := strings.ToLower(method.Sel.Name), n.Args
		switch {
		case level == "log" && len(args) > 2: // an incident: a warning, and debug while it lasts
			level, args = "warn, then debug", args[2:]
			if strings.HasPrefix(types.ExprString(n.Args[1]), "max(") { // not below info
				level = "warn, then info"
			}
		case !slices.Contains([]string{"info", "warn", "error"}, level) || len(args) == 0:
			return ""
		}
		if event, ok := stringOf(args[0]); ok {
			return event + " | " + level + " | " + strings.Join(attributesOf(args[1:]), ", ")
		}
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
