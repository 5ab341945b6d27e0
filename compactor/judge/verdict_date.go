package judge

import (
	"fmt"
	"slices"

	"cairn/internal/facts"
)

// dateCheck compares one date of a claim with the messages that the claim cites.
type dateCheck struct {
	*comparison
	d     facts.Date
	cited []int // passages
}

// checkDates looks for each date of the line, as checkNumbers does for numbers.
func (x *comparison) checkDates(cited, telling []int) (wrong string, found bool) {
	found = true
	for _, d := range x.claim.facts.Dates {
		if d.Soft || d.Loose || x.e.cast.isNamed(d) {
			continue
		}
		date := &dateCheck{x, d, cited}
		if d.IsNear() && !date.isFixed(telling) || date.isCounted() {
			continue
		}
		why, ok := date.check(telling)
		if why != "" {
			return why, false
		}
		found = found && ok
	}
	return "", found
}

// check looks for the date.
func (x *dateCheck) check(telling []int) (wrong string, found bool) {
	if x.e.hasDate(x.d, x.cited) {
		return "", x.ofAnother() < 0
	}
	if x.isAway() {
		return "", true
	}
	if i, other := x.otherDate(telling); i >= 0 && !x.besideSays(i, x.isAt) {
		if sameForm(x.d, other) && !x.hasLength(i) && !x.hasAnyDate(x.cited) {
			return fmt.Sprintf("#%d has a different date", x.e.passages[i].seqs[0]), false
		}
		return "", false
	}
	i, _ := x.otherDate(x.e.inSpan(x.cited))
	differs := i >= 0
	i, _ = x.otherDate(x.e.inSpan(x.byLeader(x.cited)))
	if i >= 0 { // whom the line is about says another date
		return "", false
	}
	return "", x.e.hasDate(x.d, x.e.near(x.cited)) || x.elsewhere(differs, x.isAt)
}

// isAt reports whether a passage has the date.
func (x *dateCheck) isAt(i int) bool { return x.e.hasDate(x.d, []int{i}) }

// isNamed reports whether the month of a date may be the name of somebody, such as Jun or April.
func (c *cast) isNamed(d facts.Date) bool {
	return d.Month != 0 && d.Day == 0 && d.Year == 0 && slices.ContainsFunc(c.people, func(p person) bool {
		return slices.Contains(facts.Read(p.written, c.languages).Dates, d)
	})
}

// isCounted reports whether the line counts from the date, which is the day of a cited message, to another one that the messages have: the
// Friday before 15 July.
func (x *dateCheck) isCounted() bool {
	today := facts.Date{Weekday: -1}
	written := slices.ContainsFunc(x.cited, func(i int) bool {
		at := x.e.passages[i].at
		return facts.Meet(x.d, at, today, at)
	})
	return written && x.d.Day != 0 && x.d.Month != 0 && slices.ContainsFunc(x.claim.facts.Dates, func(o facts.Date) bool { return o != x.d && x.e.hasDate(o, x.cited) })
}

// isFixed reports whether it is certain which day a line means by tomorrow or yesterday: all messages are of one day.
func (x *dateCheck) isFixed(telling []int) bool {
	return x.d.Near != 0 && x.e.spanEnd > 0 && len(telling) > 0 && x.e.passages[0].at.YearDay() == x.e.passages[x.e.spanEnd-1].at.YearDay()
}

// sameForm reports whether two dates state the same of a day: its date, its weekday, or its distance. One that states something else
// has to be computed, which code may do wrongly: 15 June is the Monday before the party.
func sameForm(d, o facts.Date) bool {
	return (d.Day != 0) == (o.Day != 0) && (d.Month != 0) == (o.Month != 0) && (d.Day != 0 || (d.Weekday >= 0) == (o.Weekday >= 0))
}

// hasAnyDate reports whether passages have one of the dates of a line.
func (x *dateCheck) hasAnyDate(passages []int) bool {
	return slices.ContainsFunc(x.claim.facts.Dates, func(d facts.Date) bool { return !d.Soft && x.e.hasDate(d, passages) })
}

// hasLength reports whether a line or a message has a length of time in days or more, such as a week before the party: a date may be
// counted from another one.
func (x *dateCheck) hasLength(i int) bool {
	return len(lengthsOf(x.claim.facts)) > 0 || len(lengthsOf(x.e.read(i).facts)) > 0
}

// lengthsOf returns the lengths of time in a text, in days.
func lengthsOf(of facts.Text) (days []int) {
	for _, n := range of.Numbers {
		if length, ok := n.In(facts.Days); ok && n.Unit >= facts.Days {
			days = append(days, int(length))
		}
	}
	if slices.Contains(of.Rates, facts.Weeks) {
		days = append(days, 7)
	}
	return days
}

// isAway reports whether a day is as far away from one that the messages around the cited ones state as these, or the line, say:
// three days before the release.
func (x *dateCheck) isAway() bool {
	if x.d.Day == 0 || x.d.Month == 0 {
		return false
	}
	lengths := lengthsOf(x.claim.facts)
	for _, i := range x.cited {
		lengths = append(lengths, lengthsOf(x.e.read(i).facts)...)
	}
	for _, i := range x.e.near(x.cited) {
		p := x.e.read(i)
		for _, o := range p.facts.Dates {
			if o.Day != 0 && slices.ContainsFunc(o.Spans(p.at), func(from facts.Span) bool { return awayFrom(from, lengths, x.d.Spans(p.at)) }) {
				return true
			}
		}
	}
	return false
}

// awayFrom reports whether a span is one of the lengths, in days, before or after one of the others.
func awayFrom(from facts.Span, lengths []int, others []facts.Span) bool {
	return slices.ContainsFunc(lengths, func(days int) bool {
		before := facts.Span{From: from.From - days, To: from.To - days}
		after := facts.Span{From: from.From + days, To: from.To + days}
		return slices.ContainsFunc(others, func(to facts.Span) bool { return before.Meets(to) || after.Meets(to) })
	})
}

// otherDate returns a message that states a date which the line does not have, and that date; -1 if there is none.
func (x *dateCheck) otherDate(telling []int) (passage int, other facts.Date) {
	for _, i := range telling {
		p := x.e.read(i)
		if p.facts.Cut {
			continue
		}
		for _, o := range p.facts.Dates {
			if o.Day != 0 && slices.ContainsFunc(x.claim.facts.Numbers, func(n facts.Number) bool { return isDay(n, o) }) {
				continue
			}
			if !o.Soft && !slices.ContainsFunc(x.claim.facts.Dates, func(d facts.Date) bool { return !d.Soft && facts.Meet(d, p.at, o, p.at) }) {
				return i, o
			}
		}
	}
	return -1, other
}

// hasDate reports whether passages have a date, or the day of the month alone. A message's own day counts if the messages state
// no other.
func (e *evidence) hasDate(d facts.Date, passages []int) bool {
	hard := false
	for _, i := range passages {
		p := e.read(i)
		all := p.facts.Dates
		for _, n := range p.facts.Numbers {
			all = append(slices.Clip(all), facts.Counted(n)...)
		}
		for _, o := range all {
			if o.Soft {
				continue
			}
			hard = hard || !o.Loose
			if facts.Meet(d, p.at, o, p.at) && !(o.Day == 0 && o.Month != 0 && d.Day != 0 && hasLoose(p)) {
				return true
			}
		}
		alone := facts.Date{Weekday: -1, Day: d.Day}
		if d.Day != 0 && slices.ContainsFunc(p.facts.Numbers, func(n facts.Number) bool { return isDay(n, d) }) && (d.Weekday < 0 || facts.Meet(d, p.at, alone, p.at)) {
			return true
		}
	}
	for _, i := range passages {
		p := e.read(i)
		today := facts.Date{Weekday: -1}
		if !hard && (d.Day != 0 || d.Month != 0) && !p.at.IsZero() && facts.Meet(d, p.at, today, p.at) {
			return true
		}
		if hard {
			continue
		}
		for _, o := range softDates(p) {
			if facts.Meet(d, p.at, o, p.at) {
				return true
			}
		}
	}
	return false
}

// hasLoose reports whether a passage has a day without its month: a month that it names, too, is that of the day.
func hasLoose(p *passage) bool {
	return slices.ContainsFunc(p.facts.Dates, func(d facts.Date) bool { return d.Loose })
}

// softDates returns the vague times that a passage states.
func softDates(p *passage) (all []facts.Date) {
	for _, o := range p.facts.Dates {
		if o.Soft {
			all = append(all, o)
		}
	}
	for _, n := range p.facts.Numbers {
		all = append(all, facts.Counted(n)...)
	}
	return all
}

// isDay reports whether a number is the day of a date, and nothing else.
func isDay(n facts.Number, d facts.Date) bool {
	return n.Unit == facts.None && !n.Dated && (n.Day || !n.Weak) && len(n.Values) > 0 && n.Values[0] == float64(d.Day)
}
