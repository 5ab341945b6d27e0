package chart

import "time"

// axis draws the numbers of messages under the last panel.
func (d *drawing) axis(s scale) {
	for _, at := range steps(float64(s.last-s.first), 8) {
		if at == float64(int64(at)) {
			d.words(s.x(s.first+int64(at)), s.top+s.high+26, "chart-tick", "middle", Short(float64(s.first)+at))
		}
	}
}

// calendar are the possible distances between days on an axis, in ascending order.
var calendar = []struct{ years, months, days int }{
	{days: 1}, {days: 2}, {days: 7}, {days: 14}, {months: 1}, {months: 3}, {years: 1}, {years: 5}, {years: 50}, {years: 500},
}

// ticks returns at most most round days between first and last.
func ticks(first, last time.Time, most int) (all []time.Time) {
	for _, c := range calendar {
		all = all[:0]
		t := first
		switch {
		case c.years > 0:
			t = time.Date(t.Year()-t.Year()%c.years, 1, 1, 0, 0, 0, 0, time.UTC)
		case c.months > 0:
			t = time.Date(t.Year(), t.Month()-(t.Month()-1)%time.Month(c.months), 1, 0, 0, 0, 0, time.UTC)
		}
		for ; !t.After(last) && len(all) <= most; t = t.AddDate(c.years, c.months, c.days) {
			if !t.Before(first) {
				all = append(all, t)
			}
		}
		if len(all) <= most {
			return all
		}
	}
	return nil
}
