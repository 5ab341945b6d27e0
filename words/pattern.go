package words

import (
	"regexp"
	"sync"
)

// Pattern returns a regular expression that is compiled when it is first needed: most runs need few
// of those there are, and each start would wait for all.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
