// Package pgtest starts PostgreSQL for tests: a cluster of their own in a temporary folder, on a socket there, without a port.
package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/store/postgres"
)

// Cluster is a running PostgreSQL.
type Cluster struct {
	dir    string
	stop   io.WriteCloser // the pipe that keeps it running
	server *exec.Cmd
}

// errMissing says why there is no cluster.
var errMissing = errors.New("PostgreSQL is not installed: there is no initdb and postgres")

// started is set once the shared cluster was asked for.
var started atomic.Bool

// shared is the cluster of a test binary.
var shared = sync.OnceValues(func() (*Cluster, error) {
	started.Store(true)
	return Start()
})

// programOf returns the path of a program of PostgreSQL. Debian keeps those of a server in a folder of their version.
func programOf(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return "", errMissing
	}
	return found[len(found)-1], nil
}

// Shared returns the cluster of the test binary, and skips the test where PostgreSQL is not installed. Stop ends it.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	c, err := shared()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Running returns the cluster of the test binary.
func Running() (*Cluster, error) { return shared() }

// Stop ends the shared cluster, if a test has started it.
func Stop() {
	if !started.Load() {
		return
	}
	if c, err := shared(); err == nil {
		c.Stop()
	}
}

// Start makes a cluster and starts it. PostgreSQL refuses to run as root, so root's cluster runs as nobody.
func Start() (*Cluster, error) {
	return startWith("initdb", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
}

// startWith is Start with the program that makes the data folder.
func startWith(program string, args ...string) (*Cluster, error) {
	dir, err := os.MkdirTemp("/tmp", "cairn-pg") // a socket's path is short
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir}
	err = c.start(program, args...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// start has a program of PostgreSQL make the data folder, and starts the server.
func (c *Cluster) start(program string, args ...string) error {
	path, err := programOf(program)
	if err != nil {
		return err
	}
	as, err := unprivileged(c.dir)
	if err != nil {
		return err
	}
	makes := exec.Command(path, append(args, "-D", c.data(), "-U", "cairn", "--no-sync")...)
	makes.Dir = c.dir
	makes.SysProcAttr = as
	if out, err := makes.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return c.Up()
}

// Up starts the server, and waits until it answers.
func (c *Cluster) Up() error {
	serve, err := programOf("postgres")
	if err != nil {
		return err
	}
	as, err := unprivileged(c.dir)
	if err != nil {
		return err
	}
	// The shell ends the server when the pipe has a line, which names a signal, or closes because the tests were killed; then it removes the
	// files, too.
	c.server = exec.Command("sh", "-c", `"$@" & read -r signal || killed=1; kill -"${signal:-INT}" $!; wait; [ -z "$killed" ] || rm -rf "$0"`, c.dir,
		serve, "-D", c.data(), "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
	c.server.Dir = c.dir
	c.server.SysProcAttr = as
	var said bytes.Buffer
	c.server.Stderr = &said
	c.stop, err = c.server.StdinPipe()
	if err == nil {
		err = c.server.Start()
	}
	if err != nil {
		return err
	}
	for range 300 {
		err = c.Run("postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Down()
	return fmt.Errorf("postgres does not answer: %w: %s", err, said.String())
}

// Down stops the server, as its operator does, and ends all connections. Up starts it again.
func (c *Cluster) Down() { c.end("INT") }

// Crash ends the server and its connections in the middle of what they do, as a crash of its machine does: nothing more is written or
// sent. SIGKILL would do the same, but leave shared memory behind.
func (c *Cluster) Crash() { c.end("QUIT") }

func (c *Cluster) end(signal string) {
	_, _ = io.WriteString(c.stop, signal+"\n")
	_ = c.server.Wait()
}

// unprivileged makes a folder its own, and returns how to run as a user that is not root.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(dir, uid, gid)
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Stop ends the cluster and removes its files.
func (c *Cluster) Stop() {
	c.Down()
	_ = os.RemoveAll(c.dir)
}

// New starts a cluster for one test, and skips the test where PostgreSQL is not installed.
func New(t testing.TB) *Cluster {
	t.Helper()
	c, err := Start()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// Socket returns the path of the socket on which the server listens.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// Write writes a file of the cluster's data folder.
func (c *Cluster) Write(name, text string) error {
	path := filepath.Join(c.data(), name)
	return errors.Join(os.WriteFile(path, []byte(text), 0o666), os.Chmod(path, 0o666))
}

// AddressOf is Address for another user.
func (c *Cluster) AddressOf(user, database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s", user, database, c.dir)
}

// Address returns the address of a database.
func (c *Cluster) Address(database string) string {
	return c.AddressOf("cairn", database)
}

// Connect returns connections to a schema of a database. They take the statements of package store.
func (c *Cluster) Connect(database, schema string) *sql.DB {
	return connect(c.Address(database), schema)
}

func connect(address, schema string) *sql.DB {
	connector, err := postgres.Connector(address, schema, nil)
	if err != nil {
		panic(err)
	}
	return sql.OpenDB(connector)
}

// Run runs statements in a database.
func (c *Cluster) Run(database, script string) error {
	return c.RunAs("cairn", database, script)
}

// RunAs is Run for another user.
func (c *Cluster) RunAs(user, database, script string) error {
	db := connect(c.AddressOf(user, database), "public")
	_, err := db.ExecContext(context.Background(), script)
	return errors.Join(err, db.Close())
}
