// Scopes: whose memories a conversation recalls. They are set by code, out of names and
// of what connectors tell of a place, and never by what somebody asks for.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// Audience is who may read a place, beside those who are in it.
type Audience string

// The audiences. A connector that does not know leaves it empty, which changes nothing; a
// place of which nothing was ever told is read by its members alone.
const (
	Members      Audience = "members" // a private channel, a private thread, a direct message
	ChannelWide  Audience = "channel" // a thread: all who may read its channel
	ServerWide   Audience = "server"  // a public channel, and its public threads: everybody on the server
	unknownPlace Audience = ""
)

// notice stores what a connector tells of a conversation's audience.
func (c *Conversation) notice(tx *transaction, who Audience) error {
	if who == unknownPlace {
		return nil
	}
	if who == Members {
		who = ""
	}
	_, err := tx.Exec("UPDATE conversations SET audience = ?1 WHERE id = ?2 AND audience <> ?1", who, c.id)
	return err
}

// Share sets whether the public channels of a server recall each other's
// memories: with true all of one server, of one connector; else each its own.
func (am AllMemories) Share(server bool) { am.store.pooled.Store(server) }

// Shared reports whether memories are shared at all, and whether the conversation
// is one of those that do.
func (ms Memories) Shared(ctx context.Context) (on, here bool, err error) {
	err = ms.c.store.view(ctx, func(tx *transaction) error {
		here, err = ms.c.inPool(tx)
		return err
	})
	if err != nil {
		return false, false, ms.c.fail("look who may read", err)
	}
	return ms.c.store.pooled.Load(), here, nil
}

// scope is the conversations, by number, in which a query searches. The zero value is
// everywhere: for the shell alone.
type scope struct {
	own    []int64 // all of their memories
	others []int64 // those of their memories that may be shared
}

var everywhere scope

// only is the scope of one conversation.
func only(id int64) scope { return scope{own: []int64{id}} }

// where is the condition that holds a query to the scope, and its arguments. It is on
// the column conversation, so that an index leads to what it holds.
func (s scope) where() (condition string, args []any) {
	if s.own == nil {
		return "true", nil
	}
	all := append(s.own[:len(s.own):len(s.own)], s.others...)
	return "conversation IN " + list(len(all)), numbers(all)
}

// shares is the condition that leaves out what other conversations keep to themselves,
// with reach as the memory's; empty where there are none.
func (s scope) shares(reach string) (condition string, args []any) {
	if len(s.others) == 0 {
		return "", nil
	}
	return "(" + reach + " = 'server' OR conversation IN " + list(len(s.own)) + ")", numbers(s.own)
}

func list(n int) string { return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")" }

func numbers(ids []int64) (args []any) {
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}

// scope is what the conversation recalls: its own memories; of a thread those of its
// channel too; of a channel those of its threads that all its readers may read; and,
// where memories are shared, those of the server's public channels.
func (c *Conversation) scope(tx *transaction) (in scope, err error) {
	in = only(c.id)
	channel, _ := c.hangsOn()
	if channel != "" {
		var above int64
		err = tx.QueryRow("SELECT id FROM conversations WHERE name = ?", channel).Scan(&above)
		if err == nil {
			in.own = append(in.own, above)
		} else if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
	} else {
		in.own, err = c.below(tx, in.own, c.name, "audience <> ''")
	}
	if err != nil {
		return in, err
	}
	pooled, err := c.inPool(tx)
	if err != nil || !pooled {
		return in, err
	}
	in.others, err = c.below(tx, nil, c.server(), "audience = 'server'")
	return in, err
}

// server is the part of the name that says connector and server; empty: there is none.
func (c *Conversation) server() string {
	server, _, there := strings.Cut(c.name, "/")
	if !there {
		return ""
	}
	return server
}

// inPool reports whether the conversation has its memories in common with others.
func (c *Conversation) inPool(tx *transaction) (pooled bool, err error) {
	if !c.store.pooled.Load() || c.server() == "" {
		return false, nil
	}
	err = tx.QueryRow("SELECT audience = 'server' FROM conversations WHERE id = ?", c.id).Scan(&pooled)
	return pooled, err
}

// mostBelow bounds how many conversations a scope takes up below a name: the newest.
const mostBelow = 5000

// below adds to a list the other conversations below a channel or a server for which a
// condition holds, and in which something is remembered. Names are compared as bytes:
// none of their characters means anything here.
func (c *Conversation) below(tx *transaction, found []int64, name, condition string) ([]int64, error) {
	more, err := column[int64](tx, `SELECT id FROM conversations WHERE name > ? AND name < ? AND id <> ? AND `+condition+`
		AND EXISTS (SELECT 1 FROM memories WHERE conversation = conversations.id) ORDER BY id DESC LIMIT ?`,
		name+"/", name+"0", c.id, mostBelow) // 0 comes right after /
	return append(found, more...), err
}
