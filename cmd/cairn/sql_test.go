// SQL stands in package store alone, so that one text can run on several databases.

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// sqlText matches statements of SQL, and clauses that continue one.
var sqlText = regexp.MustCompile(`(?s)\bSELECT\b.*\bFROM\b|\b(INSERT (OR \w+ )?|REPLACE )INTO\b|\bDELETE FROM\b|\bUPDATE (OR \w+ )?\w+ SET\b` +
	`|\bCREATE (TABLE|INDEX|TRIGGER|VIEW)\b|\bWHERE [\w(]|\bORDER BY \w|^\s*AND \w|\bPRAGMA \w`)

// TestOnlyStoreHasSQL keeps SQL, and the package for databases, out of all other packages of the program. Tests and what they use look into
// databases from outside.
func TestOnlyStoreHasSQL(t *testing.T) {
	check.SkipUnderRace(t)
	for _, s := range check.Must(sources())(t) {
		if isTestFile(s.name) || s.of("testdata") || strings.HasPrefix(s.name, "store/") || s.of("testkit") || s.of("bench") {
			continue
		}
		for _, spec := range s.file.Imports {
			check.That(t, spec.Path.Value != `"database/sql"`, "%s imports database/sql: only store does", s.name)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text := check.Must(strconv.Unquote(literal.Value))(t)
			check.That(t, !sqlText.MatchString(text), "%s: %q is SQL, which only store has", s.at.Position(literal.Pos()), text)
			return true
		})
	}
}

// TestStoreTakesNoSQL keeps SQL out of what store exports: no function that others call takes a query and its arguments.
func TestStoreTakesNoSQL(t *testing.T) {
	check.SkipUnderRace(t)
	for _, s := range check.Must(sources())(t) {
		if isTestFile(s.name) || !strings.HasPrefix(s.name, "store/") {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Recv != nil && !ast.IsExported(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")) {
				continue
			}
			for _, p := range f.Type.Params.List {
				last, variadic := p.Type.(*ast.Ellipsis)
				check.That(t, !variadic || types.ExprString(last.Elt) != "any", "%s: %s takes arguments of a query", s.at.Position(f.Pos()), f.Name.Name)
			}
		}
	}
}

func TestSQLIsRecognized(t *testing.T) {
	for _, text := range []string{
		"SELECT id\n\tFROM memories", "INSERT OR REPLACE INTO erasures", "DELETE FROM pins", "UPDATE messages SET text = ''", "WHERE id = ?", "ORDER BY id LIMIT ?", "AND role = 'user'",
	} {
		check.That(t, sqlText.MatchString(text), "%q is not recognized", text)
	}
	for _, text := range []string{"Select a model from the list", "insert into the list", "meet AND greet", "where it is"} {
		check.That(t, !sqlText.MatchString(text), "%q is taken for SQL", text)
	}
}
