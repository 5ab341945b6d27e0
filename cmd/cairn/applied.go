// Applied compactions, as the transcript shows them.
package main

import (
	"fmt"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/store"
)

// appliedLine is what one step of compaction applied, in the output.
type appliedLine struct {
	Compacted []store.ListedCompaction `json:"compacted"`
	Time      time.Time                `json:"time"`
	Before    int                      `json:"before_tokens"` // 0: not measured
	After     int                      `json:"after_tokens"`
}

func (l appliedLine) String() string {
	tokens := ""
	if l.Before > 0 {
		tokens = fmt.Sprintf(" %d→%d tokens", l.Before, l.After)
	}
	var rows []string
	for _, r := range l.Compacted {
		undone := ""
		if r.State == string(compactor.Undone) {
			undone = ", undone later"
		}
		rows = append(rows, fmt.Sprintf("#%d to #%d, %d messages (%s %d by %s, %s%s)", r.From, r.To, r.Messages, r.Kind, r.ID, r.By, r.Trigger, undone))
	}
	return fmt.Sprintf("--  %s  compacted%s: %s", moment(l.Time), tokens, strings.Join(rows, "; "))
}
