// Times, as models and people read them.

package chat

import "time"

const (
	TimeFormat = "2006-01-02 15:04"
	DateFormat = "2 January 2006"
)

// Time returns a time to the minute, in its own zone: "2026-11-28 19:05". In an hour that the zone has twice, because its
// clocks go back, it ends with the offset: "2026-10-25 02:30 +02:00".
func Time(t time.Time) string { return t.Format(TimeFormat) + Offset(t) }

// ToTheSecond returns a time to the second, in its own zone, for a reader who knows the year: "28 Nov 19:05:30".
func ToTheSecond(t time.Time) string { return t.Format("2 Jan 15:04:05") + Offset(t) }

// Lasting returns a duration to the second, "3s" or "1m20s"; less than half of one is "< 1 s", not nothing.
func Lasting(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Second {
		return "< 1 s"
	}
	return d.String()
}

// ZonedTime is Time, with the name of the zone where there is no offset: "2026-11-28 19:05 CET".
func ZonedTime(t time.Time) string {
	if Offset(t) != "" {
		return Time(t)
	}
	return t.Format(TimeFormat + " MST")
}

// Offset returns what follows a time whose hour its zone has twice: " +02:00"; "" for any other time. It makes no other
// text longer, because the text of a stored message must not change.
func Offset(t time.Time) string {
	start, end := t.ZoneBounds()
	first := !end.IsZero() && end.Sub(t) <= turnedBack(end)
	second := !start.IsZero() && t.Sub(start) < turnedBack(start)
	if first || second {
		return t.Format(" -07:00")
	}
	return ""
}

// turnedBack returns by how much the clocks go back at a change of the zone's offset; negative if they go forward.
func turnedBack(at time.Time) time.Duration {
	_, before := at.Add(-1).Zone()
	_, after := at.Zone()
	return time.Duration(before-after) * time.Second
}
