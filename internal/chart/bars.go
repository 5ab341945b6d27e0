package chart

import (
	"fmt"
	"math"
	"strings"
	"time"
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
	Value float64 // negative: 0
}

const (
	barWidth, barHigh = 880, 26
	barEdge           = 10
	inBar             = barWidth - 2*barEdge
	colours           = 8   // classes chart-part-0 to chart-part-7
	entryWidth        = 215 // of a legend's entry
	entriesInRow      = 4
)

// SVG draws the bar and its legend; the remainder is free.
func (c Composition) SVG(o Options) string {
	sum := 0.0
	for _, p := range c.Parts {
		sum += amount(p.Value)
	}
	whole := max(amount(c.Total), sum)
	rows := (len(c.Parts) + entriesInRow) / entriesInRow // including the free entry
	var d drawing
	d.open(o, barWidth, 44+barHigh+20*rows, c.Title, c.Desc)
	d.words(barEdge, 20, "chart-name", "start", c.Title)
	x := float64(barEdge)
	for i, p := range c.Parts {
		wide := 0.0
		if whole > 0 {
			wide = inBar * amount(p.Value) / whole
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

func amount(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return max(v, 0)
}

func share(name string, value, whole float64) string {
	percent := 0.0
	if whole > 0 {
		percent = 100 * amount(value) / whole
	}
	return fmt.Sprintf("%s %s (%.0f %%)", name, Short(amount(value)), percent)
}

// Daily is a bar for each day, stacked of several series.
type Daily struct {
	Title, Desc string
	Unit        string   // before a number if it is a sign such as "$", else after it; may be empty
	Series      []string // names, from the bottom
	Days        []Day    // by Date; a day without one has no bar
}

// Day is the values of a day, in the order of the series. Missing ones are 0.
type Day struct {
	Date   time.Time
	Values []float64
}

const (
	dailyTop, dailyHigh = 34, 150
	dailyLeft           = 62
	dailyWidth          = barWidth - dailyLeft - barEdge
)

// SVG draws the bars over a calendar from the first day to the last.
func (w Daily) SVG(o Options) string {
	var d drawing
	rows := (len(w.Series) + entriesInRow - 1) / entriesInRow
	d.open(o, barWidth, dailyTop+dailyHigh+34+20*rows, w.Title, w.Desc)
	d.words(barEdge, 20, "chart-name", "start", w.Title)
	most, sums := 0.0, make([]float64, len(w.Series))
	for _, day := range w.Days {
		whole := 0.0
		for i := range w.Series {
			whole += day.value(i)
			sums[i] += day.value(i)
		}
		most = max(most, whole)
	}
	y := func(v float64) float64 { return dailyTop + dailyHigh*(1-v/max(most*1.05, math.SmallestNonzeroFloat32)) }
	for _, at := range steps(most, 4) {
		d.printf(`<path class="chart-grid" d="M%d %sh%d"/>`+"\n", dailyLeft, num(y(at)), dailyWidth)
		d.words(dailyLeft-6, y(at)+4, "chart-tick", "end", w.amount(at))
	}
	if len(w.Days) > 0 {
		d.days(w, y)
	}
	for i, name := range w.Series {
		x, below := barEdge+entryWidth*(i%entriesInRow), dailyTop+dailyHigh+40+20*(i/entriesInRow)
		d.printf(`<rect class="chart-part chart-part-%d" x="%d" y="%d" width="11" height="9"/>`+"\n", i%colours, x, below-9)
		d.words(float64(x+16), float64(below), "chart-tick", "start", name+" "+w.amount(sums[i]))
	}
	return d.close()
}

func (d *drawing) days(w Daily, y func(float64) float64) {
	first, last := dayNumber(w.Days[0].Date), dayNumber(w.Days[len(w.Days)-1].Date)
	slot := dailyWidth / float64(last-first+1)
	x := func(t time.Time) float64 { return dailyLeft + slot*float64(dayNumber(t)-first) }
	for _, day := range w.Days {
		low := 0.0
		for i, name := range w.Series {
			v := day.value(i)
			if v == 0 {
				continue
			}
			d.printf(`<rect class="chart-part chart-part-%d" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`+"\n", i%colours,
				num(x(day.Date)+slot*0.1), num(y(low+v)), num(slot*0.8), num(y(low)-y(low+v)), text(fmt.Sprintf("%s: %s %s", day.Date.Format("2 Jan 2006"), name, w.amount(v))))
			low += v
		}
	}
	midnight := func(t time.Time) time.Time {
		year, month, day := t.Date()
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	from, to := midnight(w.Days[0].Date), midnight(w.Days[len(w.Days)-1].Date)
	if from.Equal(to) {
		d.words(x(from)+slot/2, dailyTop+dailyHigh+16, "chart-tick", "middle", from.Format("2 Jan"))
		return
	}
	for _, t := range ticks(from, to, 10) {
		d.words(x(t)+slot/2, dailyTop+dailyHigh+16, "chart-tick", "middle", t.Format(dayLayout(to.Sub(from))))
	}
}

// dayLayout returns the format of a day on an axis of that length.
func dayLayout(long time.Duration) string {
	if long > 300*24*time.Hour {
		return "Jan 2006"
	}
	return "2 Jan"
}

func (d Day) value(i int) float64 {
	if i >= len(d.Values) {
		return 0
	}
	return amount(d.Values[i])
}

func (w Daily) amount(v float64) string {
	switch {
	case w.Unit == "":
		return Short(v)
	case strings.ContainsAny(w.Unit, "$€£¥"):
		return w.Unit + Short(v)
	}
	return Short(v) + " " + w.Unit
}

// dayNumber returns the number of a day in the calendar.
func dayNumber(t time.Time) int64 {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86_400
}
