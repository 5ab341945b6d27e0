// cairn channels, context, transcript, compactions: the conversations, what is in one, and what was summarized.

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/config"
	"cairn/connector/terminal"
	"cairn/store"
)

func newChannels(a *app) *cobra.Command {
	return a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "channels [--json]",
		Short: "List the conversations",
		Long: `List the conversations, the one with the newest message first: the name for --channel, and the
channel's name on Discord or Slack. It works while the bot runs.`,
		Example: `  cairn channels
  cairn channels --json | jq -r .channel`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSharedStore(cmd.Context(), func(db *store.Store) error {
				all, _, err := db.Places(cmd.Context(), "", -1, 0)
				if err != nil {
					return err
				}
				if len(all) == 0 {
					fmt.Fprintln(a.err, "no conversations yet")
				}
				return showTable(&a.console, "CHANNEL MESSAGES LAST NAME", all, func(l store.Place) []string {
					last := map[bool]string{true: "-", false: moment(l.Last)}[l.Last.IsZero()]
					return []string{l.Channel, fmt.Sprint(l.Messages), last, l.Name}
				})
			})
		},
	})
}

// defaultTo is the help of --channel where find chooses.
const defaultTo = "`NAME` of the channel (default: the only one, else general); cairn channels lists them"

// find returns a conversation; if name is empty, the only one with messages, else the terminal's default.
func find(ctx context.Context, db *store.Store, name string) (*store.Conversation, error) {
	if name == "" {
		all, _, err := db.Places(ctx, "", -1, 0)
		if err != nil {
			return nil, err
		}
		used := namesOf(slices.DeleteFunc(all, func(p store.Place) bool { return p.Messages == 0 }))
		name = defaultChannel
		switch {
		case len(used) == 1:
			name = used[0]
		case len(used) > 1 && !slices.Contains(used, terminal.Name+":"+defaultChannel):
			return nil, fmt.Errorf("which channel? name one with --channel: %s", listNames(used))
		}
	}
	full, err := conversationName(name)
	if err != nil {
		return nil, err
	}
	conversation, err := db.Find(ctx, full)
	if errors.Is(err, store.ErrNotFound) {
		err = notFound(ctx, db, "channel "+name)
	}
	return conversation, err
}

// notFound returns an error about a name, with some of those that exist.
func notFound(ctx context.Context, db *store.Store, name string) error {
	known, _, err := db.Places(ctx, "", maxNames, 0)
	return cmp.Or(err, fmt.Errorf("%s: %w: %s", name, store.ErrNotFound, listNames(namesOf(known))))
}

func namesOf(all []store.Place) (names []string) {
	for _, p := range all {
		names = append(names, p.Channel)
	}
	return names
}

const maxNames = 10 // in an error

func listNames(known []string) string {
	if len(known) == 0 {
		return "there is none yet, talk to the bot first"
	}
	return "known: " + strings.Join(known[:min(len(known), maxNames)], ", ")
}

// conversationName returns the full name of a channel; the terminal has those without a connector.
func conversationName(name string) (string, error) {
	connector, _, named := strings.Cut(name, ":")
	if named && slices.Contains([]string{"discord", "slack", config.WebName, store.TaskConnector}, connector) {
		return name, nil
	}
	full, err := terminal.Conversation(name)
	if err != nil {
		err = usage(err)
	}
	return full, err
}

// terminalChannel returns the full name of a channel of the terminal.
func terminalChannel(name string) (string, error) {
	full, err := conversationName(name)
	if err == nil && !strings.HasPrefix(full, terminal.Name+":") {
		err = usage(fmt.Errorf("--channel %s: only channels of the terminal can be used here; name one without a prefix", name))
	}
	return full, err
}

func newContext(a *app) *cobra.Command {
	var name string
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "context [--channel NAME] [--json]",
		Short: "Show how full a channel's context window is",
		Long: `Show the tokens of a channel's next request, the window, model usage and cost, and the
summaries, oldest first. While the bot runs, it says so itself. Otherwise the settings of this shell
count; if they name no model, it is the one that answered last.

The savings from summaries are an estimate: for each request with a summary, the tokens of the
messages behind it minus its own, at the price of cached input.`,
		Example: `  cairn context
  cairn context --channel garden --json | jq .used_pct`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			now, err := reading(ctx, a,
				func(bot *otherBot) (report.Context, error) { return bot.context(ctx, name) },
				func() (report.Context, error) { return a.readContext(ctx, name) })
			if err != nil {
				return err
			}
			return a.show(a.out, now)
		},
	})
	cmd.Flags().StringVar(&name, "channel", "", defaultTo)
	return cmd
}

// readContext reads what cairn context shows from the database, with the settings of this shell.
func (a *app) readContext(ctx context.Context, name string) (now report.Context, err error) {
	at := time.Now()
	err = a.withAgent(ctx, name, func(db *store.Store, conversation *store.Conversation, agent channel.Agent) (err error) {
		now, err = channel.ReadContext(ctx, conversation, agent)
		if err != nil {
			return err
		}
		money := a.settings.Money()
		used, err := db.Usage(ctx, access.MonthStart(at))
		if err != nil {
			return err
		}
		now.Usage, err = channel.ReadSpending(ctx, conversation, agent, money, money.Budgets(used, at)...)
		return err
	})
	return now, err
}

const page = 500

func newTranscript(a *app) *cobra.Command {
	var name string
	cmd := a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "transcript [--channel NAME] [--json]",
		Short: "Print every message of a channel",
		Long: `Print every message of a channel verbatim, oldest first, including those that were summarized. A
tool call is one short line. A line marks each compaction, with the tokens used before and after;
with --json it is an object with the key "compacted". It works while the bot runs.`,
		Example: `  cairn transcript --channel garden | less
  cairn transcript --json | jq -r 'select(.author == "Ada").text'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.transcript(cmd, name) },
	})
	cmd.Flags().StringVar(&name, "channel", "", defaultTo)
	return cmd
}

func (a *app) transcript(cmd *cobra.Command, name string) error {
	return a.withConversation(cmd.Context(), name, func(db *store.Store, conversation *store.Conversation) error {
		out := bufio.NewWriter(a.out)
		applied, _, err := db.Compactions(cmd.Context(), store.CompactionFilter{Conversation: conversation.Name(), Applied: true})
		if err != nil {
			return err
		}
		steps := store.StepsOf(applied)
		before := func(seq int64) (err error) { // prints the compactions applied before the message with this seq
			for ; err == nil && len(steps) > 0 && steps[0].Next <= seq; steps = steps[1:] {
				s := steps[0]
				err = a.show(out, appliedLine{s.All, s.Time.UTC(), s.BeforeTokens, s.AfterTokens})
			}
			return err
		}
		from := int64(1)
		for {
			messages, err := conversation.Transcript().Page(cmd.Context(), from, page)
			if err != nil {
				return err
			}
			for _, m := range messages {
				from = m.Seq + 1
				err := before(m.Seq)
				if r := chat.RecordOf(m); err == nil && (a.json || !r.Empty()) {
					err = a.show(out, r)
				}
				if err != nil {
					return err
				}
			}
			if len(messages) < page {
				return errors.Join(before(math.MaxInt64), out.Flush())
			}
		}
	})
}

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
		undone := map[bool]string{true: ", undone later"}[r.State == string(compactor.Undone)]
		rows = append(rows, fmt.Sprintf("#%d to #%d, %s (%s %d by %s, %s%s)", r.From, r.To, counted(r.Messages, "message", "messages"), r.Kind, r.ID, r.By, r.Trigger, undone))
	}
	return fmt.Sprintf("--  %s  compacted%s: %s", moment(l.Time), tokens, strings.Join(rows, "; "))
}

func newCompactions(a *app) *cobra.Command {
	var channel, state, since string
	var limit int
	cmd := a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "compactions [--channel NAME] [--state STATE] [--since TIME] [--json]",
		Short: "List compactions: when, why, what they replaced, and how much they freed",
		Long: `List compactions, newest last, with the tokens used before and after (of a rollup: those of the
summaries it replaced, and its own), and how many seconds the summary took. --json prints more. It
works while the bot runs.

Kinds: a leaf summarizes messages, a rollup summarizes summaries, a placeholder replaces
messages that nobody has summarized yet. States: ` + strings.Join(store.CompactionStates[:4], ", ") + `,
` + strings.Join(store.CompactionStates[4:], ", ") + `.`,
		Example: `  cairn compactions --since 7d
  cairn compactions --state failed
  cairn compactions --channel garden --json | jq 'select(.trigger == "emergency") | .time'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return wrongUse(cmd, errors.New("--limit must be at least 0"))
			}
			return a.withPast(cmd, since, channel, func(db *store.Store, from time.Time, conversation string) error {
				return a.showCompactions(cmd.Context(), db, store.CompactionFilter{State: state, Limit: limit, Since: from, Conversation: conversation})
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&channel, "channel", "", "only those of this channel, by `NAME` (default: all)")
	flags.Func("state", "only those in this `STATE` (default: all)", oneOf(&state, store.CompactionStates))
	flags.StringVar(&since, "since", "", "only those since `TIME`"+sinceForms)
	flags.IntVar(&limit, "limit", 0, "only the newest `N` (default: all)")
	return cmd
}

func (c *console) showCompactions(ctx context.Context, db *store.Store, f store.CompactionFilter) error {
	all, total, err := db.Compactions(ctx, f)
	if err != nil {
		return err
	}
	several := slices.ContainsFunc(all, func(one store.ListedCompaction) bool { return one.Channel != all[0].Channel })
	err = showTable(c, "ID TIME CHANNEL TRIGGER KIND STATE SPAN BEFORE AFTER SEC BY ERROR", all, func(one store.ListedCompaction) []string {
		channel := ""
		seconds := ""
		before := one.BeforeTokens
		after := one.AfterTokens
		if several {
			channel = one.Channel
		}
		if one.Seconds > 0 {
			seconds = secondsOf(one.Seconds)
		}
		if one.FoldedTokens > 0 { // what was applied with it freed the rest
			before = one.FoldedTokens
			after = one.SummaryTokens
		}
		return []string{
			strconv.FormatInt(one.ID, 10), moment(one.Time), channel, one.Trigger, one.Kind, one.State, fmt.Sprintf("#%d-%d", one.From, one.To),
			unlessZero(before), unlessZero(after), seconds, cmp.Or(one.Model, one.By), one.Error,
		}
	})
	if err != nil {
		return err
	}
	if total == 0 {
		fmt.Fprintln(c.err, "no compactions found")
	} else if more := total - len(all); more > 0 {
		fmt.Fprintf(c.err, "%d more before them; --limit shows them\n", more)
	}
	return nil
}
