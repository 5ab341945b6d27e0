// Output formats of a list of memories: a table, JSON, CSV.

package main

import (
	"cmp"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"cairn/memory"
	"cairn/terminal"
)

// showMemories prints memories in the selection's format.
func (a *app) showMemories(memories []memory.Memory, s selection) error {
	if s.csv {
		return a.memoriesAsCSV(memories)
	}
	var rows []row
	for _, m := range memories {
		rows = append(rows, memoryCells{Memory: m, named: s.channel == ""})
	}
	return a.showTable("ID KIND SAID BY ABOUT MEMORY CHANNEL NOTES", rows)
}

// memoryCells is a memory as a row of a table.
type memoryCells struct {
	memory.Memory
	named bool // whether the row names its channel
}

func (m memoryCells) cells() []string {
	about, channel := "", ""
	if m.About != m.Speaker {
		about = m.About
	}
	if m.named {
		channel = m.Conversation
	}
	var notes []string // what is unusual
	if m.Pinned {
		notes = append(notes, "pinned")
	}
	if m.State != "active" {
		notes = append(notes, m.State)
	}
	return []string{
		strconv.FormatInt(m.ID, 10), m.Kind, m.SaidAt.Local().Format(time.DateOnly), m.Speaker,
		about, m.Content, channel, strings.Join(notes, ", "),
	}
}

// memoriesAsCSV writes memories for spreadsheets: a header, then one record each.
func (a *app) memoriesAsCSV(memories []memory.Memory) error {
	w := csv.NewWriter(a.out)
	_ = w.Write([]string{ // errors are kept until Flush
		"id", "channel", "kind", "content", "importance", "speaker", "about", "saved_by", "state", "pinned",
		"confirmed", "said_at", "saved_at", "expires_at", "superseded_by", "compaction",
	})
	for _, m := range memories {
		expires := ""
		if !m.Expires.IsZero() {
			expires = m.Expires.UTC().Format(time.RFC3339)
		}
		_ = w.Write([]string{
			unlessZero(m.ID), cellText(m.Conversation), m.Kind, cellText(m.Content), strconv.FormatFloat(m.Importance, 'g', -1, 64),
			cellText(m.Speaker), cellText(cmp.Or(m.About, m.Speaker)), m.By, m.State, strconv.FormatBool(m.Pinned),
			strconv.Itoa(m.Confirmed), m.SaidAt.UTC().Format(time.RFC3339), m.SavedAt.UTC().Format(time.RFC3339), expires,
			unlessZero(m.SupersededBy), unlessZero(m.Compaction),
		})
	}
	w.Flush()
	return w.Error()
}

// cellText makes text safe for a spreadsheet: text that would start a formula gets an apostrophe in
// front.
func cellText(text string) string {
	text = terminal.Printable(text)
	if text != "" && strings.ContainsRune("=+-@\t\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
