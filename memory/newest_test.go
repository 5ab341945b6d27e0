package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// TestNewestSayingsNeedNotTheWholeSlot saves random facts: settling the whole slot afterwards changes nothing.
func TestNewestSayingsNeedNotTheWholeSlot(t *testing.T) {
	check.SkipUnderRace(t)
	rows := func(c *store.Conversation) string {
		return strings.Join(storetest.Rows(t, c.Store(), `SELECT id, value, since, until, state, coalesce(superseded_by, 0), in_doubt FROM memories_view ORDER BY id`), "\n")
	}
	for seed := range uint64(8) {
		dice := rand.New(rand.NewPCG(seed, 11))
		c := newTalk(t)
		var log []string
		at := time.Now().AddDate(0, 0, -100)
		for n := 1; n <= 12; n++ {
			at = at.Add(time.Duration(1+dice.IntN(5*24)) * time.Hour)
			s := aboutNow(dice, n, at, seed%2 == 0)
			log = append(log, fmt.Sprintf("%+v", s))
			words := strings.Repeat("so ", dice.IntN(6)) // the same ones again, now and then
			id := tellOf(t, c, s, words)
			was := rows(c)
			check.NoError(t, c.Store().Update(ctx, func(tx *store.Tx) { memory.SettleSlot(c, tx, id) }))
			check.Require(t, rows(c) == was, "seed %d:\n%s\nsaved as\n%s\nis as a whole\n%s", seed, strings.Join(log, "\n"), was, rows(c))
			if dice.IntN(9) == 0 && n > 1 {
				remove(t, c, 1+dice.IntN(n-1))
			}
		}
	}
}

// aboutNow returns a random saying of some time: in order, as in a diary, or of any other time too.
func aboutNow(dice *rand.Rand, n int, at time.Time, inOrder bool) told {
	s := told{message: n, ann: inOrder || dice.IntN(4) > 0, said: at, value: []string{"Lisbon", "Porto", "Oslo"}[dice.IntN(3)]}
	if inOrder {
		s.since = []string{"", at.Format(time.DateOnly)}[dice.IntN(2)]
		return s
	}
	if dice.IntN(5) == 0 {
		s.said = at.AddDate(0, 0, -dice.IntN(60))
	}
	date := func(days int) string {
		return s.said.AddDate(0, 0, dice.IntN(days)-days*3/4).Format([]string{"2006-01-02", "2006-01", "2006"}[dice.IntN(3)])
	}
	switch dice.IntN(6) {
	case 0:
		s.since = date(60)
	case 1:
		s.until = date(40)
	}
	return s
}

// A diary of years: what a day adds needs the day before, and reads no older one.
func TestLongSlotIsNotReadWhole(t *testing.T) {
	c := diary(t, 900)
	storetest.Run(t, c.Store(), "UPDATE memories SET also = 'whoever reads this fails' WHERE id < 900")
	weigh(t, c, 2)
	weigh(t, c, 3)
	check.EqualAll(t, "the last days", storetest.Rows(t, c.Store(), "SELECT value, state, superseded_by FROM memories WHERE id >= 899 ORDER BY id"),
		[]string{"899 kg|superseded|900", "900 kg|superseded|901", "1002 kg|superseded|902", "1003 kg|active|NULL"})
}
