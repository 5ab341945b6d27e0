// A cache of the vectors of messages: reading them from SQLite takes longer than comparing them.

package memory

import (
	"slices"
	"sync"

	"cairn/memory/search"
	"cairn/memory/vector"
	"cairn/store"
)

// maxCached limits the bytes of cached vectors, of all conversations together: one of 100 000 messages with the longest vectors that a
// setting allows, of 512 numbers, or four with 128.
const maxCached = 64 << 20

// vectorCache keeps the vectors of the conversations that were asked last. It is safe for concurrent use.
type vectorCache struct {
	mu    sync.Mutex  // guards the fields below
	kept  []vectorRun // the last used last
	epoch int         // raised by drop: what a transaction read that began before is not kept
}

// vectorRun is the vectors of a conversation's messages, oldest first, without a gap. What is kept is never changed.
type vectorRun struct {
	of      runKey
	deleted int64 // see store.MessageVectors.Deleted: with another number, some are out of date
	seqs    []int64
	vectors []byte
	norms   []float64
	length  int // of one
}

type runKey struct{ conversation, encoder int64 }

// entryBytes are those of a vector's seq and norm.
const entryBytes = 16

func (r *vectorRun) size() int { return len(r.vectors) + entryBytes*len(r.seqs) }

// mostCompared returns how many vectors of a length a question is compared with: the newest that fit in the cache.
func mostCompared(length int) int { return min(examined, maxCached/(length+entryBytes)) }

// newest and oldest return the seq of that message; 0 and beyond all: there is none.
func (r *vectorRun) newest() int64 {
	if len(r.seqs) == 0 {
		return 0
	}
	return r.seqs[len(r.seqs)-1]
}

func (r *vectorRun) oldest() int64 {
	if len(r.seqs) == 0 {
		return store.MaxSeq + 1
	}
	return r.seqs[0]
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

// addReversed adds vectors that were read newest first.
func (r *vectorRun) addReversed(read vectorRun) {
	for i, seq := range slices.Backward(read.seqs) {
		r.add(seq, read.vectors[i*read.length:(i+1)*read.length])
	}
}

// now returns the number for keep. It must be called before the transaction that reads the vectors.
func (c *vectorCache) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// drop removes the run of a conversation that lacks vectors which were stored for messages from..to: newer and older ones are read by
// the next question, others are not.
func (c *vectorCache) drop(conversation, from, to int64) {
	c.dropIf(func(r vectorRun) bool {
		return r.of.conversation == conversation && from <= r.newest() && to >= r.oldest()
	})
}

// dropAll removes everything.
func (c *vectorCache) dropAll() { c.dropIf(func(vectorRun) bool { return true }) }

func (c *vectorCache) dropIf(is func(vectorRun) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.kept = slices.DeleteFunc(c.kept, is)
}

// get returns the cached run, or an empty one. A run that has deleted vectors is removed, even if nothing takes its place.
func (c *vectorCache) get(of runKey, deleted int64) vectorRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = slices.DeleteFunc(c.kept, func(r vectorRun) bool { return r.of.conversation == of.conversation && r.deleted < deleted })
	i := slices.IndexFunc(c.kept, func(r vectorRun) bool { return r.of == of && r.deleted == deleted })
	if i < 0 {
		return vectorRun{of: of, deleted: deleted}
	}
	return c.kept[i]
}

// keep keeps a run in place of others of its conversation, unless it may be out of date.
func (c *vectorCache) keep(r vectorRun, epoch int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isNewer := func(one vectorRun) bool { return one.of.conversation == r.of.conversation && one.deleted > r.deleted }
	if epoch != c.epoch || slices.ContainsFunc(c.kept, isNewer) {
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

// read returns the vectors of a conversation's messages, of the newest if there are many. It reads those from the database which are newer or
// older than the cached ones: the oldest messages of an import get theirs last.
func (c *vectorCache) read(of runKey, vectors store.MessageVectors, epoch int) vectorRun {
	run := c.get(of, vectors.Deleted())
	var newer, older vectorRun
	vectors.Each(of.encoder, run.newest()+1, store.MaxSeq, examined, newer.add) // newest first
	if len(run.seqs) > 0 && len(run.seqs) < mostCompared(run.length) {
		vectors.Each(of.encoder, 1, run.oldest()-1, examined-len(run.seqs), older.add)
	}
	if len(older.seqs) > 0 {
		known := run
		run = vectorRun{of: of, deleted: known.deleted, length: known.length}
		run.addReversed(older)
		run.seqs = append(run.seqs, known.seqs...)
		run.vectors = append(run.vectors, known.vectors...)
		run.norms = append(run.norms, known.norms...)
	}
	if len(newer.seqs) > 0 {
		run.seqs = slices.Clip(run.seqs)
		run.vectors = slices.Clip(run.vectors)
		run.norms = slices.Clip(run.norms)
		run.addReversed(newer)
	}
	if over := len(run.seqs) - mostCompared(run.length); over > 0 {
		run.seqs = run.seqs[over:]
		run.vectors = run.vectors[over*run.length:]
		run.norms = run.norms[over:]
	}
	c.keep(run, epoch)
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
