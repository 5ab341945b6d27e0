package chart

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// shapes are the forms of marks, relative to their place, by rank.
var shapes = []string{"l5 9h-10z", "l5 5l-5 5l-5 -5z", "m-4.500 0h9v9h-9z", "m-4 5a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"}

// rank returns the place of a kind in the legend: the levels in their order, then all others.
func rank(kind string) int {
	return slices.Index([]string{"background", "aggressive", "emergency", kind}, kind)
}

// shape returns the mark, above its place.
func (m Mark) shape() string {
	tip := ""
	if m.Tip != "" {
		tip = "<title>" + text(m.Tip) + "</title>"
	}
	return `<path class="chart-mark chart-mark-` + text(m.Kind) + `" d="M0 0` + shapes[rank(m.Kind)] + `">` + tip + "</path>"
}

func hasHead(p Point) bool { return p.Head > 0 }

// within returns the marks that are between the first and the last message of the plot, without those
// that one of their kind would hide.
func within(marks []Mark, s scale) (shown []Mark) {
	last := map[string]int64{}
	for _, m := range marks {
		before, known := last[m.Kind]
		if hides := known && s.x(m.At)-s.x(before) < 3; !hides && m.At >= s.first && m.At <= s.last {
			last[m.Kind] = m.At
			shown = append(shown, m)
		}
	}
	return shown
}

// explained returns the legend of what is drawn in the panels.
func explained(panels []Panel, s scale) (all []entry) {
	kinds := map[string]bool{} // of the marks that are drawn
	var points []Point
	for _, p := range panels {
		points = append(points, p.Points...)
		for _, m := range within(p.Marks, s) {
			kinds[m.Kind] = true
		}
	}
	if len(points) > 0 {
		all = append(all, entry{box("chart-used"), "next request"})
	}
	if slices.ContainsFunc(points, hasHead) {
		all = append(all, entry{box("chart-head"), "of which summaries"})
	}
	if slices.ContainsFunc(points, func(p Point) bool { return p.Said > 0 }) {
		all = append(all, entry{`<path class="chart-said" d="M0 -4h11"/>`, "all messages"})
	}
	order := func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), order) {
		all = append(all, entry{`<svg x="6" y="-9">` + Mark{Kind: kind}.shape() + "</svg>", kind})
	}
	return all
}
