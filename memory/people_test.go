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
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	if n := number(t, s, "SELECT count(*) FROM memory_people WHERE memory = 1 AND author_id = 'u1' AND role = 'said'"); n != 1 {
		t.Errorf("%d rows name who said it", n)
	}
	if n := number(t, s, "SELECT count(*) FROM memory_people"); n != 1 {
		t.Errorf("there are %d rows", n)
	}
	if n := number(t, s, "SELECT count(*) FROM unscrubbed"); n != 0 {
		t.Error("a file from which nothing was deleted is scrubbed")
	}
	if traces, err := find(t, s, "terminal:general").Traces(ctx, "u1"); err != nil || traces != (Traces{1, 2, 1}) {
		t.Errorf("%+v, %v", traces, err)
	}
}
