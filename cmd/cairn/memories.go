// cairn memories list, search; how lists of memories are printed.

package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/connector/terminal"
	"cairn/memory"
	"cairn/store"
)

func newMemories(a *app) *cobra.Command {
	list := a.listing(&cobra.Command{
		Use:   "list",
		Short: "List memories, newest first",
		Example: `  cairn memories list --kind decision --since 30d
  cairn memories list --about Ada --until 2026-04 --sort importance
  cairn memories list --limit 100000 --csv > memories.csv
  cairn memories list --channel garden --state all --json`,
	})
	search := a.listing(&cobra.Command{
		Use:   "search WORDS…",
		Short: "Search memories by words, best match first",
		Example: `  cairn memories search green tea
  cairn memories search "green tea" --channel garden --json`,
		Args: args(1, -1),
	})
	all := []*cobra.Command{list, search, newMemoriesShow(a), newMemoriesStats(a), newMemoriesExport(a), newMemoriesImport(a)}
	for _, f := range stateChanges {
		all = append(all, newStateChange(a, f))
	}
	cmd := group("memories", "List, search, count, show, forget, restore, purge, pin, export and import memories", all...)
	cmd.Long = `Memories are facts, preferences, decisions and the like from what people said. All of these
commands work while the bot runs, which then searches and makes the changes itself.

Kinds: identity, goal, decision, todo, preference, fact, event, observation.

States: active ones are recalled; expired ones have reached their end; both are current. Known
ones are active, or were true before another value took their place: where somebody lived before.
Superseded ones were replaced by a newer fact, replaced ones by those of a better summary;
forgotten ones were forgotten on request. They stay until they are purged.`
	cmd.Example = `  cairn memories list --kind preference --since 30d
  cairn memories search "green tea" --channel garden --json
  cairn memories stats --since 30d
  cairn memories show 12
  cairn memories forget 12
  cairn memories export --format markdown memories.md`
	return cmd
}

// selection has the flags that select memories and the output format.
type selection struct {
	memory.Filter
	channel, since, until string
	csv                   bool
}

func (s *selection) filterFlags(cmd *cobra.Command, state string) {
	f := cmd.Flags()
	f.StringVar(&s.channel, "channel", "", "only those of this channel, by `NAME` (default: all)")
	s.State = state
	f.Func("kind", "only those of this `KIND` (default: all)", oneOf(&s.Kind, memory.Kinds))
	f.Func("state", "only those in this `STATE`: "+strings.Join(memory.States, ", ")+" (default: "+state+")", oneOf(&s.State, memory.States))
	f.StringVar(&s.since, "since", "", "only those said since `TIME`"+sinceForms)
	f.StringVar(&s.until, "until", "", "only those said until `TIME`; a day or month is included in full: 2026-05-08, 2026-05, 7d (default: now)")
	f.StringVar(&s.About, "about", "", "only those about this person, by `NAME`, a part of it or id (default: everybody)")
}

// sinceForms ends the help of --since.
const sinceForms = ": 2026-05-08, 2026-05-08T15:00Z, 36h, 7d, yesterday (default: all time)"

// timeOf parses a flag; "" is the zero time. A day starts in the time zone of the settings.
func timeOf(cmd *cobra.Command, flag, text string, parse func(string, time.Time) (time.Time, error)) (t time.Time, err error) {
	if text == "" {
		return t, nil
	}
	t, err = parse(text, time.Now())
	if err != nil {
		err = wrongUse(cmd, fmt.Errorf("--%s: %w", flag, err))
	}
	return t, err
}

// checkTimes checks --since and --until, which the bot reads in its time zone.
func (s selection) checkTimes(cmd *cobra.Command) error {
	_, sinceErr := timeOf(cmd, "since", s.since, memory.Ago)
	_, untilErr := timeOf(cmd, "until", s.until, memory.Until)
	return cmp.Or(sinceErr, untilErr)
}

// withFilter calls do with a selection as the filter of the store; the selection's channel must exist.
func (a *app) withFilter(cmd *cobra.Command, s selection, do func(*store.Store, memory.Filter) error) error {
	return a.withPast(cmd, s.since, s.channel, func(db *store.Store, since time.Time, conversation string) (err error) {
		s.Since = since
		s.Conversation = conversation
		s.Until, err = timeOf(cmd, "until", s.until, memory.Until)
		if err != nil {
			return err
		}
		return do(db, s.Filter)
	})
}

// listing completes a command that lists memories with its arguments as the query.
func (a *app) listing(cmd *cobra.Command) *cobra.Command {
	var s selection
	f := a.withJSON("one JSON object per line", cmd).Flags()
	s.filterFlags(cmd, "current")
	f.Func("sort", "sort by `KEY`: "+strings.Join(memory.Sorts, ", ")+" (default: said; for search, best first)", oneOf(&s.Sort, memory.Sorts))
	f.IntVar(&s.Limit, "limit", 20, "at most `N` of them")
	f.IntVar(&s.Offset, "offset", 0, "skip the first `N`")
	f.BoolVar(&s.csv, "csv", false, "print comma-separated values, for spreadsheets")
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if s.Limit < 1 || s.Offset < 0 {
			return wrongUse(cmd, fmt.Errorf("--limit must be at least 1 and --offset at least 0"))
		}
		if s.csv && a.json {
			return wrongUse(cmd, errors.New("--csv or --json: choose one"))
		}
		s.Query = strings.Join(words, " ")
		return a.list(cmd, s)
	}
	return cmd
}

// memoryPage has those of the selected memories that are shown.
type memoryPage struct {
	memories []memory.Memory
	total    int
}

func (a *app) list(cmd *cobra.Command, s selection) error {
	if err := s.checkTimes(cmd); err != nil {
		return err
	}
	here := func() (p memoryPage, err error) {
		err = a.withFilter(cmd, s, func(db *store.Store, filter memory.Filter) (err error) {
			p.memories, p.total, err = memory.In(db).List(cmd.Context(), filter)
			return err
		})
		return p, err
	}
	read := here
	if s.Query != "" { // the bot may search by meaning, too
		read = func() (memoryPage, error) {
			return reading(cmd.Context(), a, func(bot *otherBot) (memoryPage, error) { return bot.search(cmd.Context(), s) }, here)
		}
	}
	page, err := read()
	if err != nil {
		return err
	}
	if err := a.showMemories(page.memories, s); err != nil {
		return err
	}
	switch more := page.total - s.Offset - len(page.memories); {
	case more > 0:
		fmt.Fprintf(a.err, "%d more; --limit and --offset show them\n", more)
	case page.total == 0:
		fmt.Fprintln(a.err, "no memories found")
	case len(page.memories) == 0:
		fmt.Fprintf(a.err, "no more: there are %d in all\n", page.total)
	}
	return nil
}

// showMemories prints memories in the selection's format.
func (c *console) showMemories(memories []memory.Memory, s selection) error {
	if s.csv {
		return c.memoriesAsCSV(memories)
	}
	return showTable(c, "ID KIND SAID BY ABOUT MEMORY CHANNEL NOTES", memories, func(m memory.Memory) []string {
		about := m.About
		channel := m.Conversation
		if about == m.Speaker {
			about = ""
		}
		if s.channel != "" {
			channel = ""
		}
		var notes []string // what is unusual
		if m.Pinned {
			notes = append(notes, "pinned")
		}
		switch {
		case m.Upcoming:
			notes = append(notes, "not before "+m.Since)
		case m.Since != "":
			notes = append(notes, "since "+m.Since)
		}
		if m.State != "active" {
			notes = append(notes, m.State)
		}
		if until := cmp.Or(m.Ended, m.Until); until != "" {
			notes = append(notes, "until "+until)
		}
		if m.Doubt() == "in doubt" {
			notes = append(notes, "in doubt")
		}
		return []string{unlessZero(m.ID), m.Kind, m.SaidAt.Local().Format(time.DateOnly), m.Speaker, about, m.Content, channel, strings.Join(notes, ", ")}
	})
}

// memoriesAsCSV writes memories for spreadsheets: a header, then one record each.
func (c *console) memoriesAsCSV(memories []memory.Memory) error {
	w := csv.NewWriter(c.out)
	_ = w.Write([]string{ // errors are kept until Flush
		"id", "channel", "kind", "content", "importance", "speaker", "about", "saved_by", "state", "pinned",
		"confirmed", "said_at", "saved_at", "expires_at", "superseded_by", "compaction",
		"attribute", "value", "since", "until", "in_doubt",
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
			cellText(m.Attribute), cellText(m.Value), m.Since, cmp.Or(m.Ended, m.Until), strconv.FormatBool(m.InDoubt),
		})
	}
	w.Flush()
	return w.Error()
}

// cellText makes text safe for a spreadsheet: an apostrophe in front of what would start a formula.
func cellText(text string) string {
	text = terminal.Printable(text)
	if text != "" && strings.ContainsRune("=+-@\t\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
