package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/pgtest"
)

// bot is the real bot, with a real database in a temporary folder.
type bot struct {
	store     *tempStore
	hub       *channel.Hub
	connector *connector
	n         int // questions so far
}

const maxOutput = 4096 // the default in config.toml

// openBot opens a bot in a new folder below parent; "" is the default for temporary files. The
// default connector is the bench's.
func openBot(ctx context.Context, parent string, o channel.Options) (b *bot, err error) {
	b = &bot{connector: newConnector()}
	b.store, err = openStore(ctx, parent)
	if err != nil {
		return nil, err
	}
	o.Store = b.store.Store
	if o.Connectors == nil {
		o.Connectors = []channel.Connector{b.connector}
	}
	if o.Log == nil {
		o.Log = discardLog
	}
	b.hub = channel.New(o)
	return b, nil
}

func (b *bot) close() error { return errors.Join(b.hub.Close(), b.store.close()) }

// agentOf returns an agent with default settings.
func agentOf(model, worker llm.Model) channel.Agent {
	return channel.Agent{Model: model, Worker: worker, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
}

// addressedNow returns a message addressed to the bot.
func addressedNow(id, text string) channel.Inbound {
	return channel.Inbound{ID: id, AuthorID: "1", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
}

// say sends the bot a message and returns the reply.
func (b *bot) say(ctx context.Context, conversation, text string) (reply, error) {
	b.n++
	id := fmt.Sprint("m", b.n)
	if _, err := b.hub.Deliver(ctx, conversation, addressedNow(id, text)); err != nil {
		return reply{}, err
	}
	return b.connector.await(ctx, id)
}

// command runs a command as a person who may run all commands.
func (b *bot) command(ctx context.Context, conversation, text string) (command.Answer, error) {
	answer, _, err := b.hub.Run(ctx, conversation, access.Person{ID: "1", Name: "Ada", Manager: true}, text)
	return answer, err
}

// tempStore is a database in its own folder or on its own server, which close removes.
type tempStore struct {
	*store.Store
	dir    string // empty: on a server
	remove func() error
}

// openStore opens a database in a new folder below parent.
func openStore(ctx context.Context, parent string) (*tempStore, error) {
	dir, err := os.MkdirTemp(parent, "cairn-bench-")
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &tempStore{db, dir, func() error { return os.RemoveAll(dir) }}, nil
}

// openServed opens a database on a server that it starts.
func openServed(ctx context.Context) (*tempStore, error) {
	cluster, err := pgtest.Start()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{Postgres: cluster.Address("postgres"), Schema: "cairn"})
	if err != nil {
		cluster.Stop()
		return nil, err
	}
	return &tempStore{db, "", func() error {
		cluster.Stop()
		return nil
	}}, nil
}

// conversation returns a conversation with these messages as its past.
func (t *tempStore) conversation(ctx context.Context, name string, past []store.Inbound) (*store.Conversation, error) {
	conv, err := t.Conversation(ctx, name)
	for batch := range slices.Chunk(past, 1000) { // each is a transaction
		if err == nil {
			_, err = conv.Past().Import(ctx, batch)
		}
	}
	return conv, err
}

func (t *tempStore) close() error { return errors.Join(t.Close(), t.remove()) }

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inMemory returns a folder on a memory file system. It returns "", the default for temporary
// files, if there is none with enough room, as in most containers, or if TMPDIR is set.
func inMemory() string {
	const folder, room = "/dev/shm", 1 << 30 // bytes
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(folder, &fs) != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return ""
	}
	return folder
}
