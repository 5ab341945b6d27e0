package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// ofSQLite are the files with statements that only SQLite runs.
var ofSQLite = []string{"sqlite.go", "intact.go", "backup.go", "folder.go", "upkeep.go", "migration6.go", "copyplan.go"}

// uncommon are the words and forms that only SQLite takes, or that mean something else on PostgreSQL.
var uncommon = map[*regexp.Regexp]string{
	regexp.MustCompile(`\b(iif|printf|format|group_concat|total|typeof|hex|strftime|julianday|changes|total_changes|last_insert_rowid)\(`): "a function of SQLite alone",
	regexp.MustCompile(`\bjson_[^e]`):                               "a function of SQLite alone",
	regexp.MustCompile(`\b(max|min)\([^()]*,`):                      "max and min of several values are of SQLite alone: use CASE",
	regexp.MustCompile(`REPLACE INTO|\bOR (IGNORE|REPLACE|FAIL)\b`): "a conflict clause of SQLite alone: use ON CONFLICT",
	regexp.MustCompile(`ON CONFLICT DO UPDATE`):                     "PostgreSQL needs the columns of the conflict",
	regexp.MustCompile(`INDEXED BY|\browid\b|PRAGMA|sqlite_`):       "of SQLite alone",
	regexp.MustCompile(`COLLATE NOCASE`):                            "of SQLite alone: use lower, which knows ASCII alone on both",
	regexp.MustCompile(`\bLIKE\b|\bGLOB\b`):                         "LIKE ignores case in SQLite alone: use instr or substr",
	regexp.MustCompile(`\?\d* <<`):                                  "PostgreSQL would shift 32 bits: use CAST(? AS BIGINT)",
	regexp.MustCompile(`SELECT \?|nullif\(\?`):                      "PostgreSQL cannot know the type: use CAST(? AS BIGINT), or a column",
	regexp.MustCompile(`substr\([^()]*, -`):                         "PostgreSQL counts no place from the end",
	regexp.MustCompile(`LIMIT -`):                                   "PostgreSQL has no negative limit",
	regexp.MustCompile(`CROSS JOIN \w+( \w+)? ON\b`):                "PostgreSQL takes no ON there: use WHERE",
	regexp.MustCompile(`->`):                                        "PostgreSQL reads no JSON from text",
	regexp.MustCompile(`(AND|OR|NOT|WHEN|WHERE) (\w+\.)?(addressed|optional|pinned|owed|incomplete|by_rule|following|read_back|settled)\b( *$| *\)| AND| OR| THEN)`): "a number is no condition on PostgreSQL: compare it",
}

// function is a function of the store, or what is declared beside functions.
type function struct {
	file, name string
	texts      []string
	calls      []string
}

func functions(t *testing.T) (all []function) {
	t.Helper()
	for _, file := range check.Must(filepath.Glob("*.go"))(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, declared := range check.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t).Decls {
			f := function{file: file}
			if fn, ok := declared.(*ast.FuncDecl); ok {
				f.name = fn.Name.Name
			}
			ast.Inspect(declared, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					if n.Kind == token.STRING {
						f.texts = append(f.texts, check.Must(strconv.Unquote(n.Value))(t))
					}
				case *ast.SelectorExpr:
					f.calls = append(f.calls, n.Sel.Name)
				}
				return true
			})
			all = append(all, f)
		}
	}
	return all
}

// Both databases run the same statements, so these have only what both understand in the same way.
func TestStatementsAreCommon(t *testing.T) {
	for _, f := range functions(t) {
		for _, text := range f.texts {
			for form, why := range uncommon {
				if found := form.FindString(text); found != "" && !slices.Contains(ofSQLite, f.file) {
					t.Errorf("%s, %s has %q: %s", f.file, f.name, found, why)
				}
			}
		}
	}
	for text, bad := range map[string]bool{
		"SELECT iif(a, b, c)": true, "WHERE id BETWEEN ?1 << 32 AND 5": true, "name LIKE 'x%'": true, "SELECT max(a, b)": true, "AND pinned AND x": true,
		"SELECT max(a) FROM json_each(?)": false, "CAST(?1 AS BIGINT) << 32": false, "AND pinned = 0": false,
	} {
		found := false
		for form := range uncommon {
			found = found || form.MatchString(text)
		}
		check.Equal(t, text, found, bad)
	}
}

// A vector tells what its text is about, so whatever changes a text deletes its vectors.
func TestTextsTakeTheirVectorsAlong(t *testing.T) {
	ofMessage := regexp.MustCompile(`UPDATE messages SET (\w+ = \S+ )*(text|attachments) = `)
	ofMemory := regexp.MustCompile(`UPDATE memories SET (\w+ = \S+ )*content = `)
	writers := 0
	for _, f := range functions(t) {
		all := strings.Join(f.texts, "\n")
		if ofMessage.MatchString(all) {
			writers++
			check.That(t, slices.Contains(f.calls, "dropVectors"), "%s changes the text of a message and keeps its vectors", f.name)
		}
		if ofMemory.MatchString(all) {
			writers++
			check.That(t, strings.Contains(all, "DELETE FROM memory_vectors"), "%s changes the text of a memory and keeps its vectors", f.name)
		}
	}
	check.That(t, writers >= 4, "found only %d functions that change a text", writers)
}
