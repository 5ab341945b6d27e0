package summarize

import (
	"fmt"
	"slices"

	"cairn/internal/facts"
)

// checkDates looks for each date of the line, as checkNumbers does for numbers.
func (e *evidence) checkDates(c *claim, cited, telling []int) (wrong string, found bool) {
	found = true
	for _, d := range c.facts.Dates {
		if d.Soft || d.Loose || e.isNamed(d) || d.IsNear() && !e.fixes(d, telling) || e.counts(c, d, cited) {
			continue
		}
		if e.hasDate(d, cited) {
			found = found && e.dateOfAnother(c, d, cited) < 0
			continue
		}
		if e.isAway(c, d, cited) {
			continue
		}
		if i, other := e.otherDate(c, telling); i >= 0 && !e.besideSays(c, i, func(k int) bool { return e.hasDate(d, []int{k}) }) {
			if sameForm(d, other) && !e.hasLength(c, i) && !e.hasAnyDate(c, cited) {
				return fmt.Sprintf("#%d has a different date", e.passages[i].seqs[0]), false
			}
			found = false
			continue
		}
		i, _ := e.otherDate(c, e.inSpan(cited))
		differs := i >= 0
		if i, _ = e.otherDate(c, e.inSpan(e.byLeader(c, cited))); i >= 0 { // whom the line is about says another date
			found = false
			continue
		}
		found = found && (e.hasDate(d, e.near(cited)) || e.elsewhere(c, differs, func(i int) bool { return e.hasDate(d, []int{i}) }))
	}
	return "", found
}

// isNamed reports whether the month of a date may be the name of somebody, such as Jun or April.
func (e *evidence) isNamed(d facts.Date) bool {
	return d.Month != 0 && d.Day == 0 && d.Year == 0 && slices.ContainsFunc(e.people, func(p person) bool {
		return slices.Contains(facts.Read(p.shown, e.languages).Dates, d)
	})
}

// counts reports whether the line counts from a date, which is the day of a cited message, to another one that the messages have: the
// Friday before 15 July.
func (e *evidence) counts(c *claim, d facts.Date, cited []int) bool {
	today := facts.Date{Weekday: -1}
	written := slices.ContainsFunc(cited, func(i int) bool {
		at := e.passages[i].at
		return facts.Meet(d, at, today, at)
	})
	return written && d.Day != 0 && d.Month != 0 && slices.ContainsFunc(c.facts.Dates, func(o facts.Date) bool { return o != d && e.hasDate(o, cited) })
}

// fixes reports whether it is certain which day a line means by tomorrow or yesterday: all messages are of one day.
func (e *evidence) fixes(d facts.Date, telling []int) bool {
	return d.Near != 0 && e.own > 0 && len(telling) > 0 && e.passages[0].at.YearDay() == e.passages[e.own-1].at.YearDay()
}

// sameForm reports whether two dates state the same of a day: its date, its weekday, or its distance. One that states something else
// has to be computed, which code may do wrongly: 15 June is the Monday before the party.
func sameForm(d, o facts.Date) bool {
	return (d.Day != 0) == (o.Day != 0) && (d.Month != 0) == (o.Month != 0) && (d.Day != 0 || (d.Weekday >= 0) == (o.Weekday >= 0))
}

// hasAnyDate reports whether passages have one of the dates of a line.
func (e *evidence) hasAnyDate(c *claim, passages []int) bool {
	return slices.ContainsFunc(c.facts.Dates, func(d facts.Date) bool { return !d.Soft && e.hasDate(d, passages) })
}

// hasLength reports whether a line or a message has a length of time in days or more, such as a week before the party: a date may be
// counted from another one.
func (e *evidence) hasLength(c *claim, i int) bool {
	return len(lengthsOf(c.facts)) > 0 || len(lengthsOf(e.read(i).facts)) > 0
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
func (e *evidence) isAway(c *claim, d facts.Date, cited []int) bool {
	if d.Day == 0 || d.Month == 0 {
		return false
	}
	lengths := lengthsOf(c.facts)
	for _, i := range cited {
		lengths = append(lengths, lengthsOf(e.read(i).facts)...)
	}
	for _, i := range e.near(cited) {
		p := e.read(i)
		for _, o := range p.facts.Dates {
			if o.Day != 0 && slices.ContainsFunc(o.Spans(p.at), func(from facts.Span) bool { return awayFrom(from, lengths, d.Spans(p.at)) }) {
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
func (e *evidence) otherDate(c *claim, telling []int) (passage int, other facts.Date) {
	for _, i := range telling {
		p := e.read(i)
		if p.facts.Cut {
			continue
		}
		for _, o := range p.facts.Dates {
			if o.Day != 0 && slices.ContainsFunc(c.facts.Numbers, func(n facts.Number) bool { return isDay(n, o) }) {
				continue
			}
			if !o.Soft && !slices.ContainsFunc(c.facts.Dates, func(d facts.Date) bool { return !d.Soft && facts.Meet(d, p.at, o, p.at) }) {
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
		own := facts.Date{Weekday: -1}
		if !hard && (d.Day != 0 || d.Month != 0) && !p.at.IsZero() && facts.Meet(d, p.at, own, p.at) {
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
