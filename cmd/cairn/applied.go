// Applied compactions, as the transcript shows them.
package main

import (
	"fmt"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/store"
)

// appliedLine is an applied compaction in the output.
type appliedLine struct {
	Compacted []appliedRow `json:"compacted"`
	Time      time.Time    `json:"time"`
	Before    int          `json:"before_tokens"` // 0: not measured
	After     int          `json:"after_tokens"`
}

type appliedRow struct {
	ID       int64             `json:"id"`
	Kind     compactor.Kind    `json:"kind"`
	By       compactor.By      `json:"by"`
	Trigger  compactor.Trigger `json:"trigger"`
	From     int64             `json:"from_seq"`
	To       int64             `json:"to_seq"`
	Messages int               `json:"messages"`
	Undone   bool              `json:"undone,omitempty"` // undone later
}

func appliedOf(l store.AppliedCompaction) appliedLine {
	all := appliedLine{Time: l.At.UTC(), Before: l.Before, After: l.After}
	for _, r := range l.Rows {
		all.Compacted = append(all.Compacted, appliedRow{
			ID: r.ID, Kind: r.Kind, By: r.By, Trigger: r.Trigger, From: r.From, To: r.To, Messages: r.Messages, Undone: r.State == compactor.Undone,
		})
	}
	return all
}

func (l appliedLine) String() string {
	tokens := ""
	if l.Before > 0 {
		tokens = fmt.Sprintf(" %d→%d tokens", l.Before, l.After)
	}
	var rows []string
	for _, r := range l.Compacted {
		undone := ""
		if r.Undone {
			undone = ", taken back later"
		}
		rows = append(rows, fmt.Sprintf("#%d to #%d, %d messages (%s %d by %s, %s%s)", r.From, r.To, r.Messages, r.Kind, r.ID, r.By, r.Trigger, undone))
	}
	return fmt.Sprintf("--  %s  compacted%s: %s", moment(l.Time), tokens, strings.Join(rows, "; "))
}
