package report

import (
	"testing"

	"cairn/testkit/check"
)

func TestWindowsAreShort(t *testing.T) {
	for n, want := range map[int]string{800: "800", 128_000: "128k", 131_072: "128k", 32_770: "32k", 1_000_000: "1M", 1_048_576: "1M", 1_500_000: "1.5M"} {
		check.Equal(t, "a model", NameOf("qwen3", n), "qwen3 ("+want+")")
	}
}
