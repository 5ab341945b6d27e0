// Package fleetmodel is a model of several processes that run one bot on one PostgreSQL database, and a search that visits every
// state which the model can reach. It does no I/O.
//
// # The protocol
//
// A process has a row with a lease (processes.go). It renews the lease, by the clock of the database. Anybody may end a process
// whose lease has expired, which is for ever: that process registers anew.
//
// A conversation's row names its owner and an epoch (ownership.go). A process claims a conversation without an owner, or whose
// owner was ended, and takes the next epoch. An idle owner releases it, and one that drains as soon as its turn has ended. Each
// transaction of an owner begins with the fence: it locks the row and compares the epoch. So transactions of one conversation run
// one after another, and each is one step here.
//
// Any process stores messages in the inbox (turn.go), and leaves an event row for the owner. The owner takes a message up, calls
// the model, and writes the reply with a piece of the outbox. Its sender (sender.go) marks the piece, checks the deadline of its
// lease, sends the piece, and notes it as sent. An owner that finds a marked piece asks the platform for it first.
//
// # What goes wrong
//
// A process is killed at any step; pauses at any step until its lease has expired, and goes on with its old memory; is cut off
// from the database; the database's clock jumps; the answer of a transaction is lost, and it is executed then, later or never; a
// request to the platform takes long, and arrives though its process is dead (faults.go). A failover to a synchronous standby is
// lost answers, and perhaps a jump of the clock. NOTIFY may be lost: the model has polls only. Any number of steps of others may come
// between two steps of a process.
//
// # What the search checks
//
// In every state: only the epoch of the row writes; an acknowledged message is on disk; it is stored once and answered once, in
// order; one process has the epoch of the row; and a reply is sent once, see below. And there are no dead ends: from every state,
// whatever else goes wrong, every message is answered, by those processes that run.
//
// # What sends twice
//
// A request cannot be fenced. The platform shows a reply twice only if a request for it was between the check of the deadline and
// its arrival when the lease of its process ended, in one of three ways:
//
//   - The process was paused in between, or cut off from the database while the request took long.
//   - The process was killed, and its request, which took long, arrived after its successor had asked.
//   - The clock of the database jumped forward, before the check or after it: the process did not know that its lease had expired.
//
// The first two need a delay of more than what is left of the lease at the check. Kills, lost answers, slow requests and drains alone
// do not suffice, nor lost answers together with slow requests: a process awaits its request before it claims again.
//
// # What the model adds to the protocol
//
// Two rules are easily forgotten, and the search finds what happens without them. A process may claim what it owns already: the
// answer of its claim may have been lost. And after any lost answer it does so: the new epoch refuses the transaction that may
// still be under way, so that nothing has to be compared.
//
// Two rules only save work: without them the search finds no broken rule either. A release is refused while an event waits: else
// a process that looks for conversations without an owner finds this one. And a process that was ended claims nothing: else the
// next one claims the conversation from it.
//
// # What it leaves out
//
//   - Edits and commands, which are event rows like those of messages.
//   - Several conversations: they share nothing but leases. The pieces of a reply: they are sent in order, like replies.
//   - Refusals by the platform.
//   - A process that is paused within a transaction: it keeps the row locked until the server ends its session, and others wait.
//   - Two transactions without an answer that are under way at once.
//   - The loss of committed transactions, with an asynchronous standby: nothing protects from that.
package fleetmodel

import "fmt"

// Bounds limit a search: how many processes there are, messages, and faults of each kind.
type Bounds struct {
	Processes int
	Messages  int
	Crashes   int // kill -9
	Pauses    int // for longer than the lease; or cut off from the database
	Jumps     int // of the database's clock, each expires one lease
	Lost      int // answers of transactions
	Slow      int // requests to the platform that take long
	Drains    int
}

// Rule is what must always be so.
type Rule uint8

const (
	Fenced       Rule = iota + 1 // R1
	Kept                         // R2
	AnsweredOnce                 // R3
	InOrder                      // R3
	SentOnce                     // R4
	Answered                     // R5
	OneOwner                     // R6
)

func (r Rule) String() string {
	return [...]string{
		"none",
		"a process writes only with the epoch of the row",
		"an acknowledged message is on disk",
		"a message is stored and answered once",
		"replies are committed and shown in order",
		"a reply is sent once, unless a lease ended while its request was on its way",
		"every message is answered",
		"one process has the epoch of the row",
	}[r]
}

// model is the protocol within bounds, perhaps with a seeded fault.
type model struct {
	processes, messages uint8
	left                [faultKinds]uint8
	fault               seeded

	next state // the state after a step, while it is visited
}

func newModel(b Bounds, fault seeded) (*model, error) {
	if b.Processes < 1 || b.Processes > MaxProcesses || b.Messages < 1 || b.Messages > MaxMessages {
		return nil, fmt.Errorf("%d processes and %d messages: must be 1 to %d, and 1 to %d", b.Processes, b.Messages, MaxProcesses, MaxMessages)
	}
	m := &model{processes: uint8(b.Processes), messages: uint8(b.Messages), fault: fault}
	for kind, n := range map[int]int{crashes: b.Crashes, pauses: b.Pauses, jumps: b.Jumps, lost: b.Lost, slow: b.Slow, drains: b.Drains} {
		if n < 0 || n > MaxFaults {
			return nil, fmt.Errorf("%d faults of a kind: must be 0 to %d", n, MaxFaults)
		}
		m.left[kind] = uint8(n)
	}
	return m, nil
}

// first is the state in which a search begins: all processes run, and nothing was delivered.
func (m *model) first() (s state) {
	for p := range m.processes {
		s.processes[p].row = leased
	}
	s.left = m.left
	return s
}

// done: every message is answered, and every reply was sent.
func (m *model) done(s *state) bool { return !s.open() && s.messages[m.messages-1].at == sent }

// judge checks the rules for a single state.
func (m *model) judge(s *state) {
	owners := 0
	var received [MaxMessages + 1]bool
	for i := range s.processes {
		of := &s.processes[i]
		received[of.received] = true
		if of.epoch != 0 && of.epoch == s.epoch {
			owners++
		}
	}
	if owners > 1 {
		s.breaks(OneOwner)
	}
	for i := range s.messages {
		if s.messages[i].acknowledged && s.messages[i].at == unknown && !received[i+1] {
			s.breaks(Kept)
		}
	}
}

// seeded is a fault of the protocol, which a search must find. What is shipped has none.
type seeded uint8

const (
	none              seeded = iota
	finishUnfenced           // a turn is finished without comparing the epoch
	fenceBefore              // the epoch is compared in a transaction before that
	claimExpired             // an owner whose lease has expired need not be ended first
	claimKeepsEpoch          // a claim does not take a new epoch
	claimNotOwn              // a claim is refused to the process that is the owner by the row
	releaseUnfenced          // a release does not compare the epoch
	pollEnded                // a process looks for conversations of ended owners; one without an owner is claimed only by who delivers to it
	renewRevives             // a process that was ended may renew its lease
	eventsLast               // event rows are deleted after the inbox was read
	noEvent                  // a delivery does not wake the owner
	acknowledgeFirst         // a message is acknowledged before it is stored
	noDedupe                 // a message is stored each time that it is delivered
	resendUnasked            // a marked piece is sent without asking the platform
	noDeadline               // the sender does not check the deadline
	dropAwaitsNothing        // a process claims again while its earlier request is under way
	finishRepeated           // a transaction without an answer is repeated, as if it had failed
	reloadOnly               // after a transaction without an answer, the process reloads, and keeps its epoch

	// These two break nothing.
	releaseAnyway // a release does not look for events
	endedClaims   // a process that was ended may claim
)
