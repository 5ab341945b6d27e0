package chart

import "fmt"

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
