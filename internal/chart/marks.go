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

func (d *drawing) mark(m Mark, x, y float64) {
	d.printf(`<path class="chart-mark chart-mark-%s" d="M%s %s%s">`, text(m.Kind), num(x), num(y-4), shapes[rank(m.Kind)])
	if m.Tip != "" {
		d.printf("<title>%s</title>", text(m.Tip))
	}
	d.printf("</path>\n")
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

// legend explains what is drawn in the panels, in rows from y on. It returns the place of the last row.
func (d *drawing) legend(panels []Panel, s scale, y float64) float64 {
	x := float64(sawLeft)
	entry := func(name string, symbol func()) {
		wide := 30 + 6.2*float64(len(name))
		if x+wide > sawLeft+s.wide+sawRight {
			x, y = sawLeft, y+16
		}
		symbol()
		d.words(x+16, y, "chart-tick", "start", name)
		x += wide
	}
	box := func(class string) func() {
		return func() {
			d.printf(`<rect class="%s" x="%s" y="%s" width="11" height="9"/>`+"\n", class, num(x), num(y-9))
		}
	}
	any := func(has func(Point) bool) bool {
		return slices.ContainsFunc(panels, func(p Panel) bool { return slices.ContainsFunc(p.Points, has) })
	}
	if any(func(Point) bool { return true }) {
		entry("next request", box("chart-used"))
	}
	if any(hasHead) {
		entry("of which summaries", box("chart-head"))
	}
	if any(func(p Point) bool { return p.Said > 0 }) {
		entry("all messages", func() { d.printf(`<path class="chart-said" d="M%s %sh11"/>`+"\n", num(x), num(y-4)) })
	}
	kinds := map[string]bool{} // of the marks that are drawn
	for _, p := range panels {
		for _, m := range within(p.Marks, s) {
			kinds[m.Kind] = true
		}
	}
	order := func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), order) {
		entry(kind, func() { d.mark(Mark{Kind: kind}, x+6, y-5) })
	}
	return y
}
