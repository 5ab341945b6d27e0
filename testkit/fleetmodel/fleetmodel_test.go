package fleetmodel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// searched visits all states, with a seeded fault or none.
func searched(t *testing.T, b Bounds, fault seeded) Result {
	t.Helper()
	m := check.Must(newModel(b, fault))(t)
	return check.Must(m.search(t.Context(), nil))(t)
}

func TestTheProtocolBreaksNoRule(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	for _, b := range []Bounds{
		{Processes: 1, Messages: 3, Crashes: 1, Pauses: 1, Lost: 1, Slow: 1},
		{Processes: 2, Messages: 2, Crashes: 2, Pauses: 2},
		{Processes: 2, Messages: 3, Crashes: 1, Pauses: 1, Drains: 1},
		{Processes: 2, Messages: 2, Crashes: 1, Pauses: 1, Lost: 1, Slow: 1},
		{Processes: 2, Messages: 1, Crashes: 1, Pauses: 1, Jumps: 1, Lost: 1, Drains: 1},
		{Processes: 3, Messages: 1, Crashes: 1, Pauses: 1, Jumps: 1, Slow: 1},
		{Processes: 3, Messages: 2, Crashes: 1, Pauses: 1, Lost: 1},
	} {
		t.Run(fmt.Sprintf("%+v", b), func(t *testing.T) {
			r := searched(t, b, none)
			check.Equal(t, "the broken rule", r.Broken.String(), "none")
			check.EqualAll(t, "its trace", r.Trace, nil)
			check.That(t, r.States > 10_000 && r.Transitions > r.States, "it searched only %+v", r)
		})
	}
}

// TestSeededFaultsAreFound: within the same bounds, the protocol without the fault breaks no rule.
func TestSeededFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  seeded
		bounds Bounds
		breaks Rule
	}{
		{"a turn is finished without the fence", finishUnfenced, Bounds{Pauses: 1}, Fenced},
		{"the epoch is compared in an earlier transaction", fenceBefore, Bounds{Pauses: 1}, Fenced},
		{"a release has no fence", releaseUnfenced, Bounds{Pauses: 1}, Fenced},
		{"an expired owner need not be ended", claimExpired, Bounds{Pauses: 1}, SentOnce},
		{"a claim keeps the epoch", claimKeepsEpoch, Bounds{Pauses: 1}, OneOwner},
		{"a process may not claim what it owns", claimNotOwn, Bounds{Lost: 1}, Answered},
		{"nobody looks for conversations without an owner", pollEnded, Bounds{Drains: 1}, Answered},
		{"a renewal revives an ended process", renewRevives, Bounds{Pauses: 1}, SentOnce},
		{"events are deleted after the inbox was read", eventsLast, Bounds{Messages: 3}, Answered},
		{"a delivery leaves no event", noEvent, Bounds{Messages: 2}, Answered},
		{"a message is acknowledged before it is stored", acknowledgeFirst, Bounds{Crashes: 1}, Kept},
		{"deliveries are not deduped", noDedupe, Bounds{}, AnsweredOnce},
		{"a marked piece is sent without asking", resendUnasked, Bounds{Crashes: 1}, SentOnce},
		{"the sender does not check the deadline", noDeadline, Bounds{Pauses: 1}, SentOnce},
		{"a claim does not await an earlier request", dropAwaitsNothing, Bounds{Lost: 1, Slow: 1}, SentOnce},
		{"a transaction without an answer is repeated", finishRepeated, Bounds{Lost: 1}, AnsweredOnce},
		{"a process without an answer keeps its epoch", reloadOnly, Bounds{Lost: 1}, Answered},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.bounds.Processes = 2
			c.bounds.Messages = max(c.bounds.Messages, 1)
			r := searched(t, c.bounds, c.fault)
			check.Equal(t, "the broken rule", r.Broken, c.breaks)
			check.That(t, len(r.Trace) == r.Depth+1, "%d steps for a state that is %d steps away", len(r.Trace), r.Depth)
			check.Lacks(t, "the trace", "\n"+strings.Join(r.Trace, "\n")+"\n", "\n\n")
			check.Equal(t, "the broken rule without the fault", searched(t, c.bounds, none).Broken, 0)
		})
	}
}

func TestTwoRulesOnlySaveWork(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	b := Bounds{Processes: 2, Messages: 2, Crashes: 1, Pauses: 2, Drains: 1}
	states := searched(t, b, none).States
	for _, without := range []seeded{releaseAnyway, endedClaims} {
		r := searched(t, b, without)
		check.Equal(t, "the broken rule", r.Broken, 0)
		check.That(t, r.States > states, "fault %d leads to no new states", without)
	}
}

func TestWhatSendsTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bounds Bounds
		twice  bool
	}{
		{Bounds{Pauses: 1}, true},
		{Bounds{Jumps: 1}, true},
		{Bounds{Crashes: 1, Slow: 1}, true},
		{Bounds{Crashes: 3, Drains: 1}, false},
		{Bounds{Lost: 1, Slow: 2, Drains: 1}, false},
		{Bounds{Crashes: 1, Lost: 2}, false},
	} {
		c.bounds.Processes = 2
		c.bounds.Messages = 1
		r := searched(t, c.bounds, none)
		check.That(t, r.Broken == 0 && (r.Twice > 0) == c.twice, "%+v: %d states with a reply shown twice, %v", c.bounds, r.Twice, r.Broken)
	}
}

// TestWorkEnds: without faults, no process goes in circles. So what has no dead ends answers every message.
func TestWorkEnds(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	for _, b := range []Bounds{
		{Processes: 2, Messages: 2, Crashes: 1, Pauses: 1, Drains: 1},
		{Processes: 2, Messages: 1, Crashes: 1, Pauses: 1, Lost: 1, Slow: 1},
	} {
		t.Run(fmt.Sprintf("%+v", b), func(t *testing.T) {
			m := check.Must(newModel(b, none))(t)
			seen := m.reachable()
			check.Equal(t, "states that are on no circle of work", m.inOrder(seen), seen.n)
		})
	}
}

// reachable returns all states.
func (m *model) reachable() *visited {
	seen := newVisited()
	first := m.first()
	seen.add(first.pack(), 0)
	var r Result
	for place := 0; place < seen.n; place++ {
		m.expand(seen, place, &r)
	}
	return seen
}

// inOrder counts the states that can be put in an order in which work only leads forward.
func (m *model) inOrder(seen *visited) (ordered int) {
	into := make([]int, seen.n) // work that leads into each state
	work := func(place int, visit func(to int)) {
		k := seen.at(place).key
		s := k.unpack()
		m.each(&s, func(t step, next *state) {
			if to := next.pack(); t.class == work && to != k {
				visit(int(seen.slots[seen.find(to)] - 1))
			}
		})
	}
	for place := range seen.n {
		work(place, func(to int) { into[to]++ })
	}
	var free []int
	for place, n := range into {
		if n == 0 {
			free = append(free, place)
		}
	}
	for ; len(free) > 0; ordered++ {
		place := free[len(free)-1]
		free = free[:len(free)-1]
		work(place, func(to int) {
			into[to]--
			if into[to] == 0 {
				free = append(free, to)
			}
		})
	}
	return ordered
}

func TestTraceIsInWords(t *testing.T) {
	r := searched(t, Bounds{Processes: 2, Messages: 1, Crashes: 1}, resendUnasked)
	check.EqualAll(t, "the trace", r.Trace, []string{
		"A stores the next message in the inbox",
		"A claims the conversation (owner: A, epoch 1)",
		"A takes up the oldest message of the inbox, if there is one",
		"A finishes the turn of message 1",
		"A marks the reply to message 1 as sending",
		"A checks the deadline of its lease",
		"A sends the piece, and the platform shows it",
		"A is killed (owner: a killed process, epoch 1)",
		"the killed owner is ended: its lease has expired (owner: an ended process, epoch 1)",
		"B claims the conversation (owner: B, epoch 2)",
		"B has a marked piece, and asks the platform for it",
		"B checks the deadline of its lease",
		"B sends the piece, and the platform shows it",
	})
}

// TestKeys: equal states have one key, and a state can be read from its key.
func TestKeys(t *testing.T) {
	m := check.Must(newModel(Bounds{Processes: 3, Messages: 3, Crashes: 7, Pauses: 7, Jumps: 7, Lost: 7, Slow: 7, Drains: 7}, none))(t)
	s := m.first()
	epochs := uint8(0)
	for range 500 {
		k := s.pack()
		again := k.unpack()
		check.Equal(t, "the key of an unpacked state", again.pack(), k)
		turned := s
		turned.processes = [MaxProcesses]process{s.processes[1], s.processes[2], s.processes[0]}
		for _, of := range []*owner{&turned.owner, &turned.late.by} {
			if *of >= running {
				*of = running + (*of-running+2)%3
			}
		}
		check.Equal(t, "the key with other names", turned.pack(), k)
		epochs = max(epochs, s.epoch)
		n := 0
		var chosen state
		m.each(&s, func(_ step, next *state) {
			n++
			if next.pack() != k && int(next.pack().hash())%n == 0 {
				chosen = *next
			}
		})
		if chosen == (state{}) {
			break
		}
		s = chosen
	}
	check.That(t, epochs > 3, "it has tried only %d epochs", epochs)
}

func TestBounds(t *testing.T) {
	for _, b := range []Bounds{{}, {Processes: 4, Messages: 1}, {Processes: 1}, {Processes: 1, Messages: 4}, {Processes: 1, Messages: 1, Lost: 8}, {Processes: 1, Messages: 1, Slow: -1}} {
		_, err := Search(t.Context(), b, nil)
		check.ErrorContains(t, fmt.Sprintf("%+v", b), err, "must be")
	}
}

func TestSearchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	r, err := Search(ctx, Bounds{Processes: 2, Messages: 3, Crashes: 7, Pauses: 7, Lost: 7}, func(sofar Result, ahead int) {
		calls++
		if calls == 3 {
			check.That(t, sofar.States > 0 && ahead > 0 && sofar.Depth > 0, "it reports %+v, %d", sofar, ahead)
			cancel()
		}
	})
	check.Error(t, err, context.Canceled)
	check.That(t, calls == 3 && r.Broken == 0, "%d reports, %v", calls, r.Broken)
}
