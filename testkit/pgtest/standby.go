package pgtest

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Standby is a copy of a cluster that follows it, and can take its place.
type Standby struct {
	*Cluster
	primary *Cluster
}

// NewStandby starts a standby for one test. If it is synchronous, the primary confirms no commit that is not on the standby's disk.
func NewStandby(t testing.TB, primary *Cluster, synchronous bool) *Standby {
	t.Helper()
	c, err := startWith("pg_basebackup", "-h", primary.dir, "--write-recovery-conf", "--checkpoint=fast")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	s := &Standby{c, primary}
	state := "async"
	if synchronous {
		state = "sync"
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (*)'", "SELECT pg_reload_conf()"} {
			if err := primary.Run("postgres", statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, primary, "the standby follows", "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '"+state+"'")
	return s
}

// await waits until a query of a cluster returns true.
func await(t testing.TB, c *Cluster, what, query string) {
	t.Helper()
	db := c.Connect("postgres", "public")
	defer db.Close()
	found := false
	for end := time.Now().Add(20 * time.Second); !found; time.Sleep(20 * time.Millisecond) {
		if err := db.QueryRow(query).Scan(&found); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Promote makes the standby a primary, after the end of the other.
func (s *Standby) Promote(t testing.TB) {
	t.Helper()
	await(t, s.Cluster, "the standby is promoted", "SELECT pg_promote()")
}

// Freeze has the standby receive nothing more until unfreeze is called.
func (s *Standby) Freeze(t testing.TB) (unfreeze func()) {
	t.Helper()
	db := s.Connect("postgres", "public")
	defer db.Close()
	pid := 0
	if err := db.QueryRow("SELECT pid FROM pg_stat_wal_receiver").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	unfreeze = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(unfreeze)
	return unfreeze
}

// Both returns the address of a database on whichever of the two is the primary.
func (s *Standby) Both(database string) string {
	return fmt.Sprintf("postgres://cairn@/%s?host=%s,%s&target_session_attrs=read-write", database, s.primary.dir, s.dir)
}
