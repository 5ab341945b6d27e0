// Lines that a summary lost, for people to see: no model reads them.

package transcript

import (
	"fmt"
	"slices"

	"cairn/chat"
)

// DroppedLine is a line that is not in a summary's text: the messages contradict it, or a person removed or rewrote it. A
// later summary of the same messages does without those of people.
type DroppedLine struct {
	Text string `json:"text"`            // at most MaxLine characters
	Why  string `json:"why"`             // in words, for people and for the model that wrote it
	By   string `json:"by,omitempty"`    // the name of the person who removed or rewrote it; "": nobody, it was judged
	ByID string `json:"by_id,omitempty"` // the id of that person
}

func (l DroppedLine) String() string { return fmt.Sprintf("%q: %s", l.Text, l.Why) }

const (
	// MaxDropped is how many dropped lines a summary keeps: those of people first, of theirs the newest.
	MaxDropped = 12

	maxReason = 200 // characters
)

// Dropping returns the summary with dropped lines, each of which is there once.
func (sum Summary) Dropping(lines ...DroppedLine) Summary {
	all := slices.Clone(sum.DroppedLines)
	for _, l := range lines {
		l.Text = chat.Excerpt(l.Text, MaxLine)
		l.Why = chat.Excerpt(l.Why, maxReason)
		same := func(old DroppedLine) bool { return old.Text == l.Text }
		if l.By != "" {
			all = slices.DeleteFunc(all, same)
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, l)
		}
	}
	judged := slices.DeleteFunc(slices.Clone(all), func(l DroppedLine) bool { return l.By != "" })
	theirs := slices.DeleteFunc(all, func(l DroppedLine) bool { return l.By == "" })
	theirs = theirs[max(len(theirs)-MaxDropped, 0):]
	all = append(theirs, judged[:min(len(judged), MaxDropped-len(theirs))]...)
	if len(all) == 0 {
		all = nil
	}
	sum.DroppedLines = all
	return sum
}

// Removed returns the lines that people removed or rewrote in summaries.
func Removed(rows ...Summary) (lines []DroppedLine) {
	for _, row := range rows {
		for _, l := range row.DroppedLines {
			if l.By != "" {
				lines = append(lines, l)
			}
		}
	}
	return lines
}
