package memory_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
)

// told is what somebody says of Ann's home in a random history.
type told struct {
	message      int
	value        string
	ann          bool // says it herself
	said         time.Time
	since, until string // days; "": she does not say
}

// begins is when it is true, as far as that orders values.
func (s told) begins() time.Time {
	start, err := time.ParseInLocation(time.DateOnly, s.since, time.Local)
	if err == nil && start.After(s.said) {
		return start
	}
	return s.said
}

// later returns it some days later.
func (s told) later(days int) told {
	back := func(text string) string {
		at, err := time.ParseInLocation(time.DateOnly, text, time.Local)
		if err != nil {
			return ""
		}
		return at.AddDate(0, 0, -days).Format(time.DateOnly)
	}
	s.said = s.said.AddDate(0, 0, -days)
	s.since = back(s.since)
	s.until = back(s.until)
	return s
}

// truths returns what the readers should say of each value, by the definition: it is true from when it begins until another one begins that
// may supersede it, or until its own end; values that are true at the same time are in doubt.
func truths(all []told) (want []string) {
	all = slices.SortedFunc(slices.Values(all), func(x, y told) int { return cmp.Or(x.begins().Compare(y.begins()), x.said.Compare(y.said)) })
	is := map[string]bool{}
	was := map[string]bool{}
	for i, s := range all {
		ends := time.Time{}
		for _, next := range all[i+1:] {
			if next.value != s.value && (next.ann || !s.ann) {
				ends = next.begins()
				break
			}
		}
		dropped := !ends.IsZero() && s.begins().After(s.said) && ends.Format(time.DateOnly) <= s.since
		switch {
		case dropped:
		case s.since > day(0):
			want = append(want, s.value+" not before "+s.since)
		case s.until != "" && s.until < day(0), !ends.IsZero() && !ends.After(time.Now()):
			was[s.value] = true
		default:
			is[s.value] = true
		}
	}
	for value := range is {
		if len(is) > 1 {
			value += " in doubt"
		}
		want = append(want, value)
	}
	for value := range was {
		want = append(want, value+" was so")
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// TestRandomHistories lets people say, announce, edit and delete where Ann lives, and time pass.
func TestRandomHistories(t *testing.T) {
	check.SkipUnderRace(t)
	for seed := uint64(12); seed < 24; seed++ {
		dice := rand.New(rand.NewPCG(seed, 7))
		c := newTalk(t)
		var all []told
		var log []string
		hello := said(1, "hello")
		hello.Author, hello.AuthorID = "Ann", "0"
		deliver(t, c, hello)
		n := 1
		for range 12 {
			switch kind := dice.IntN(10); {
			case kind < 6:
				n++
				s := randomSaying(dice, n)
				for meets(s, all) {
					s = randomSaying(dice, n)
				}
				log = append(log, fmt.Sprintf("%+v", s))
				tellOf(t, c, s, strings.Repeat("so ", n))
				all = append(all, s)
			case kind < 8 && len(all) > 0:
				i := dice.IntN(len(all))
				log = append(log, fmt.Sprintf("gone: %d", all[i].message))
				if kind == 6 {
					remove(t, c, all[i].message)
				} else {
					tell(t, c, all[i].message, "something else")
				}
				all = slices.Delete(all, i, i+1)
			default:
				days := 1 + dice.IntN(5)
				log = append(log, fmt.Sprintf("%d days pass", days))
				pass(t, c.Store(), days)
				for i := range all {
					all[i] = all[i].later(days)
				}
			}
			if len(all) == 0 { // nobody knows Ann
				continue
			}
			wantViews(t, c, fmt.Sprintf("seed %d: %s", seed, strings.Join(log, "\n\t")), truths(all)...)
			if t.Failed() {
				return
			}
		}
	}
}

// meets reports whether one value ends on the day on which another one begins: TestFactEndsWhereAnotherBegins.
func meets(s told, all []told) bool {
	return slices.ContainsFunc(all, func(other told) bool {
		return s.until != "" && s.until == other.since || s.since != "" && s.since == other.until
	})
}

func randomSaying(dice *rand.Rand, n int) told {
	s := told{message: n, ann: dice.IntN(3) > 0, said: time.Now().Add(-time.Duration(dice.IntN(4*24*60)) * time.Minute)}
	s.value = []string{"Lisbon", "Porto", "Oslo"}[dice.IntN(3)]
	switch dice.IntN(5) {
	case 0:
		s.since = day(1 + dice.IntN(6))
	case 1: // each in a place of its own: of a value with two ends, the one that knows more stands for the other
		s.value = []string{"Turin", "Bergen", "Faro", "Genoa", "Malmö", "Graz", "Basel", "Lyon", "Porto Alegre", "Kiel", "Bonn", "Ulm"}[n-2]
		s.until = day(dice.IntN(6))
	}
	return s
}

// tellOf delivers a message, and saves what it says in some words. It returns the number of the memory.
func tellOf(t *testing.T, c *store.Conversation, s told, words string) (id int64) {
	t.Helper()
	m := said(s.message, "Ann's home is in "+s.value+", so it is written, by the sea and far away")
	m.Author, m.AuthorID = "Bob", "1"
	if s.ann {
		m.Author, m.AuthorID = "Ann", "0"
	}
	m.Time = s.said
	deliver(t, c, m)
	arguments := fact("home", s.value, s.message, fmt.Sprintf(`, "since": %q, "until": %q`, s.since, s.until))
	arguments = strings.Replace(arguments, "Ann says", "Ann "+words+"says", 1)
	call(t, toolsAt(c, int64(s.message)), "memory_save", arguments)
	return int64(number(t, c.Store(), "SELECT coalesce(max(memory), 0) FROM memory_sources WHERE message & 4294967295 = ?", s.message))
}
