// A cache of the vectors of messages: reading them from SQLite takes longer than comparing them.

package memory

import (
	"slices"
	"sync"

	"cairn/memory/search"
	"cairn/memory/vector"
	"cairn/store"
)

// maxCached limits the bytes of cached vectors: one conversation of 100 000 messages with 512 numbers each, or four with 128.
const maxCached = 64 << 20

// vectorCache keeps the vectors of the conversations that were asked last. It is safe for concurrent use.
type vectorCache struct {
	mu      sync.Mutex  // guards the fields below
	kept    []vectorRun // the last used last
	dropped int         // how often vectors were dropped: what was read before is not kept after
}

// vectorRun is the vectors of a conversation's messages, oldest first. What is kept is never changed.
type vectorRun struct {
	of      runKey
	seqs    []int64
	vectors []byte
	norms   []float64
	length  int // of one
}

// runKey says what is in a run. version changes with each edit and deletion of a message, and each opt-out.
type runKey struct {
	conversation string
	encoder      int64
	version      string
}

func (r vectorRun) size() int { return len(r.vectors) + 16*len(r.seqs) }

// newest returns the seq of the newest message; 0: there is none.
func (r vectorRun) newest() int64 {
	if len(r.seqs) == 0 {
		return 0
	}
	return r.seqs[len(r.seqs)-1]
}

// add adds a vector behind the others; one of another length is left out.
func (r *vectorRun) add(seq int64, v []byte) {
	if r.length == 0 {
		r.length = len(v)
	}
	if len(v) == r.length {
		r.seqs = append(r.seqs, seq)
		r.vectors = append(r.vectors, v...)
		r.norms = append(r.norms, vector.Norm(v))
	}
}

// drop removes the vectors of a conversation from a seq on backwards; "": everything.
func (c *vectorCache) drop(conversation string, from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped++
	c.kept = slices.DeleteFunc(c.kept, func(r vectorRun) bool {
		return conversation == "" || r.of.conversation == conversation && from <= r.newest()
	})
}

// get returns the cached run of a key, which may be empty, and what keep needs to know.
func (c *vectorCache) get(of runKey) (r vectorRun, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.kept, func(r vectorRun) bool { return r.of == of })
	if i < 0 {
		return vectorRun{of: of}, c.dropped
	}
	return c.kept[i], c.dropped
}

// keep keeps a run with what was read since get, in place of others of its conversation.
func (c *vectorCache) keep(r vectorRun, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dropped != c.dropped || r.size() > maxCached {
		return
	}
	c.kept = slices.DeleteFunc(c.kept, func(one vectorRun) bool { return one.of.conversation == r.of.conversation })
	c.kept = append(c.kept, r)
	total := 0
	for i, one := range slices.Backward(c.kept) {
		total += one.size()
		if total > maxCached {
			c.kept = slices.Delete(c.kept, 0, i+1)
			return
		}
	}
}

// read returns the vectors of a conversation's messages, of the newest ones if there are many.
func (c *vectorCache) read(conversation string, encoder int64, vectors store.MessageVectors) vectorRun {
	known, dropped := c.get(runKey{conversation, encoder, vectors.Version()})
	fresh := vectorRun{}
	vectors.Each(encoder, known.newest()+1, examined, fresh.add) // newest first
	run := known
	if len(fresh.seqs) > 0 {
		run.seqs = slices.Clip(run.seqs)
		run.vectors = slices.Clip(run.vectors)
		run.norms = slices.Clip(run.norms)
	}
	for i, seq := range slices.Backward(fresh.seqs) {
		run.add(seq, fresh.vectors[i*fresh.length:(i+1)*fresh.length])
	}
	if over := len(run.seqs) - examined; over > 0 {
		run.seqs = run.seqs[over:]
		run.vectors = run.vectors[over*run.length:]
		run.norms = run.norms[over:]
	}
	c.keep(run, dropped)
	return run
}

// compare returns the meaning of the messages before a seq.
func (r vectorRun) compare(with []byte, before int64) *search.Meaning {
	n, _ := slices.BinarySearch(r.seqs, before)
	if len(with) != r.length {
		return nil
	}
	return search.NewMeaning(r.seqs[:n], vector.Nearness(with, r.vectors, r.norms[:n]), true)
}
