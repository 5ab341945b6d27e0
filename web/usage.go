// Usage: of a window over time, and of models. Also the cached usage of all windows in a list.

package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/config"
	"cairn/llm/prices"
	"cairn/store"
)

// historyAnswer is the usage of a conversation's window over time, with its compactions.
type historyAnswer struct {
	Used        []usedPoint         `json:"used" jsonschema:"oldest first: at the start, at each answer, before and after each compaction, and now"`
	Compactions []store.AppliedStep `json:"compactions" jsonschema:"oldest first"`
	Before      int64               `json:"before,omitempty" jsonschema:"for what came earlier; absent: there is nothing"`
}

// usedPoint is the size of the next request after a message.
type usedPoint struct {
	Time   time.Time `json:"time"`
	Seq    int64     `json:"seq" jsonschema:"0: before the first message"`
	Tokens int       `json:"tokens"`
	Window int       `json:"window,omitempty" jsonschema:"that of then; absent: not stored"`
}

const (
	historyTurns       = 10_000
	historyCompactions = 1000
)

func (c *conversations) history(r *request) (h historyAnswer, err error) {
	since := r.since()
	before := int64(r.number("before", 0))
	within := rangeOf(r.Values)
	if err := within.check(); err != nil {
		return h, err
	}
	afterAnswer := within.To + 2 // the usage at a message is that of the answer to it
	if within.To > 0 && (before == 0 || afterAnswer < before) {
		before = afterAnswer
	}
	ctx := r.Context()
	of := r.conversation
	h = historyAnswer{Used: []usedPoint{}, Compactions: []store.AppliedStep{}}
	now, e1 := c.operator.Context(ctx, of.Name())
	first, e2 := of.Transcript().Page(ctx, 1, 1)
	newest, _, e3 := of.Transcript().Earlier(ctx, before, 1)
	turns, e4 := of.Turns().Usages(ctx, since, before, historyTurns+1)
	applied, _, e5 := c.store.Compactions(ctx, store.CompactionFilter{
		Conversation: of.Name(), Applied: true, Since: since, Before: before, Limit: historyCompactions,
	})
	if err := cmp.Or(e1, e2, e3, e4, e5); err != nil || len(newest) == 0 {
		return h, err
	}
	h.Compactions = listOf(store.StepsOf(applied))
	if len(turns) > historyTurns {
		turns = turns[1:]
		h.Before = turns[0].Seq
	} else if !first[0].Time.Before(since) {
		h.Used = append(h.Used, usedPoint{Time: first[0].Time, Tokens: now.Parts.Frame + now.Parts.Reserve})
	}
	for _, u := range turns {
		h.Used = append(h.Used, usedPoint{u.Time, u.Seq - 1, u.Used, u.Window})
	}
	for _, s := range h.Compactions {
		if s.BeforeTokens > 0 && s.Next >= h.Before {
			h.Used = append(h.Used, usedPoint{s.Time, s.Next - 1, s.BeforeTokens, 0}, usedPoint{s.Time, s.Next - 1, s.AfterTokens, 0})
		}
	}
	slices.SortStableFunc(h.Used, func(a, b usedPoint) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), a.Time.Compare(b.Time)) })
	if last := newest[0]; before == 0 && !last.Time.Before(since) {
		h.Used = append(h.Used, usedPoint{Time: last.Time, Seq: last.Seq, Tokens: now.Used, Window: now.Max})
	}
	h.Used = sinceMessage(h.Used, within.From)
	h.Used = slices.DeleteFunc(h.Used, func(u usedPoint) bool { return within.To > 0 && u.Seq > within.To })
	h.Compactions = slices.DeleteFunc(h.Compactions, func(s store.AppliedStep) bool { return !within.has(s.Next - 1) })
	return h, nil
}

// sinceMessage returns the points from a message on, and the last one before it: what was used at the message.
func sinceMessage(all []usedPoint, seq int64) []usedPoint {
	first := slices.IndexFunc(all, func(u usedPoint) bool { return u.Seq >= seq })
	if first < 0 {
		first = len(all)
	}
	return all[max(first-1, 0):]
}

// cachedUsage is the usage of a conversation that is not open. It changes with its messages, its head, the
// settings and what is learned about its model; computing it takes milliseconds.
type cachedUsage struct {
	next, version int64
	settings      *config.Settings // those current before it was computed
	at            time.Time
	activity      channel.Activity
}

// activity returns how full a conversation's window is, and what is running there.
func (c *conversations) activity(ctx context.Context, p store.Place) (channel.Activity, error) {
	if now, open := c.operator.Activity(p.Channel); open {
		return now, nil
	}
	cached, _ := c.fills.Load(p.Channel)
	settings := c.settings()
	if known, ok := cached.(cachedUsage); ok && known.next == p.Next && known.version == p.Version && known.settings == settings && time.Since(known.at) < time.Minute {
		return known.activity, nil
	}
	now, err := c.operator.Context(ctx, p.Channel)
	activity := channel.Activity{Used: now.Used, Window: now.Max}
	if err == nil {
		c.fills.Store(p.Channel, cachedUsage{p.Next, p.Version, settings, time.Now(), activity})
	}
	return activity, err
}

type usageAnswer struct {
	report.Usage
	Count   int             `json:"count" jsonschema:"how many rows there are"`
	Budgets []access.Budget `json:"budgets" jsonschema:"those that are set"`
}

// expenses reports what models were used for, and what it cost.
type expenses struct {
	operator channel.Operator
	store    *store.Store
	settings func() *config.Settings
}

func (e *expenses) routes() []route {
	return []route{read("/api/usage", "What models were used for, and what it cost", e.usage,
		param{name: "by", text: "what each row counts (default: day)", words: report.UsageKeys}, sinceParam, allParam, offsetParam)}
}

func (e *expenses) usage(r *request) (a usageAnswer, err error) {
	by := cmp.Or(r.Get("by"), report.UsageKeys[0])
	from := r.since()
	day := ""
	if !from.IsZero() {
		day = store.Day(from)
	}
	used, err := e.store.Usage(r.Context(), day)
	if err != nil {
		return a, err
	}
	a.Usage = report.NewUsage(used, day, by, e.settings().Money().Prices)
	a.Count = len(a.Rows)
	a.Budgets = listOf(e.operator.Access().Budgets())
	a.Rows = listOf(cut(r, a.Rows))
	return a, nil
}

func usagePage(v *visit) page {
	by := cmp.Or(v.Get("by"), report.UsageKeys[0])
	since := v.Get("since")
	u := ask(v, v.endpoints.expenses.usage)
	rows := append(u.Rows, report.UsageRow{Day: "Total", Expenses: u.Total})
	columns := []string{
		strings.ToUpper(by[:1]) + by[1:], "#Requests", "#Input", "#Cached", "#Output", "#Turns cost", "#Summaries cost",
	}
	usage := table("list", columns, rows, func(r report.UsageRow) []g.Node {
		return []g.Node{
			g.Text(r.Key()), grouped(r.Requests), grouped(r.Input), grouped(r.Cached), grouped(r.Output),
			g.Text(prices.Exact(r.Cost - r.Summaries.Cost)), g.Text(prices.Exact(r.Summaries.Cost)),
		}
	})
	if len(u.Rows) == 0 {
		usage = h.P(g.Text("No model has been used yet."))
	}
	return page{title: "Usage and cost", content: g.Group{
		heading("Usage and cost", h.Nav(
			h.Class("tabs"), h.Aria("label", "Group by"),
			g.Map(report.UsageKeys, func(key string) g.Node {
				return h.A(h.Href("/usage?"+url.Values{"by": {key}, "since": {since}}.Encode()), current(key == by), g.Text("by "+key))
			}),
		)),
		searchForm(
			hidden("by", by),
			h.Label(g.Text("Since "), h.Input(h.Name("since"), h.Value(since), h.Placeholder("30d, or 2026-11-01"), g.Attr("size", "18"))),
			button("", "Show"),
		),
		usage,
		g.Map(u.NoPrice, func(model string) g.Node {
			return warning("No price for " + model + `: it counts as 0. Set [prices."` + model + `"] in the settings.`)
		}),
	}}
}
