// Package chart draws tokens over a conversation as SVG. It is pure and deterministic, and imports nothing of
// Cairn. Texts may be hostile: all are escaped. The SVG has classes and no style attribute, script or handler,
// so a page with a strict content security policy can embed it next to CSS.
package chart

import (
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

// Sizes, in pixels.
const (
	left, right = 48, 150 // margins, as in CSS
	fileWidth   = 880     // of a file of its own
	entryWidth  = 130     // of an entry of a legend
	entryHeight = 18
	columns     = 3 // of a legend
)

// SVG returns the chart for a page with CSS. It is as wide as its place: what it draws stretches, its texts do not.
func (w Sawtooth) SVG() string {
	d := drawing{}
	height := d.draw(w)
	return w.framed(fmt.Sprintf(`class="chart chart-margins" width="100%%" height="%d"`, height), d.String())
}

// File returns the chart as a file of its own, with CSS inside.
func (w Sawtooth) File() string {
	d := drawing{}
	height := d.draw(w)
	return w.framed(fmt.Sprintf(`class="chart" viewBox="0 0 %d %d"`, fileWidth, height), fmt.Sprintf(`<style>
%s</style>
<rect class="chart-ground" width="100%%" height="100%%"/>
<svg x="%d" width="%d">
%s</svg>
`, CSS, left, fileWidth-left-right, d.String()))
}

// framed returns content with what is read out instead of it.
func (w Sawtooth) framed(size, content string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" %s role="img" aria-labelledby="chart-title chart-desc">
<title id="chart-title">%s</title>
<desc id="chart-desc">%s</desc>
%s</svg>
`, size, text(w.Title), text(w.Desc), content)
}

// drawing is the content of an SVG, without its margins.
type drawing struct{ strings.Builder }

// printf writes markup. Texts among the arguments must have passed text.
func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// words writes a text at a place; anchor is start, middle or end.
func (d *drawing) words(x string, y float64, class, anchor, what string) {
	d.printf(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, x, num(y), anchor, text(what))
}

// entry of a legend: a symbol, which is markup, and its name.
type entry struct{ symbol, name string }

func box(class string) string { return `<rect class="` + class + `" y="-9" width="11" height="9"/>` }

// legend explains symbols, in columns from y on, and returns the height of the whole chart.
func (d *drawing) legend(y float64, all []entry) int {
	for i, e := range all {
		d.printf(`<svg x="%d" y="%s">%s`, entryWidth*(i%columns)-left, num(y+float64(entryHeight*(i/columns))), e.symbol)
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
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
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
