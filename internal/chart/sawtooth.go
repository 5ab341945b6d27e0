package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Panel is one chart of used tokens over a conversation. Panels that are drawn together share a
// scale.
type Panel struct {
	Name   string  // above the panel; may be empty
	Window int     // tokens; 0: no line for it
	Levels []Level // lines across the panel
	Points []Point // by At
	Marks  []Mark  // by At
}

// Level is a horizontal line. Its Kind "background", "aggressive" or "emergency" gives it a colour;
// any other is grey.
type Level struct {
	Name   string
	Kind   string
	Tokens int
}

// Point is how full the window is at a message.
type Point struct {
	At   int64 // number of the message
	Used int   // tokens of the next request
	Head int   // of Used: summaries
	Said int   // tokens of all messages up to here; a line is drawn if a panel has any
}

// Mark is a compaction at a message. Its Kind "background", "aggressive" or "emergency" gives it a
// colour and a shape; any other is a dot. A mark before the first point or after the last one is not
// drawn.
type Mark struct {
	At   int64
	Kind string
	Tip  string // shown on hover
}

// Sawtooth is a chart of panels.
type Sawtooth struct {
	Title, Desc string // alternative text; the title is also shown
	Panels      []Panel
}

// Sizes, in units of the view box.
const (
	sawLeft, sawRight    = 48, 150
	sawTop, sawBottom    = 28, 44 // the title; the axis above the legend
	nameHeight           = 32     // with the marks of the panel above
	aloneHigh, amongHigh = 270, 130
	headroom             = 1.06
)

// scale converts messages and tokens to units of the view box.
type scale struct {
	first, last int64
	most        float64 // tokens at the top of a panel
	wide        float64 // of all panels
	top, high   float64 // of the panel
}

func (s scale) x(at int64) float64 {
	return sawLeft + s.wide*float64(at-s.first)/float64(max(s.last-s.first, 1))
}

func (s scale) y(tokens float64) float64 {
	return s.top + s.high*(1-min(max(tokens/s.most, 0), 1))
}

// SVG draws the panels below each other.
func (w Sawtooth) SVG(o Options) string {
	s := w.scale()
	s.wide, s.high = float64(o.width()-sawLeft-sawRight), amongHigh
	if len(w.Panels) == 1 {
		s.high = aloneHigh
	}
	var d drawing
	d.words(sawLeft, 20, "chart-name", "start", w.Title)
	s.top = sawTop
	for i, p := range w.Panels {
		s.top += nameHeight
		d.panel(p, s, i == len(w.Panels)-1)
		s.top += s.high
	}
	return d.svg(o, int(d.legend(w.Panels, s, s.top+sawBottom))+12, w.Title, w.Desc)
}

// scale returns the common scale of all panels: the first and the last message, and the most tokens
// that any of them shows.
func (w Sawtooth) scale() scale {
	s := scale{most: 1}
	some := false
	for _, p := range w.Panels {
		s.most = max(s.most, headroom*float64(p.Window))
		for _, l := range p.Levels {
			s.most = max(s.most, headroom*float64(l.Tokens))
		}
		for _, pt := range p.Points {
			s.most = max(s.most, headroom*float64(pt.Used))
			if !some {
				s.first, s.last, some = pt.At, pt.At, true
			}
			s.first, s.last = min(s.first, pt.At), max(s.last, pt.At)
		}
	}
	return s
}

// panel draws one panel; the last one has the axis.
func (d *drawing) panel(p Panel, s scale, axis bool) {
	if p.Name != "" {
		d.words(sawLeft, s.top-7, "chart-faint", "start", p.Name)
	}
	d.printf(`<g class="chart-panel">` + "\n")
	for _, at := range steps(s.most, int(s.high)/30) {
		d.printf(`<path class="chart-grid" d="M%d %sh%s"/>`+"\n", sawLeft, num(s.y(at)), num(s.wide))
		d.words(sawLeft-6, s.y(at)+4, "chart-tick", "end", Short(at))
	}
	points := thin(p.Points, s)
	d.area("chart-used", points, s, func(p Point) int { return p.Used })
	if slices.ContainsFunc(points, hasHead) {
		d.area("chart-head", points, s, func(p Point) int { return p.Head })
	}
	d.printf(`<path class="chart-edge" d="%s"/>`+"\n", curve(points, s, func(p Point) int { return p.Used }))
	d.said(points, s)
	d.levels(p, s)
	for _, m := range within(p.Marks, s) {
		d.mark(m, s.x(m.At), s.y(0)+6)
	}
	d.printf("</g>\n")
	if axis {
		d.axis(s)
	}
}

func (d *drawing) area(class string, points []Point, s scale, value func(Point) int) {
	if len(points) == 0 {
		return
	}
	d.printf(`<path class="%s" d="%sV%sH%sZ"/>`+"\n", class, curve(points, s, value), num(s.y(0)), num(s.x(points[0].At)))
}

// said draws the tokens of all messages, until they leave the panel.
func (d *drawing) said(points []Point, s scale) {
	end := slices.IndexFunc(points, func(p Point) bool { return float64(p.Said) > s.most })
	if end >= 0 {
		points = points[:end]
	}
	if len(points) > 0 && points[len(points)-1].Said > 0 {
		d.printf(`<path class="chart-said" d="%s"/>`+"\n", curve(points, s, func(p Point) int { return p.Said }))
	}
}

func curve(points []Point, s scale, value func(Point) int) string {
	var b strings.Builder
	command := "M" // move to the first point, then draw lines
	for _, p := range points {
		b.WriteString(command + num(s.x(p.At)) + " " + num(s.y(float64(value(p)))))
		command = "L"
	}
	return b.String()
}

// thin keeps, of the points in one unit of width, the first, the lowest, the highest and the last:
// a file stays small however long the conversation is, and no peak is lost.
func thin(points []Point, s scale) (kept []Point) {
	for i := 0; i < len(points); {
		j, column := i, int(s.x(points[i].At))
		least, most := i, i
		for ; j < len(points) && int(s.x(points[j].At)) == column; j++ {
			if points[j].Used < points[least].Used {
				least = j
			}
			if points[j].Used > points[most].Used {
				most = j
			}
		}
		shown := []int{i, least, most, j - 1}
		slices.Sort(shown)
		for _, k := range slices.Compact(shown) {
			kept = append(kept, points[k])
		}
		i = j
	}
	return kept
}

const lineHeight = 12.5 // of labels under each other

// levels draws the lines and, beside the panel, their names, moved apart where they are close.
func (d *drawing) levels(p Panel, s scale) {
	lines := slices.Clone(p.Levels)
	if p.Window > 0 {
		lines = append(lines, Level{Name: "window", Tokens: p.Window})
	}
	slices.SortStableFunc(lines, func(a, b Level) int { return cmp.Compare(b.Tokens, a.Tokens) }) // from the top
	label := make([]float64, len(lines))
	for i, l := range lines {
		label[i] = s.y(float64(l.Tokens))
		if i > 0 {
			label[i] = max(label[i], label[i-1]+lineHeight)
		}
	}
	for i, bottom := len(lines)-1, s.top+s.high; i >= 0; i-- {
		label[i] = min(label[i], bottom)
		bottom = label[i] - lineHeight
	}
	end := sawLeft + s.wide
	for i, l := range lines {
		at := s.y(float64(l.Tokens))
		d.printf(`<path class="chart-level chart-level-%s" d="M%d %sH%sL%s %s"/>`+"\n", text(l.Kind), sawLeft, num(at), num(end), num(end+8), num(label[i]))
		d.words(end+11, label[i]+4, "chart-tick", "start", fmt.Sprintf("%s %s", l.Name, Short(float64(l.Tokens))))
	}
}

// axis draws round numbers of messages under the last panel.
func (d *drawing) axis(s scale) {
	step := int64(1)
	if at := steps(float64(s.last-s.first), 8); len(at) > 1 {
		step = max(step, int64(at[1]))
	}
	for at := (s.first + step - 1) / step * step; at <= s.last; at += step {
		d.words(s.x(at), s.top+s.high+26, "chart-tick", "middle", Short(float64(at)))
	}
}
