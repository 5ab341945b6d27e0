package chart

import (
	"regexp"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// teeth are n points that rise for some messages and then fall.
func teeth(n, each int) (p Panel) {
	p.Window = 1000
	for i := range n {
		p.Points = append(p.Points, Point{At: int64(i + 1), Used: 400 + 400*(i%each)/each})
		if i%each == 0 {
			p.Marks = append(p.Marks, Mark{At: int64(i + 1), Kind: "background", Tip: "a tip"})
		}
	}
	return p
}

func TestCrowdedPointsAreABand(t *testing.T) {
	edge := regexp.MustCompile(`class="chart-edge" d="(M[^"]*)"`)
	corners := func(svg string) int { return strings.Count(edge.FindStringSubmatch(svg)[1], "L") }
	few := Sawtooth{Panels: []Panel{teeth(18_000, 1000)}}.SVG()
	check.Lacks(t, "18 teeth", few, "chart-band", "mean")
	many := Sawtooth{Panels: []Panel{teeth(18_000, 20)}}.SVG()
	safe(t, many)
	check.Contains(t, "900 teeth", many, "chart-band", ">lowest request<", ">highest request<", ">mean<")
	check.That(t, corners(many) <= units/bandWidth, "the mean has %d corners", corners(many))
	check.That(t, strings.Count(many, "chart-mark-background") <= units/markSpacing+2, "too many marks")
	check.Contains(t, "a mark for others", many, "a tip (and ", " more near it)")
	zoomed := Sawtooth{First: 9000, Last: 10_000, Panels: []Panel{teeth(18_000, 20)}}.SVG()
	check.Lacks(t, "50 teeth of them", zoomed, "chart-band")
}

func TestOnlyTheRangeIsShown(t *testing.T) {
	p := Panel{Points: []Point{{At: 1, Used: 10}, {At: 50, Used: 20}, {At: 60, Used: 90}, {At: 99, Used: 5}}, Marks: []Mark{{1, "a", ""}, {60, "b", ""}, {99, "c", ""}}}
	s := Sawtooth{First: 55, Last: 80, Panels: []Panel{p}}.scale()
	check.That(t, s.first == 55 && s.last == 80, "scale %+v", s)
	check.EqualAll(t, "points", clipped(p.Points, s), []Point{{At: 55, Used: 20}, {At: 60, Used: 90}})
	svg := Sawtooth{First: 55, Last: 80, Panels: []Panel{p}}.SVG()
	check.Contains(t, "a chart of a range", svg, ">b<", ">60<", ">80<")
	check.Lacks(t, "a chart of a range", svg, ">a<", ">c<", ">90<")
	near := Sawtooth{First: 9000, Last: 9400, Panels: []Panel{p}}.SVG()
	check.Contains(t, "the axis of a range of high numbers", near, ">9000</text>", ">9050</text>", ">9400</text>")
	beyond := Sawtooth{First: 200, Last: 300, Panels: []Panel{p}}
	safe(t, beyond.SVG())
}
