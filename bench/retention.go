package main

import (
	"context"
	"fmt"
	"slices"

	"cairn/simulate"
)

const retentionHelp = `Retention imports each recording of DIR as "cairn import" does, without a model, into windows of the
given sizes. Then it takes the questions that only messages outside the window answer, and measures
how much of the answers the context still has.

answer    share of the words of the answer that are in the context: stems, without stop words
evidence  share of the messages with the answer that are in the context: two thirds of the words
          of one of their sentences, weighted by rarity, are in one line under the author's name;
          sentences of fewer than three words do not count

The context is what the next request shows. A search adds ten memories or ten messages. A sliding
window shows the newest lines "Name: text" that fit. All means are over the questions. The targets
are for a window of 8192.

` + recordingsHelp

func newRetention() *benchmark {
	var windows []int
	b := newBenchmark("retention DIR", "Measure what a long conversation retains without a model", retentionHelp, func(ctx context.Context, s *screen, dirs []string) (result, error) {
		return measureRetention(ctx, s, dirs[0], windows)
	})
	b.integers(&windows, "window", []int{4096, 8192, 16384}, 4096, 1_000_000, "`N,…` tokens of the windows")
	return b
}

// targetWindow is the window for which there are targets.
const targetWindow = 8192

// retained is the result.
type retained struct {
	Windows []windowed `json:"windows"`
	targets
}

// windowed is the result for one window.
type windowed struct {
	Window        int       `json:"window"`
	All           keeping   `json:"all"`
	Conversations []keeping `json:"conversations"`
}

// keeping is what was retained of a conversation, or of all: as shares.
type keeping struct {
	Name       string         `json:"name"`
	Questions  int            `json:"questions"`
	Sliding    simulate.Share `json:"sliding_window"`
	Context    simulate.Share `json:"context"`
	Memories   simulate.Share `json:"with_memory_search"`
	Transcript simulate.Share `json:"with_transcript_search"`
}

// add adds other's sums.
func (k *keeping) add(other keeping) {
	k.Questions += other.Questions
	for i, sum := range k.parts() {
		sum.Add(*other.parts()[i])
	}
}

func (k *keeping) parts() []*simulate.Share {
	return []*simulate.Share{&k.Sliding, &k.Context, &k.Memories, &k.Transcript}
}

// mean converts sums into shares.
func (k keeping) mean() keeping {
	for _, part := range k.parts() {
		part.Mean()
	}
	return k
}

func measureRetention(ctx context.Context, s *screen, dir string, windows []int) (r retained, err error) {
	all, err := readRecordings(dir)
	if err != nil {
		return r, err
	}
	for _, window := range windows {
		w := windowed{Window: window, All: keeping{Name: "all"}}
		for _, recording := range all {
			s.progress("a window of %d: %s", window, recording.name)
			here, err := retain(ctx, recording, window)
			if err != nil {
				return r, fmt.Errorf("%s in a window of %d: %w", recording.name, window, err)
			}
			w.All.add(here)
			w.Conversations = append(w.Conversations, here.mean())
		}
		w.All = w.All.mean()
		r.Windows = append(r.Windows, w)
	}
	r.judge()
	return r, nil
}

// judge compares the result with the targets, if their window was measured.
func (r *retained) judge() {
	i := slices.IndexFunc(r.Windows, func(w windowed) bool { return w.Window == targetWindow })
	if i < 0 {
		return
	}
	k := r.Windows[i].All
	for _, t := range []struct {
		name             string
		kept             simulate.Share
		answer, evidence float64
	}{
		{"context", k.Context, 70, 45},
		{"with memory search", k.Memories, 72, 50}, // few are kept: messages are what retains the rest
		{"with transcript search", k.Transcript, 86, 90},
	} {
		r.Targets = append(r.Targets,
			atLeast(t.name+", answer", 100*t.kept.Answer, t.answer), atLeast(t.name+", evidence", 100*t.kept.Evidence, t.evidence))
	}
}
