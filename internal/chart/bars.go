package chart

import (
	"fmt"
)

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
	barWidth, barHigh = 880, 26
	barEdge           = 10
	inBar             = barWidth - 2*barEdge
	colours           = 4   // classes chart-part-0 to chart-part-3
	entryWidth        = 215 // of a legend's entry
	entriesInRow      = 4
)

// SVG draws the bar and its legend; the remainder is free.
func (c Composition) SVG(o Options) string {
	sum := 0.0
	for _, p := range c.Parts {
		sum += p.Value
	}
	whole := max(c.Total, sum)
	rows := (len(c.Parts) + entriesInRow) / entriesInRow // including the free entry
	var d drawing
	d.open(o, barWidth, 44+barHigh+20*rows, c.Title, c.Desc)
	d.words(barEdge, 20, "chart-name", "start", c.Title)
	x := float64(barEdge)
	for i, p := range c.Parts {
		wide := 0.0
		if whole > 0 {
			wide = inBar * p.Value / whole
		}
		d.printf(`<rect class="chart-part chart-part-%d" x="%s" y="30" width="%s" height="%d"><title>%s</title></rect>`+"\n",
			i%colours, num(x), num(wide), barHigh, text(share(p.Name, p.Value, whole)))
		x += wide
		d.entry(i, fmt.Sprintf("chart-part chart-part-%d", i%colours), share(p.Name, p.Value, whole))
	}
	if free := whole - sum; free > 0 {
		d.printf(`<rect class="chart-free" x="%s" y="30" width="%s" height="%d"><title>%s</title></rect>`+"\n",
			num(x), num(barEdge+inBar-x), barHigh, text(share("free", free, whole)))
		d.entry(len(c.Parts), "chart-free", share("free", free, whole))
	}
	return d.close()
}

func (d *drawing) entry(i int, class, name string) {
	x, y := barEdge+entryWidth*(i%entriesInRow), 30+barHigh+20+20*(i/entriesInRow)
	d.printf(`<rect class="%s" x="%d" y="%d" width="11" height="9"/>`+"\n", class, x, y-9)
	d.words(float64(x+16), float64(y), "chart-tick", "start", name)
}

func share(name string, value, whole float64) string {
	percent := 0.0
	if whole > 0 {
		percent = 100 * value / whole
	}
	return fmt.Sprintf("%s %s (%.0f %%)", name, Short(value), percent)
}
