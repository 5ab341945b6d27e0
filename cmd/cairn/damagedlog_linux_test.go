package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"
)

// TestDamagedWriteAheadLog: people get a notice within seconds.
func TestDamagedWriteAheadLog(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(file string, size int64) error{
		"truncated": func(file string, _ int64) error { return os.Truncate(file, 0) },
		"cut":       func(file string, size int64) error { return os.Truncate(file, size/8) },
		"overwritten": func(file string, size int64) error {
			log, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer log.Close()
			_, err = log.WriteAt([]byte(strings.Repeat("damaged ", int(size/8))), 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, f, r := answering(t, "Understood.")
			p.sayOnBoth("one " + strings.Repeat("word ", 300))
			p.until(r, "both are answered", func() bool { return p.answers("Understood.") == [2]int{1, 1} })
			file := filepath.Join(f.dir, "data", "cairn.db-wal")
			info := check.Must(os.Stat(file))(t)
			check.NoError(t, damage(file, info.Size()))
			p.sayOnBoth("two")
			// The removed part may be in the database already, or be written anew: then people are
			// answered.
			p.until(r, "nobody is left without a word", func() bool {
				answered := p.answers("Understood.")
				for i, said := range [][]string{p.onDiscord(), p.onSlack()} {
					if answered[i] < 2 && !strings.Contains(strings.Join(said, " "), "My database is damaged") {
						return false
					}
				}
				return true
			})
		})
	}
}
