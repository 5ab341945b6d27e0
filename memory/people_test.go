package memory

import (
	"errors"
	"testing"
)

func TestUpgradeKnowsWhomMemoriesConcern(t *testing.T) {
	dir := t.TempDir()
	leaveFirstVersion(t, dir)
	db := open(File(dir), writerPragmas)
	_, err := db.Exec("UPDATE messages SET native = ''") // else the upgrade deletes that
	noError(t, errors.Join(err, db.Close()))
	s := openStore(t, dir)
	expect(t, "rows name who said it", number(t, s, "SELECT count(*) FROM memory_people WHERE memory = 1 AND author_id = 'u1' AND role = 'said'"), 1)
	expect(t, "rows", number(t, s, "SELECT count(*) FROM memory_people"), 1)
	expect(t, "a file from which nothing was deleted is scrubbed", number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
	expect(t, "the result", must(find(t, s, "terminal:general").Privacy().Traces(ctx, "u1"))(t), (Traces{1, 2, 1}))
}
