package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ofMachine are the settings, and tables of them, that may differ between machines that run the same bot.
var ofMachine = []string{"data_dir", "store", "schema", "health", "web", "backup"}

// Fingerprint returns a short hash of the settings in which processes that run the same bot should not differ.
func Fingerprint(s *Settings) string {
	flat := flatten(s)
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		table, _, _ := strings.Cut(key, ".")
		if !slices.Contains(ofMachine, table) {
			fmt.Fprintf(sum, "%s=%v\n", key, flat[key])
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6])
}
