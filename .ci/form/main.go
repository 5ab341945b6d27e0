// Form finds statements with two subjects in Go files, test files too:
//
//   - an if or switch that begins with a call, or with an assignment that its condition does not read,
//   - an if that begins with an assignment to an existing variable,
//   - a loop that begins with "x := true" or "x = true",
//   - an assignment of more than two values, each from an expression of its own.
//
// It prints where they are, and exits with 1 if there are any.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	found := 0
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if why := fault(n); why != "" {
				found++
				fmt.Printf("%s: %s\n", set.Position(n.Pos()), why)
			}
			return true
		})
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if found > 0 {
		os.Exit(1)
	}
}

// fault returns what is wrong with a statement; "" if nothing is.
func fault(n ast.Node) string {
	switch s := n.(type) {
	case *ast.IfStmt:
		if s.Init != nil && !reads(s.Init, s.Cond) {
			return "the if begins with a statement that its condition does not read: write it above"
		}
		if assign, ok := s.Init.(*ast.AssignStmt); ok && assign.Tok == token.ASSIGN {
			return "the if begins with an assignment to an existing variable: write it above"
		}
	case *ast.SwitchStmt:
		if s.Init != nil && s.Tag != nil && !reads(s.Init, s.Tag) {
			return "the switch begins with a statement that it does not read: write it above"
		}
		if s.Init != nil && s.Tag == nil && !readsInCases(s.Init, s.Body) {
			return "the switch begins with a statement that its cases do not read: write it above"
		}
	case *ast.ForStmt:
		if assign, ok := s.Init.(*ast.AssignStmt); ok && isTrue(assign.Rhs[0]) {
			return "the loop begins with \"true\": write it above"
		}
	case *ast.AssignStmt:
		if len(s.Rhs) > 2 {
			return "more than two assignments in one: write them below each other"
		}
	}
	return ""
}

func isTrue(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "true"
}

// reads reports whether an expression reads a variable that a statement assigns.
func reads(init ast.Stmt, in ast.Node) bool {
	assign, ok := init.(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, left := range assign.Lhs {
		if mentions(in, text(left)) {
			return true
		}
	}
	return false
}

func readsInCases(init ast.Stmt, body *ast.BlockStmt) bool {
	for _, s := range body.List {
		for _, e := range s.(*ast.CaseClause).List {
			if reads(init, e) {
				return true
			}
		}
	}
	return false
}

// text returns a variable as it is written: "x" or "x.y"; "" for anything else.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if of := text(e.X); of != "" {
			return of + "." + e.Sel.Name
		}
	}
	return ""
}

func mentions(in ast.Node, variable string) (found bool) {
	if variable == "" || variable == "_" {
		return false
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && text(e) == variable {
			found = true
		}
		return !found
	})
	return found
}
