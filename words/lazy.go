package words

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled when it is first needed: a run needs few of
// the program's patterns, and compiling all of them would slow down every start.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Set returns the set that parse makes of list when it is first needed, for the same reason.
func Set(list string, parse func(list string) map[string]bool) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return parse(list) })
}
