package chart

import "time"

// axis draws the places under the last panel: numbers of messages, or dates.
func (d *drawing) axis(s scale, dates bool, zone *time.Location) {
	y := s.top + s.high + 26
	if !dates {
		for _, at := range steps(float64(s.last-s.first), 8) {
			if at == float64(int64(at)) {
				d.words(s.x(s.first+int64(at)), y, "chart-tick", "middle", Short(float64(s.first)+at))
			}
		}
		return
	}
	if zone == nil {
		zone = time.UTC
	}
	for _, t := range ticks(time.Unix(s.first, 0).In(zone), time.Unix(s.last, 0).In(zone), 8) {
		d.words(s.x(t.at.Unix()), y, "chart-tick", "middle", t.name)
	}
}

// tick is a place on an axis of time.
type tick struct {
	at   time.Time
	name string
}

// calendar are the distances between ticks, from the shortest on.
var calendar = []struct {
	years, months, days int
	clock               time.Duration
	layout              string
}{
	{clock: time.Minute, layout: "15:04"},
	{clock: 5 * time.Minute, layout: "15:04"},
	{clock: 15 * time.Minute, layout: "15:04"},
	{clock: time.Hour, layout: "15:04"},
	{clock: 3 * time.Hour, layout: "2 Jan 15:04"},
	{clock: 6 * time.Hour, layout: "2 Jan 15:04"},
	{days: 1, layout: "2 Jan"},
	{days: 2, layout: "2 Jan"},
	{days: 7, layout: "2 Jan"},
	{days: 14, layout: "2 Jan"},
	{months: 1, layout: "Jan 2006"},
	{months: 3, layout: "Jan 2006"},
	{years: 1, layout: "2006"},
	{years: 5, layout: "2006"},
	{years: 50, layout: "2006"},
	{years: 500, layout: "2006"},
}

// ticks are round times between two, at most so many.
func ticks(first, last time.Time, most int) (all []tick) {
	for _, c := range calendar {
		all = all[:0]
		y, m, day := first.Date()
		switch {
		case c.years > 0:
			y, m, day = y-y%c.years, 1, 1
		case c.months > 0:
			m, day = m-(m-1)%time.Month(c.months), 1
		}
		t := time.Date(y, m, day, 0, 0, 0, 0, first.Location())
		if c.clock > 0 { // from midnight on, in steps that the clock shows
			t = t.Add(first.Sub(t).Truncate(c.clock))
		}
		for ; !t.After(last) && len(all) <= most; t = t.AddDate(c.years, c.months, c.days).Add(c.clock) {
			if !t.Before(first) {
				all = append(all, tick{t, t.Format(c.layout)})
			}
		}
		if len(all) <= most {
			return all
		}
	}
	return nil
}
