package memory

import (
	"errors"
	"testing"

	"cairn/internal/check"
)

func TestUpgradeKnowsWhomMemoriesConcern(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	db := open(File(dir), writerPragmas)
	_, err := db.Exec("UPDATE messages SET native = ''") // else the upgrade deletes that
	check.NoError(t, errors.Join(err, db.Close()))
	s := openStore(t, dir)
	check.Equal(t, "rows name who said it", number(t, s, "SELECT count(*) FROM memory_people WHERE memory = 1 AND author_id = 'u1' AND role = 'said'"), 1)
	check.Equal(t, "rows", number(t, s, "SELECT count(*) FROM memory_people"), 1)
	check.Equal(t, "a file from which nothing was deleted is scrubbed", number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
	check.Equal(t, "the result", check.Must(PrivacyOf(find(t, s, "terminal:general")).Traces(ctx, "u1"))(t), (Traces{1, 2, 1}))
}
