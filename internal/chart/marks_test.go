package chart

import (
	"regexp"
	"testing"

	"cairn/internal/check"
)

func TestLegendListsWhatIsDrawn(t *testing.T) {
	used := []Point{{At: 1, Used: 10}, {At: 9, Used: 20}}
	marks := []Mark{{1, "background", "first"}, {9, "manual", "last"}, {10, "emergency", "after the last message"}, {-1, "aggressive", "before the first"}}
	svg := Sawtooth{Panels: []Panel{{Points: used, Marks: marks}}}.SVG(Options{})
	check.Contains(t, "a chart of requests", svg, "next request", "first", "last", ">background<", ">manual<")
	check.Lacks(t, "a chart of requests", svg, "summaries", "chart-head", "all messages", "emergency", "aggressive", "after the last message", "before the first")

	unordered := []Mark{{2, "repair", ""}, {3, "manual", ""}, {4, "emergency", ""}, {5, "aggressive", ""}, {6, "background", ""}}
	svg = Sawtooth{Panels: []Panel{{Points: used, Marks: unordered}}}.SVG(Options{})
	check.Contains(t, "a chart of all kinds", regexp.MustCompile(`(?s)</?[^<>]*>`).ReplaceAllString(svg, ""), "background\n\naggressive\n\nemergency\n\nmanual\n\nrepair\n")

	with := []Point{{At: 1, Used: 10, Head: 5, Said: 7}, {At: 9, Used: 20, Head: 5, Said: 9}}
	svg = Sawtooth{Panels: []Panel{{Points: used}, {Points: with}}}.SVG(Options{})
	check.Contains(t, "a chart with summaries", svg, "of which summaries", "chart-head", "all messages")

	svg = Sawtooth{Panels: []Panel{{Marks: marks}}}.SVG(Options{})
	check.Lacks(t, "a chart without points", svg, "next request", "background", "chart-used")
}
