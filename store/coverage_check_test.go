package store_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// checkCoverage fails unless each message is in exactly one place: verbatim, or behind exactly one leaf or placeholder that is
// applied, or below rollups.
func checkCoverage(t check.Tester, c *store.Conversation) {
	t.Helper()
	verbatim := storetest.Map(peek(t, c).Messages, func(m chat.Message) string { return fmt.Sprint(m.Seq, "|", 0) })
	check.EqualAll(t, "messages, and how many rows they are behind", storetest.Rows(t, c.Store(), `WITH RECURSIVE shown (id, kind, low, high) AS (
				SELECT id, kind, from_seq, to_seq FROM compactions WHERE conversation = ?1 AND state = 'applied' UNION ALL
				SELECT c.id, c.kind, c.from_seq, c.to_seq FROM shown s JOIN compactions c ON c.parent = s.id
				WHERE s.kind = 'rollup' AND c.state = 'rolled_up')
			SELECT seq, (SELECT count(*) FROM shown WHERE kind <> 'rollup' AND seq BETWEEN low AND high) AS behind
			FROM messages WHERE conversation = ?1 AND deleted_at IS NULL AND (SELECT count(*) FROM shown WHERE kind <> 'rollup' AND seq BETWEEN low AND high) <> 1 ORDER BY seq`, c.ID()), verbatim)
	stored := storetest.StateOf(t, c)
	stored.Prepared = nil
	stored.Running = nil // tests start jobs that no engine would
	check.NoError(t, stored.Check())
}

// active returns all rows of a head, those of earlier sessions too, each inside its session.
func active(head transcript.Head) (rows []transcript.Summary) {
	for _, s := range head.Earlier {
		for _, row := range s.Rows {
			if row.From < s.From || row.To > s.To {
				panic(fmt.Sprintf("row %d-%d in the session %d-%d", row.From, row.To, s.From, s.To))
			}
		}
		rows = append(rows, s.Rows...)
	}
	return append(rows, head.Stack...)
}

// tiled reports whether the children cover [from, to] without gaps.
func tiled(state transcript.Snapshot, from, to int64, children []int64) bool {
	var rows []int64
	for _, row := range active(state.Head) {
		if row.From <= to && row.To >= from {
			rows = append(rows, row.ID)
		}
	}
	return slices.Equal(rows, children) && !slices.ContainsFunc(state.Messages, func(m chat.Message) bool { return from <= m.Seq && m.Seq <= to })
}

func (m *coverage) crash(rt *rapid.T) {
	if rapid.IntRange(0, 4).Draw(rt, "rarely") > 0 {
		return
	}
	state := load(m.t, m.c)
	check.NoError(rt, m.s.Close())
	m.s = m.open(m.dir)
	m.c = find(m.t, m.s, m.c.Name())
	m.jobs = nil
	again := load(m.t, m.c)
	check.Require(rt, reflect.DeepEqual(state, again), "before: %+v\nafter: %+v", state, again)
}

func (m *coverage) check(rt *rapid.T) {
	state := peek(m.t, m.c)
	left := int(m.taken) - len(m.gone)
	covered := 0
	for _, row := range active(state.Head) {
		covered += row.Messages
	}
	counts := check.Must(m.c.Transcript().Counts(ctx))(rt)
	counted := counts.Messages == left && counts.Waiting == m.arrived-int(m.taken)
	check.Require(rt, counted, "%d arrived, %d dequeued, counted %+v", m.arrived, m.taken, counts)
	verbatim := len(state.Messages)
	check.Require(rt, covered+verbatim == left, "%d covered and %d verbatim of %d: %s", covered, verbatim, left, storetest.Shape(state.Head.Stack))
	check.EqualAll(rt, "prepared", transcript.IDs(state.Prepared), m.preparedIDs())
	m.memories.check(rt, m.c)
}

// savedMemories models which memories a conversation must have, given what workers saved: each from
// messages that no worker has read before, and none before its job is stored.
type savedMemories struct {
	drafts int
	read   map[int64]bool   // messages that a worker has read
	kept   map[string]int64 // the expected memories, and the messages they come from
}

// draft makes a worker save one memory of a message; the job keeps it until it is stored.
func (s *savedMemories) draft(t check.Tester, j summarize.Job, seq int64) (content string) {
	t.Helper()
	s.drafts++
	number := strings.Map(func(digit rune) rune { return digit - '0' + 'a' }, fmt.Sprint(s.drafts)) // the message has no such number
	content = "fact in text x" + number
	check.NoError(t, check.ErrorOf(storetest.Call(j.Tools(20), "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, content, seq))))
	return content
}

// store records that the job of a worker over [from, to] was stored, with these drafts by the
// messages they come from. It returns the memories that are new.
func (s *savedMemories) store(from, to int64, drafts map[string]int64) (fresh []string) {
	for _, content := range slices.Sorted(maps.Keys(drafts)) {
		if seq := drafts[content]; !s.read[seq] {
			s.kept[content] = seq
			fresh = append(fresh, content)
		}
	}
	for seq := from; seq <= to; seq++ {
		s.read[seq] = true
	}
	return fresh
}

// forget records that a message was deleted.
func (s *savedMemories) forget(seq int64) {
	maps.DeleteFunc(s.kept, func(_ string, from int64) bool { return from == seq })
}

// check fails unless the conversation has exactly those memories.
func (s *savedMemories) check(t check.Tester, c *store.Conversation) {
	t.Helper()
	found := storetest.Rows(t, c.Store(), `SELECT m.content, s.message & 4294967295 FROM memories m JOIN memory_sources s ON s.memory = m.id
		WHERE m.conversation = ?`, c.ID())
	var want []string
	for content, seq := range s.kept {
		want = append(want, fmt.Sprint(content, "|", seq))
	}
	slices.Sort(found)
	slices.Sort(want)
	check.EqualAll(t, "memories", found, want)
}
