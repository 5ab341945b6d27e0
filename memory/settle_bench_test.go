package memory_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// diary returns a conversation in which Ann has said another weight on each of some days.
func diary(t testing.TB, days int) *store.Conversation {
	t.Helper()
	c := newTalk(t)
	hello := said(1, "Ann says: weight")
	hello.Author, hello.AuthorID = "Ann", "0"
	deliver(t, c, hello)
	storetest.Run(t, c.Store(), `WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < CAST(?1 AS BIGINT))
		INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, said_at, saved_at, state, superseded_by, by_rule, attribute, value, slot)
		SELECT i, (SELECT id FROM conversations), 'fact', 'weight ' || i, 'weight ' || i, 0.5, 'Ann', 'Ann', 'worker', CAST(?2 AS BIGINT) + i * 86400000, CAST(?2 AS BIGINT) + i * 86400000,
			CASE WHEN i = ?1 THEN 'active' ELSE 'superseded' END, CASE WHEN i < ?1 THEN i + 1 END, CASE WHEN i < ?1 THEN 1 ELSE 0 END, 'weight', i || ' kg', 'weight' FROM n`,
		days, storetest.Day.UnixMilli()-int64(days)*24*time.Hour.Milliseconds())
	storetest.WroteIDs(t, c.Store(), "memories")
	storetest.Run(t, c.Store(), "INSERT INTO memory_people (memory, author_id, role) SELECT id, '0', 'said' FROM memories")
	return c
}

// weigh lets Ann say her weight on a later day, and saves it.
func weigh(t testing.TB, c *store.Conversation, n int) {
	t.Helper()
	m := said(n, fmt.Sprintf("Ann says: weight %d kg", 1000+n))
	m.Author, m.AuthorID = "Ann", "0"
	m.Time = storetest.Day.AddDate(0, 0, n)
	deliver(t, c, m)
	call(t, toolsAt(c, int64(n)), "memory_save", fact("weight", fmt.Sprintf("%d kg", 1000+n), n, ""))
}

func BenchmarkSaveIntoSlot(b *testing.B) {
	for _, days := range []int{10, 365, 3650} {
		b.Run(fmt.Sprintf("%d days", days), func(b *testing.B) {
			c := diary(b, days)
			n := 1
			for b.Loop() {
				n++
				weigh(b, c, n)
			}
			check.Equal(b, "current", number(b, c.Store(), "SELECT count(*) FROM memories WHERE state = 'active'"), 1)
		})
	}
}
