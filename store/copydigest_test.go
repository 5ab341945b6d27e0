package store_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// Texts of an older version may have what PostgreSQL cannot store, also in the key by which a copy goes on.
func TestCopyReplacesWhatCannotBeStored(t *testing.T) {
	here := smallStore(t)
	runScripts(t, here.Dir, "UPDATE messages SET text = 'a' || char(0) || 'b' WHERE seq = 1; UPDATE messages SET text = CAST(x'61ff62' AS TEXT) WHERE seq = 2",
		"INSERT INTO members VALUES (1, 'a' || char(0), '', '1'), (1, 'a' || char(0) || 'b', '', '2'), (1, 'ab', '', '3')")
	defer store.CopyInBatches(1, 1<<20)()
	for name, empty := range map[string]func(*testing.T) store.Options{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			there := empty(t)
			for n := 60; !stopped(t, here, there, steps(n)); n += 60 {
				check.Require(t, n < 1000, "it never ends")
			}
			back := onSQLite(t)
			copyTo(t, there, back)
			s := check.Must(store.Open(ctx, back))(t)
			defer s.Close()
			check.EqualAll(t, "texts", storetest.Column[string](t, s, "SELECT text FROM messages ORDER BY id"), []string{"a\uFFFDb", "a\uFFFDb"})
			check.EqualAll(t, "names", storetest.Column[string](t, s, "SELECT term FROM members WHERE name = '' ORDER BY author_id"), []string{"a\uFFFD", "a\uFFFDb", "ab"})
		})
	}
}

// A copy of any number of rows of any size needs the memory of one batch.
func TestBatchesOfACopyAreSmall(t *testing.T) {
	here := smallStore(t)
	runScripts(t, here.Dir, "INSERT INTO files (conversation, platform_id, type, data) VALUES (1, '', '', zeroblob(10)), (1, '', '', zeroblob(400)), (1, '', '', zeroblob(900)), (1, '', '', zeroblob(3000)), (1, '', '', zeroblob(1)), (1, '', '', zeroblob(1)), (1, '', '', zeroblob(1))")
	defer store.CopyInBatches(3, 1000)()
	there := onPostgres(t)
	copyTo(t, here, there)
	for _, o := range []store.Options{here, there} {
		s := check.Must(store.Open(ctx, o))(t)
		check.EqualAll(t, "rows of the batches", check.Must(store.CopyBatches(ctx, s, "files"))(t), []int{1, 1, 1, 1, 2, 1})
		check.NoError(t, s.Close())
	}
}

func TestDigestsOfACopy(t *testing.T) {
	rows := []string{
		store.EncodeRow(), store.EncodeRow(nil), store.EncodeRow(nil, nil), store.EncodeRow(int64(0)), store.EncodeRow(0.0), store.EncodeRow(""), store.EncodeRow([]byte{}),
		store.EncodeRow(int64(1)), store.EncodeRow(1.0), store.EncodeRow("1"), store.EncodeRow([]byte("1")), store.EncodeRow("ab", "c"), store.EncodeRow("a", "bc"),
		store.EncodeRow("a", nil), store.EncodeRow(nil, "a"), store.EncodeRow(math.Inf(1)), store.EncodeRow(int64(math.MinInt64)), store.EncodeRow("n"), store.EncodeRow("", "n"),
	}
	seen := map[string]int{}
	for i, row := range rows {
		for other, digest := range map[string]string{"alone": store.DigestOf(row), "twice": store.DigestOf(row, row), "none": store.DigestOf()} {
			before, known := seen[digest]
			check.That(t, !known || other == "none" || before == i, "rows %d and %d have the same digest", before, i)
			seen[digest] = i
		}
	}
	check.Equal(t, "digests of two orders", store.DigestOf(rows...), store.DigestOf(append(rows[5:len(rows):len(rows)], rows[:5]...)...))
	check.Equal(t, "SQLite stores no -0", store.EncodeRow(math.Copysign(0, -1)), store.EncodeRow(0.0))
	defer func() { check.That(t, recover() != nil, "a value of an unknown type has a digest") }()
	store.EncodeRow(errors.New(fmt.Sprint(len(seen))))
}
