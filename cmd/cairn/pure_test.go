package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/check"
)

// impure matches what reaches other goroutines, the disk, the network, a clock or the time zone.
var impure = regexp.MustCompile(`(?m)^\s+"(database/sql|math/rand|math/rand/v2|net|net/http|os|os/exec|sync|sync/atomic)"|^\s+go (func|\w+[.(])|\btime\.(After|AfterFunc|NewTicker|NewTimer|Now|Since|Sleep|Tick|Until)\(|\bcontext\.AfterFunc\(|\btime\.Local\b|\.Local\(\)`)

// TestPurePackages allows no goroutines, locks, files, clocks or local time zone where summaries are
// decided: values in, values out.
func TestPurePackages(t *testing.T) {
	for _, dir := range []string{"transcript", "compactor", "compactor/summarize", "chat", "memory/search"} {
		for _, name := range check.Must(filepath.Glob(filepath.Join(checkout, dir, "*.go")))(t) {
			if found := impure.FindString(read(t, name)); found != "" && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s: %s", name, found)
			}
		}
	}
}
