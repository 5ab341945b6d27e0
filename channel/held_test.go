package channel_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"cairn/store"
)

// TestDeliveriesWhileTheDatabaseIsRewritten: another connection holds the database's lock, so that
// the rewrite takes as long as the test wants.
func TestDeliveriesWhileTheDatabaseIsRewritten(t *testing.T) {
	r := newRig(t, echo)
	r.say("before", true)
	r.idle()
	other := must(sql.Open("sqlite3", store.File(r.dir)))(t)
	defer other.Close()
	blocker := must(other.Conn(t.Context()))(t)
	defer blocker.Close()
	must(blocker.ExecContext(t.Context(), "BEGIN IMMEDIATE"))(t)
	held, done := filepath.Join(r.dir, "cairn.held"), make(chan error)
	go func() {
		_, err := r.store.Upkeep().Vacuum(context.Background())
		done <- err
	}()
	for {
		if _, err := os.Stat(held); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	r.say("meanwhile", true)
	m := r.inbound("from somewhere new", true)
	must(r.hub.Deliver(t.Context(), "test:new/place", m))(t)
	if _, err := r.store.Find(t.Context(), "test:new/place"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("the database was not locked: %v", err)
	}
	must(blocker.ExecContext(t.Context(), "ROLLBACK"))(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.connector.until(t, "all are answered", func() bool { return len(r.connector.sent) == 3 })
	r.say("afterwards", true)
	r.idle()
	if texts := r.connector.texts(); len(texts) != 4 || !slices.ContainsFunc(r.transcript(), func(line string) bool { return line != "" }) {
		t.Errorf("sent were %q", texts)
	}
}
