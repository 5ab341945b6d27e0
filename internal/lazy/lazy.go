// Package lazy builds patterns and word lists on first use: a run of the program needs few of them,
// and building all of them would slow down every start.
package lazy

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles expr on its first call. It panics on an invalid expr.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Set returns a function that parses list on its first call.
func Set(list string, parse func(list string) map[string]bool) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return parse(list) })
}

// Value returns a function that calls make on its first call, and returns that result ever after.
func Value[T any](make func() T) func() T { return sync.OnceValue(make) }
