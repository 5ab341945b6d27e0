package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Panel is one chart of used tokens over a conversation, in percent of the window. Panels that are drawn together
// share the messages, so that windows of different sizes can be compared.
type Panel struct {
	Name   string  // above the panel; may be empty
	Window int     // tokens; 0: unknown, then the most that is used counts as the window
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

// Mark is a compaction at a message. Its Kind "background", "aggressive" or "emergency" gives it a colour and a
// shape; any other is a dot. A mark before the first point or after the last one is not drawn.
type Mark struct {
	At   int64
	Kind string
	Tip  string // shown on hover
}

type Sawtooth struct {
	Title, Desc string // alternative text; the title is also shown
	First, Last int64  // the messages that are shown; 0: from the first or to the last that has a point
	Panels      []Panel
}

const (
	units                = 700    // the width of a panel, in coordinates of its lines, which stretch
	margin               = 48     // left of a panel; see .chart-panel for both
	sawTop, sawBottom    = 28, 44 // the title; the axis above the legend
	nameHeight           = 32     // with the marks of the panel above
	aloneHigh, amongHigh = 270, 130
	headroom             = 1.06
)

// scale converts messages and tokens to coordinates of a panel.
type scale struct {
	first, last int64
	window      float64 // tokens that are 100 %
	most        float64 // tokens at the top of the panel
	high        float64 // of the panel
}

func (s scale) x(at int64) float64 {
	return units * float64(at-s.first) / float64(max(s.last-s.first, 1))
}

func (s scale) percent(at int64) string { return num(100*s.x(at)/units) + "%" }

func (s scale) y(tokens int) float64 { return s.high * (1 - min(max(float64(tokens)/s.most, 0), 1)) }

// draw draws the panels below each other, and returns the height of all.
func (d *drawing) draw(w Sawtooth) (height int) {
	s := w.scale()
	s.high = amongHigh
	if len(w.Panels) == 1 {
		s.high = aloneHigh
	}
	d.words(strconv.Itoa(-left), 20, "chart-name", "start", w.Title)
	y := float64(sawTop)
	w.Panels = slices.Clone(w.Panels)
	for i := range w.Panels {
		w.Panels[i].Points = clipped(w.Panels[i].Points, s)
		p := w.Panels[i]
		d.printf(`<svg y="%s" height="%s">`+"\n", num(y+nameHeight), num(s.high))
		d.panel(p, s.of(p))
		if i == len(w.Panels)-1 {
			d.axis(s)
		}
		d.printf("</svg>\n")
		y += nameHeight + s.high
	}
	return d.legend(y+sawBottom, explained(w.Panels, s))
}

// scale returns what all panels share: the first and the last message.
func (w Sawtooth) scale() scale {
	s := scale{first: math.MaxInt64}
	for _, p := range w.Panels {
		for _, pt := range p.Points {
			s.first = min(s.first, pt.At)
			s.last = max(s.last, pt.At)
		}
	}
	s.first = cmp.Or(w.First, min(s.first, s.last)) // there may be no points
	s.last = max(s.first, cmp.Or(w.Last, s.last))
	return s
}

// of returns the scale of a panel: all of its window and of what it shows fits.
func (s scale) of(p Panel) scale {
	most := max(p.Window, 1)
	for _, l := range p.Levels {
		most = max(most, l.Tokens)
	}
	for _, pt := range p.Points {
		most = max(most, pt.Used)
	}
	s.window = float64(cmp.Or(p.Window, most))
	s.most = headroom * float64(most)
	return s
}

func (d *drawing) panel(p Panel, s scale) {
	if p.Name != "" {
		d.words("0", -7, "chart-faint", "start", p.Name)
	}
	for _, percent := range steps(100*s.most/s.window, int(s.high)/25) {
		y := s.y(int(percent / 100 * s.window))
		d.printf(`<line class="chart-grid" x2="100%%" y1="%[1]s" y2="%[1]s"/>`+"\n", num(y))
		d.words("-6", y+4, "chart-tick", "end", Short(percent)+" %")
	}
	if len(p.Points) > 0 {
		d.printf(`<svg viewBox="0 0 %d %s" preserveAspectRatio="none">`+"\n", units, num(s.high))
		d.course(p.Points, s)
		d.printf("</svg>\n")
	}
	d.levels(p, s)
	for _, m := range spaced(p.Marks, s) {
		d.printf(`<svg x="%s" y="%s">%s</svg>`+"\n", s.percent(m.At), num(s.high+2), m.shape())
	}
}

// course draws what is used at each message: as a line, or if that would fill the panel, as a band with the mean in it.
func (d *drawing) course(points []Point, s scale) {
	ofUsed := func(p Point) int { return p.Used }
	line := thin(points, s)
	low := line
	if crowded(points, s) {
		b := bandOf(points, s)
		d.area("chart-band", curve(b.highest, s, ofUsed), b.highest, s)
		line = b.mean
		low = b.lowest
	}
	d.area("chart-used", curve(low, s, ofUsed), low, s)
	if slices.ContainsFunc(line, hasHead) {
		d.area("chart-head", curve(line, s, func(p Point) int { return p.Head }), line, s)
	}
	d.path("chart-edge", curve(line, s, ofUsed))
	d.said(line, s)
}

func (d *drawing) path(class, to string) { d.printf(`<path class="%s" d="%s"/>`+"\n", class, to) }

func (d *drawing) area(class, line string, points []Point, s scale) {
	d.path(class, line+"V"+num(s.high)+"H"+num(s.x(points[0].At))+"Z")
}

// said draws the tokens of all messages, until they leave the panel.
func (d *drawing) said(points []Point, s scale) {
	end := slices.IndexFunc(points, func(p Point) bool { return float64(p.Said) > s.most })
	if end >= 0 {
		points = points[:end]
	}
	if len(points) > 0 && points[len(points)-1].Said > 0 {
		d.path("chart-said", curve(points, s, func(p Point) int { return p.Said }))
	}
}

func curve(points []Point, s scale, value func(Point) int) string {
	var b strings.Builder
	command := "M" // move to the first point, then draw lines
	for _, p := range points {
		b.WriteString(command + num(s.x(p.At)) + " " + num(s.y(value(p))))
		command = "L"
	}
	return b.String()
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
		label[i] = s.y(l.Tokens)
		if i > 0 {
			label[i] = max(label[i], label[i-1]+lineHeight)
		}
	}
	for i, bottom := len(lines)-1, s.high; i >= 0; i-- {
		label[i] = min(label[i], bottom)
		bottom = label[i] - lineHeight
	}
	d.printf(`<svg x="100%%">` + "\n") // the margin
	for i, l := range lines {
		class := "chart-level chart-level-" + text(l.Kind)
		at := num(s.y(l.Tokens))
		d.printf(`<line class="%s" x1="-100%%" y1="%s" y2="%[2]s"/>`+"\n", class, at)
		d.path(class, "M0 "+at+"L8 "+num(label[i]))
		d.words("11", label[i]+4, "chart-tick", "start", l.Name+" "+Short(float64(l.Tokens)))
	}
	d.printf("</svg>\n")
}

func (d *drawing) axis(s scale) {
	step := int64(1)
	if at := steps(float64(s.last-s.first), 8); len(at) > 1 {
		step = max(step, int64(at[1]))
	}
	label := func(at int64) string { return Short(float64(at)) }
	from := (s.first + step - 1) / step * step
	if label(from) == label(from+step) || label(from+step) == label(from+2*step) { // 9.1k and 9.1k
		label = func(at int64) string { return strconv.FormatInt(at, 10) }
	}
	for at := from; at <= s.last; at += step {
		d.words(s.percent(at), s.high+26, "chart-tick", "middle", label(at))
	}
}

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

// explained returns the legend of what is drawn in the panels.
func explained(panels []Panel, s scale) (all []entry) {
	kinds := map[string]bool{} // of the marks that are drawn
	var points []Point
	for _, p := range panels {
		points = append(points, p.Points...)
		for _, m := range spaced(p.Marks, s) {
			kinds[m.Kind] = true
		}
	}
	if len(points) > 0 {
		all = append(all, entry{box("chart-used"), "next request"})
	}
	if slices.ContainsFunc(panels, func(p Panel) bool { return crowded(p.Points, s.of(p)) }) {
		all = append(all, entry{box("chart-band"), "highest request"}, entry{`<path class="chart-edge" d="M0 -4h11"/>`, "mean"})
		all[0].name = "lowest request"
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
