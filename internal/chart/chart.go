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
	// Width is in units, which have the size of a pixel where the chart has its natural size; 0: 880. A
	// narrow chart is legible on a narrow screen, because its text is not smaller.
	Width int
	// Standalone makes a self-contained file, with CSS inside. Otherwise the page must include CSS.
	Standalone bool
}

func (o Options) width() int { return cmp.Or(o.Width, 880) }

// drawing is the content of an SVG.
type drawing struct{ b strings.Builder }

// svg returns the SVG, which scales to the width of its place.
func (d *drawing) svg(o Options, height int, title, desc string) string {
	id := text(cmp.Or(o.ID, "chart"))
	var all drawing
	all.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %d" role="img" aria-labelledby="%s-title %s-desc">`+"\n",
		o.width(), height, id, id)
	all.printf(`<title id="%s-title">%s</title>`+"\n"+`<desc id="%s-desc">%s</desc>`+"\n", id, text(title), id, text(desc))
	if o.Standalone {
		all.printf("<style>\n%s</style>\n"+`<rect class="chart-ground" width="%d" height="%d"/>`+"\n", CSS, o.width(), height)
	}
	return all.b.String() + d.b.String() + "</svg>\n"
}

// printf writes markup. Texts among the arguments must have passed text.
func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// words writes a text at a place; anchor is start, middle or end.
func (d *drawing) words(x, y float64, class, anchor, what string) {
	d.printf(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, num(x), num(y), anchor, text(what))
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

// num formats a coordinate, to a tenth of a unit.
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

// Part is a piece of a bar.
type Part struct {
	Name  string
	Value float64
}

const (
	barHigh    = 26
	barEdge    = 10
	colours    = 4   // classes chart-part-0 to chart-part-3
	entryWidth = 215 // of a legend's entry
)

// SVG draws the bar and its legend; the remainder is free.
func (c Composition) SVG(o Options) string {
	sum := 0.0
	for _, p := range c.Parts {
		sum += p.Value
	}
	whole := max(c.Total, sum)
	inBar := o.width() - 2*barEdge
	inRow := inBar / entryWidth
	var d drawing
	d.words(barEdge, 20, "chart-name", "start", c.Title)
	x := float64(barEdge)
	piece := func(i int, class, name string, value float64) {
		share := value / max(whole, 1e-9)
		wide := share * float64(inBar)
		name = fmt.Sprintf("%s %s (%.0f %%)", name, Short(value), 100*share)
		d.printf(`<rect class="%s" x="%s" y="30" width="%s" height="%d"><title>%s</title></rect>`+"\n", class, num(x), num(wide), barHigh, text(name))
		x += wide
		left, line := barEdge+entryWidth*(i%inRow), 30+barHigh+20*(1+i/inRow) // of the entry in the legend
		d.printf(`<rect class="%s" x="%d" y="%d" width="11" height="9"/>`+"\n", class, left, line-9)
		d.words(float64(left+16), float64(line), "chart-tick", "start", name)
	}
	for i, p := range c.Parts {
		piece(i, fmt.Sprintf("chart-part chart-part-%d", i%colours), p.Name, p.Value)
	}
	if whole > sum {
		piece(len(c.Parts), "chart-free", "free", whole-sum)
	}
	return d.svg(o, 44+barHigh+20*(1+len(c.Parts)/inRow), c.Title, c.Desc)
}
