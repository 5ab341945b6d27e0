// What is true of memories at a moment: conditions that become true as time passes, in SQL to choose rows, and of a row that was read.
// Reading evaluates them, and changes no row.

package store

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// moment is when memories are read. Its conditions are those of a memory that is stored as active; m is the name of its table.
type moment struct {
	millis int64
	day    string // local: people mean their own days
}

func now() moment { return moment{nowMillis(), time.Now().Format(time.DateOnly)} }

// today is the SQL expression for the day, month or year of the moment, whichever a column has.
func (at moment) today(column string) string {
	return fmt.Sprintf("substr('%s', 1, length(%s))", at.day, column)
}

// expired: nothing recalls it any more. The time is an argument, see args: statements with the same text are prepared once.
func (at moment) expired(m string) string {
	return fmt.Sprintf("(%[1]s.pinned = 0 AND %[1]s.expires_at IS NOT NULL AND %[1]s.expires_at <= ?)", m)
}

// args are the arguments of a condition of the moment.
func (at moment) args(condition string) []any {
	return slices.Repeat([]any{at.millis}, strings.Count(condition, "?"))
}

// over: it has a value, which had an end, and that has passed.
func (at moment) over(m string) string {
	return fmt.Sprintf("(%[1]s.slot <> '' AND %[1]s.until <> '' AND %[1]s.until < %[2]s)", m, at.today(m+".until"))
}

// followed: the value that supersedes it is true already. See Settled.
func (at moment) followed(m string) string {
	return fmt.Sprintf("(%[1]s.superseded_by IS NOT NULL AND EXISTS (SELECT 1 FROM memories f WHERE f.id = %[1]s.superseded_by AND f.since <= %[2]s))", m, at.today("f.since"))
}

// upcoming: its value is not true yet, see Fact.Begins.
func (at moment) upcoming(m string) string {
	return fmt.Sprintf("(%[1]s.slot <> '' AND %[1]s.since > %[2]s AND instr(%[1]s.value, substr(%[1]s.since, 1, 4)) = 0)", m, at.today(m+".since"))
}

// is is the condition that a memory is in a state, stored or not.
func (at moment) is(state, m string) string {
	active := m + ".state = 'active' AND NOT " + at.followed(m)
	ended := "(" + at.expired(m) + " OR " + at.over(m) + ")"
	switch state {
	case "active":
		return active + " AND NOT " + ended
	case "expired":
		return active + " AND " + ended
	case "current":
		return active
	case "superseded":
		return "(" + m + ".state = 'superseded' OR " + m + ".state = 'active' AND " + at.followed(m) + ")"
	}
	return m + ".state = '" + strings.ReplaceAll(state, "'", "''") + "'"
}

// state is the SQL expression for the state of a memory.
func (at moment) state(m string) string {
	return fmt.Sprintf("CASE WHEN %[1]s.state <> 'active' THEN %[1]s.state WHEN %[2]s THEN 'superseded' WHEN %[3]s OR %[4]s THEN 'expired' ELSE 'active' END",
		m, at.followed(m), at.expired(m), at.over(m))
}

// rivals selects the values that are true and may contradict memory ?1 of slot ?2, which has ?3 in common with them. ?4 is the moment.
func (at moment) rivals() string {
	return `SELECT value FROM memories r WHERE conversation = (SELECT conversation FROM memories WHERE id = ?1) AND slot = ?2 AND slot <> ''
		AND ` + strings.ReplaceAll(at.is("active", "r"), "?", "?4") + " AND in_doubt = ?3 AND id <> ?1 AND NOT " + at.upcoming("r")
}

// apply gives a memory that was read the state that it has at the moment, by the same conditions. by is what supersedes it.
func (at moment) apply(m *Memory, by follower) {
	today := func(like string) string { return at.day[:min(len(like), len(at.day))] }
	started := func(period string) bool { return period <= today(period) }
	switch {
	case m.State != "active":
	case m.SupersededBy != 0 && started(by.Since):
		m.State = "superseded"
	case !m.Pinned && !m.Expires.IsZero() && m.Expires.UnixMilli() <= at.millis:
		m.State = "expired"
	case m.Slot != "" && m.Until != "" && m.Until < today(m.Until):
		m.State = "expired"
	}
	m.Upcoming = m.Slot != "" && !started(m.Begins())
}
