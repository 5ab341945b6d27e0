package channel

import (
	"context"
	"sync"

	"cairn/channel/access"
	"cairn/channel/task"
	"cairn/internal/observe"
	"cairn/store"
)

// environment is what the conversations of a hub share. It is safe for concurrent use.
type environment struct {
	o          Options
	life       context.Context // ends when the hub closes
	fleet      *Fleet          // nil: there are no other processes
	connectors map[string]Connector
	access     *access.Control
	tasks      *task.Service
	slots      chan struct{} // of compactions, see Options.Workers
	goroutines goroutines
	incident   *incident
	counters   counters

	unreadPauses observe.Incident // whether the bot is paused cannot be read
}

func (e *environment) agents() Agents { return Agents{e.o.Agent, e.o.Agents} }

// place returns where a conversation is held that need not exist.
func (e *environment) place(name string, connector Connector, records *store.Conversation) *site {
	return &site{environment: e, name: name, connector: connector, records: records, log: e.o.Log.With("conversation", name)}
}

// forgotten has a Forgetter remove what its platform shows of messages and memories that are deleted.
func (e *environment) forgotten(name string, ids []string) {
	forgetter, forgets := e.connectors[connectorOf(name)].(Forgetter)
	if forgets {
		forgetter.Forgotten(name, ids)
	}
}

// goroutines are what a hub starts, and awaits when it closes. It is safe for concurrent use.
type goroutines struct {
	running sync.WaitGroup

	mu     sync.Mutex // guards closed
	closed bool
}

// start runs f in a goroutine; false: the hub is closing, and f does not run.
func (g *goroutines) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Go(f)
	}
	return !g.closed
}

// close has start refuse from now on.
func (g *goroutines) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// isClosed reports whether the hub is closing.
func (g *goroutines) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}
