// All steps, in words: which are possible in a state, and where they lead.

package fleetmodel

import "fmt"

// class says when a step happens.
type class uint8

const (
	work   class = iota // sooner or later, if it stays possible
	choice              // perhaps: a fault, or what nobody may wait for
)

// processSteps are the steps of processes outside transactions, and what happens to processes.
var processSteps = []struct {
	words string
	class class
	do    func(m *model, s *state, p int) bool
}{
	{"starts", choice, (*model).start},
	{"starts, because no process runs", work, (*model).startOnly},
	{"renews its lease", work, (*model).renew},
	{"learns that it was ended: it drops everything, and registers anew", work, (*model).register},
	{"is ended: its lease has expired", work, (*model).end},
	{"stores the next message in the inbox", work, (*model).deliver},
	{"has a marked piece, and asks the platform for it", work, (*model).ask},
	{"checks the deadline of its lease", work, (*model).check},
	{"sends the piece, and the platform shows it", work, (*model).request},
	{"has waited for its request: the platform shows the piece", work, (*model).arrive},
	{"has drained, and ends", work, (*model).stop},
	{"begins to send the piece; the request takes long", choice, (*model).requestSlowly},
	{"begins to drain", choice, (*model).drain},
	{"is killed", choice, (*model).crash},
	{"is paused or cut off from the database until its lease expires", choice, (*model).pause},
	{"has an expired lease, because the database's clock jumps", choice, (*model).jump},
	{"compares the epoch, in a transaction of its own", work, (*model).compare},
	{"sees event rows, and looks at the inbox first", work, (*model).seeEvents},
	{"receives a message, and acknowledges it", work, (*model).receive},
}

// messageSteps are those of the platform and of the network.
var messageSteps = []struct {
	words string
	do    func(m *model, s *state, number uint8) bool
}{
	{"message %d is delivered again", (*model).deliverAgain},
	{"the reply to message %d arrives, for which nobody waits any more", (*model).arriveAdrift},
}

// otherSteps are the rest.
var otherSteps = []struct {
	words string
	do    func(m *model, s *state) bool
}{
	{"the killed owner is ended: its lease has expired", (*model).endKilled},
	{"the transaction without an answer is executed", (*model).land},
	{"the transaction without an answer is never executed", (*model).vanish},
}

// kind is the kind of a transaction.
type kind uint8

const (
	claiming kind = iota + 1
	releasing
	readingEvents
	takingUp
	finishing
	marking
	noting
	kinds // the end
)

// transactions are those of owners, and the claim.
var transactions = [kinds]struct {
	words string
	wants func(m *model, s *state, p int) (message uint8, wants bool)
	run   func(m *model, s *state, t transaction, me *process) bool
}{
	claiming:      {"claims the conversation", (*model).wantsClaim, (*model).claim},
	releasing:     {"releases the conversation", (*model).wantsRelease, (*model).release},
	readingEvents: {"reads and deletes the event rows", (*model).wantsEvents, (*model).readEvents},
	takingUp:      {"takes up the oldest message of the inbox, if there is one", (*model).wantsTakeUp, (*model).takeUp},
	finishing:     {"finishes the turn of message %d", (*model).wantsFinish, (*model).finish},
	marking:       {"marks the reply to message %d as sending", (*model).wantsSending, (*model).sending},
	noting:        {"notes the reply to message %d as sent", (*model).wantsSent, (*model).sent},
}

// step is one step from a state to the next.
type step struct {
	class   class
	process int // -1: none
	words   string
	message uint8
	lost    bool // the answer of the transaction is lost
	refused bool // the transaction was refused
}

func (t step) String() string {
	text := t.words
	if t.message != 0 {
		text = fmt.Sprintf(t.words, t.message)
	}
	if t.process >= 0 {
		text = name(t.process) + " " + text
	}
	switch {
	case t.lost:
		text += "; the answer is lost"
	case t.refused:
		text += ": refused, so it drops the conversation"
	}
	return text
}

// name is what a trace calls a process.
func name(p int) string { return string(rune('A' + p)) }

// each calls visit for each possible step, with the state after it, which is overwritten by the next one.
func (m *model) each(s *state, visit func(t step, next *state)) {
	next := &m.next
	for p := range int(m.processes) {
		for _, of := range processSteps {
			*next = *s
			if of.do(m, next, p) {
				m.judge(next)
				visit(step{class: of.class, process: p, words: of.words}, next)
			}
		}
		m.eachTransaction(s, p, visit)
	}
	for i := range m.messages {
		for _, of := range messageSteps {
			*next = *s
			if of.do(m, next, i+1) {
				m.judge(next)
				visit(step{process: -1, words: of.words, message: i + 1}, next)
			}
		}
	}
	for _, of := range otherSteps {
		*next = *s
		if of.do(m, next) {
			m.judge(next)
			visit(step{process: -1, words: of.words}, next)
		}
	}
}

// eachTransaction is each for the transactions of a process.
func (m *model) eachTransaction(s *state, p int, visit func(t step, next *state)) {
	next := &m.next
	if s.processes[p].row == absent {
		return
	}
	for kind := claiming; kind < kinds; kind++ {
		of := &transactions[kind]
		message, wants := of.wants(m, s, p)
		if !wants {
			continue
		}
		t := transaction{kind: kind, epoch: s.processes[p].epoch, message: message}
		if kind == claiming {
			t.by = ownerOf(p)
		}
		taken := step{process: p, words: of.words, message: message}
		if kind == releasing && !s.processes[p].draining {
			taken.class = choice
		}
		*next = *s
		me := &next.processes[p]
		if !of.run(m, next, t, me) {
			taken.refused = true
			m.drop(next, me)
		}
		m.judge(next)
		visit(taken, next)
		*next = *s
		if m.lose(next, p, t) {
			taken.class = choice
			taken.lost = true
			taken.refused = false
			m.judge(next)
			visit(taken, next)
		}
	}
}
