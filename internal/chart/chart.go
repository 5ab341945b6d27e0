// Package chart draws small charts as SVG: tokens over a conversation, and the composition of a
// window. It is pure and deterministic, and imports nothing of Cairn. Texts may be
// hostile: all are escaped. The SVG has classes and no style attribute, script or handler, so a
// page with a strict content security policy can embed it next to CSS.
package chart

import (
	"cmp"
	_ "embed"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// CSS styles the charts, for light and dark pages. A page overrides the colours by setting
// the custom properties --chart-*.
//
//go:embed chart.css
var CSS string

// Options are common to all charts.
type Options struct {
	// ID is the prefix of the ids of the chart's title and description; it must be unique in a page.
	// "": "chart".
	ID string
	// Standalone makes a self-contained file, with CSS inside. Otherwise the page must include CSS, and the
	// chart is as wide as its place: what it draws stretches, its texts do not.
	Standalone bool
}

// Sizes, in pixels.
const (
	left, right = 48, 150 // margins of a chart with axes, as in CSS
	fileWidth   = 880     // of a file of its own
	entryWidth  = 130     // of an entry of a legend
	entryHeight = 18
)

// drawing is the content of an SVG, without its margins.
type drawing struct {
	b    strings.Builder
	left int // margin; 0: none on either side
}

func (d *drawing) svg(o Options, height int, title, desc string) string {
	id, class, inner := text(cmp.Or(o.ID, "chart")), "chart", fileWidth
	if d.left > 0 {
		class, inner = "chart chart-margins", fileWidth-left-right
	}
	size, content := fmt.Sprintf(`class="%s" width="100%%" height="%d"`, class, height), d.b.String()
	if o.Standalone {
		size = fmt.Sprintf(`class="chart" viewBox="0 0 %d %d"`, fileWidth, height)
		content = fmt.Sprintf("<style>\n%s</style>\n"+`<rect class="chart-ground" width="100%%" height="100%%"/>`+"\n"+`<svg x="%d" width="%d">`+"\n%s</svg>\n",
			CSS, d.left, inner, content)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" %s role="img" aria-labelledby="%[2]s-title %[2]s-desc">
<title id="%[2]s-title">%[3]s</title>
<desc id="%[2]s-desc">%[4]s</desc>
%[5]s</svg>
`, size, id, text(title), text(desc), content)
}

// printf writes markup. Texts among the arguments must have passed text.
func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// words writes a text at a place; anchor is start, middle or end.
func (d *drawing) words(x string, y float64, class, anchor, what string) {
	d.printf(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, x, num(y), anchor, text(what))
}

func (d *drawing) heading(title string) {
	d.words(strconv.Itoa(-d.left), 20, "chart-name", "start", title)
}

// entry of a legend: a symbol, which is markup, and its name.
type entry struct{ symbol, name string }

func box(class string) string { return `<rect class="` + class + `" y="-9" width="11" height="9"/>` }

// legend explains symbols, in columns from y on, and returns the height of the whole chart.
func (d *drawing) legend(columns int, y float64, all []entry) int {
	for i, e := range all {
		d.printf(`<svg x="%d" y="%s">%s`, entryWidth*(i%columns)-d.left, num(y+float64(entryHeight*(i/columns))), e.symbol)
		d.words("16", 0, "chart-tick", "start", e.name)
		d.printf("</svg>\n")
	}
	return int(y) + entryHeight*((len(all)+columns-1)/columns)
}

// text escapes the content of an element or an attribute. Control characters, which XML cannot
// represent, and characters that change the direction of writing become U+FFFD.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xFFFE || r == 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

// num formats a coordinate, to a tenth of a unit or a percent.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if s = strings.TrimSuffix(s, ".0"); s == "-0" {
		return "0"
	}
	return s
}

// Short formats a number with at most three digits before its unit: 950, 12.5k, 128k, 1.5M.
func Short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.size*0.99995 {
			digits := 1
			if math.Abs(v) >= 100*unit.size {
				digits = 0
			}
			return strings.TrimSuffix(strconv.FormatFloat(v/unit.size, 'f', digits, 64), ".0") + unit.name
		}
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// steps returns round numbers from 0 to most, about wanted of them.
func steps(most float64, wanted int) (at []float64) {
	if most <= 0 {
		return []float64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(most/float64(wanted))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if most/(step*factor) <= float64(wanted) {
			step *= factor
			break
		}
	}
	for i := 0; float64(i)*step <= most*(1+1e-9); i++ {
		at = append(at, float64(i)*step)
	}
	return at
}

// Composition is one bar that shows the parts of a whole.
type Composition struct {
	Title, Desc string
	Total       float64 // the whole bar, such as the window; if less than the sum of the parts: that sum
	Parts       []Part  // from the left
}

type Part struct {
	Name  string
	Value float64
}

const colours = 4 // classes chart-part-0 to chart-part-3

// SVG draws the bar and its legend; the remainder is free.
func (c Composition) SVG(o Options) string {
	sum := 0.0
	for _, p := range c.Parts {
		sum += p.Value
	}
	whole, at := max(c.Total, sum), 0.0 // percent
	var d drawing
	d.heading(c.Title)
	var parts []entry
	piece := func(class, name string, value float64) {
		wide := 100 * value / max(whole, 1e-9)
		name = fmt.Sprintf("%s %s (%.0f %%)", name, Short(value), wide)
		d.printf(`<rect class="%s" x="%s%%" y="30" width="%s%%" height="26"><title>%s</title></rect>`+"\n", class, num(at), num(wide), text(name))
		at += wide
		parts = append(parts, entry{box(class), name})
	}
	for i, p := range c.Parts {
		piece(fmt.Sprintf("chart-part chart-part-%d", i%colours), p.Name, p.Value)
	}
	if whole > sum {
		piece("chart-free", "free", whole-sum)
	}
	return d.svg(o, d.legend(1, 80, parts), c.Title, c.Desc)
}
