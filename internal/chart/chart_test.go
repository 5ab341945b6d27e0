package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/testkit/check"
)

var panel = Panel{
	Name: "current", Window: 64_000, Points: []Point{{1, 4000, 0, 4000}, {40, 60_900, 900, 90_000}, {40, 20_000, 4000, 90_000}},
	Levels: []Level{{"background", "background", 51_200}, {"aggressive", "aggressive", 54_400}, {"emergency", "emergency", 60_800}},
	Marks:  []Mark{{2, "background", "#1 to #80"}, {7, "aggressive", ""}, {40, "emergency", ""}, {40, "manual", ""}},
}

// safe checks that an embedded SVG is well-formed and runs nothing.
func safe(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		check.Require(t, err == nil, "not well-formed: %v", err)
		e, _ := token.(xml.StartElement)
		check.That(t, !slices.Contains([]string{"script", "style", "x"}, e.Name.Local), "it has <%s>", e.Name.Local)
		for _, a := range e.Attr {
			wrong := a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || a.Value == "NaN"
			check.That(t, !wrong, "<%s> has %s=%q", e.Name.Local, a.Name.Local, a.Value)
		}
	}
}

func TestEveryChart(t *testing.T) {
	sawtooth := Sawtooth{Title: "garden", Desc: "two variants", Panels: []Panel{panel, panel}}
	for name, w := range map[string]Sawtooth{"two panels": sawtooth, "no panel": {}, "an empty panel": {Panels: []Panel{{}}}} {
		embedded := w.SVG()
		safe(t, embedded)
		check.Lacks(t, name, embedded, "NaN", "Inf")
		check.Contains(t, name, embedded, `role="img" aria-labelledby="chart-title chart-desc"`, `<title id="chart-title">`) // read out
		check.Equal(t, name+": second rendering", embedded, w.SVG())
		check.Contains(t, name+": a file of its own", w.File(), "prefers-color-scheme: dark")
	}
}

func TestALongConversationStaysSmall(t *testing.T) {
	w := Sawtooth{Panels: []Panel{{Window: 100}}}
	p := &w.Panels[0]
	for i := range int64(100_000) {
		p.Points = append(p.Points, Point{At: i, Used: int(i % 90)})
		p.Marks = append(p.Marks, Mark{i, "background", "tip"})
	}
	p.Points[77_777].Used = 99 // one tooth
	svg := w.SVG()
	safe(t, svg)
	check.That(t, len(svg) <= 150_000, "%d bytes", len(svg))
	s := w.scale().of(*p)
	s.high = aloneHigh
	highest := slices.MaxFunc(thin(p.Points, s), func(a, b Point) int { return a.Used - b.Used })
	check.Equal(t, "highest remaining point", highest.Used, 99)
}

// Panels share the messages, and each is in percent of its own window: 60 of 100 stand as high as 600 of 1000.
func TestPanelsAreInPercentOfTheirWindows(t *testing.T) {
	small := Panel{Window: 100, Points: []Point{{At: 1}, {At: 2, Used: 60}}}
	large := Panel{Window: 1000, Points: []Point{{At: 1}, {At: 9, Used: 600}}}
	over := Panel{Window: 100, Points: []Point{{At: 1, Used: 150}}}
	s := Sawtooth{Panels: []Panel{small, large, over}}.scale()
	s.high = 100
	check.That(t, s.first == 1 && s.last == 9, "scale %+v", s)
	check.Equal(t, "height in the large window", s.of(large).y(600), s.of(small).y(60))
	check.That(t, s.of(over).most >= 150, "scale of a panel that overflows: %+v", s.of(over))
	svg := Sawtooth{Panels: []Panel{small, over}}.SVG()
	check.Contains(t, "axes", svg, ">50 %</text>", ">100 %</text>")
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.4: "0.4", 7: "7", 950: "950", 1000: "1k", 12_500: "12.5k", 128_000: "128k", 999_999: "1M", 1_500_000: "1.5M", -2000: "-2k"} {
		check.Equal(t, fmt.Sprintf("Short(%g )", v), Short(v), want)
	}
}

func FuzzText(f *testing.F) {
	for _, evil := range []string{ // would break out of an attribute, an element or the file
		`</title><script>alert(1)</script>`, `" onload="alert(1)`, `]]><x>`, "a\x00b\x1b[31m", "\xff\xfe", "\u202Eevil\u2066", `&lt;`, "<!--",
		`';--`, "\uFFFE",
	} {
		f.Add(evil)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := Panel{Name: s, Levels: []Level{{s, s, 3}}, Points: []Point{{At: 1, Used: 2}}, Marks: []Mark{{1, s, s}}}
		svg := Sawtooth{Title: s, Desc: s, Panels: []Panel{p}}.SVG()
		safe(t, svg)
		check.That(t, !strings.ContainsAny(svg, "\x00\x1b\u202E\u2066"), "control characters pass: %q", svg)
	})
}

func TestAxisHasRoundNumbers(t *testing.T) {
	svg := Sawtooth{Panels: []Panel{{Points: []Point{{At: 1}, {At: 80}}}}}.SVG()
	check.Contains(t, "axis", svg, ">10</text>", ">20</text>", ">80</text>")
	check.Lacks(t, "axis", svg, ">11<")
}

func TestLegendListsWhatIsDrawn(t *testing.T) {
	used := []Point{{At: 1, Used: 10}, {At: 9, Used: 20}}
	marks := []Mark{{1, "background", "first"}, {9, "manual", "last"}, {10, "emergency", "after the last message"}, {-1, "aggressive", "before the first"}}
	svg := Sawtooth{Panels: []Panel{{Points: used, Marks: marks}}}.SVG()
	check.Contains(t, "a chart of requests", svg, "next request", "first", "last", ">background<", ">manual<")
	check.Lacks(t, "a chart of requests", svg, "summaries", "chart-head", "all messages", "emergency", "aggressive", "after the last message", "before the first")

	unordered := []Mark{{2, "repair", ""}, {3, "manual", ""}, {4, "emergency", ""}, {5, "aggressive", ""}, {6, "background", ""}}
	svg = Sawtooth{Panels: []Panel{{Points: used, Marks: unordered}}}.SVG()
	check.Contains(t, "a chart of all kinds", regexp.MustCompile(`(?s)</?[^<>]*>`).ReplaceAllString(svg, ""), "background\n\naggressive\n\nemergency\n\nmanual\n\nrepair\n")

	with := []Point{{At: 1, Used: 10, Head: 5, Said: 7}, {At: 9, Used: 20, Head: 5, Said: 9}}
	svg = Sawtooth{Panels: []Panel{{Points: used}, {Points: with}}}.SVG()
	check.Contains(t, "a chart with summaries", svg, "of which summaries", "chart-head", "all messages")

	svg = Sawtooth{Panels: []Panel{{Marks: marks}}}.SVG()
	check.Lacks(t, "a chart without points", svg, "next request", "background", "chart-used")
}
