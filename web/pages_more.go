package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/internal/chart"
	"cairn/memory"
)

// helpFor returns the description of a compaction setting.
func helpFor(key string) string {
	for _, s := range config.Reference() {
		if s.Key == "defaults.compaction."+key {
			return s.Description
		}
	}
	return ""
}

func memoriesPage(v *visit) error {
	query := v.URL.Query()
	query.Del("fragment")
	for name, values := range query { // a form also sends empty fields
		if len(values) > 0 && values[0] == "" {
			query.Del(name)
		}
	}
	query.Set("limit", strconv.Itoa(pageSize))
	var list memoryList
	if err := v.get("/api/memories", query, &list); err != nil {
		return err
	}
	f := memory.Filter{Query: query.Get("q"), Kind: query.Get("kind"), State: cmp.Or(query.Get("state"), "current"), About: query.Get("about"), Conversation: query.Get("conversation")}
	return v.show("memories", struct {
		frame
		Filter        memory.Filter
		Kinds, States []string
		List          memoryList
		Pager         pager
	}{v.frame("Memories"), f, memory.Kinds, memory.States, list, v.paged(v.offset(), pageSize, list.Total)})
}

func memoryPage(v *visit) error {
	var m memoryAnswer
	if err := v.get("/api/memories/"+url.PathEscape(v.PathValue("id")), nil, &m); err != nil {
		return err
	}
	return v.show("memory", struct {
		frame
		Memory memoryAnswer
		From   []shownMessage
	}{v.frame(fmt.Sprintf("Memory %d", m.ID)), m, shownMessages(m.Messages)})
}

// memoryForm runs the command of a button on a memory's page.
func memoryForm(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return bad("The form cannot be read.")
	}
	yes, no, content := true, false, v.PostForm.Get("content")
	patches := map[string]memoryPatch{"edit": {Content: &content}, "pin": {Pinned: &yes}, "unpin": {Pinned: &no}, "forget": {State: "forgotten"}, "restore": {State: "active"}}
	notes := map[string]string{"edit": "Changed.", "pin": "Pinned: it neither ends nor fades.", "unpin": "Unpinned.", "forget": "Forgotten. You can restore it here.", "restore": "Restored."}
	p, known := patches[v.PathValue("command")]
	if !known {
		return problem(http.StatusNotFound, "There is no such command.")
	}
	here := "/memories/" + url.PathEscape(v.PathValue("id"))
	if err := v.ask(http.MethodPatch, "/api"+here, nil, p, nil); err != nil {
		return v.redirectProblem(here, err)
	}
	return v.redirectWithNote(here, notes[v.PathValue("command")])
}

// usageRow is a row of the usage report. The field that it is grouped by is set.
type usageRow struct {
	Day, Conversation, Model string
	channel.Expenses
}

// Key returns the value that the row is grouped by.
func (r usageRow) Key() string { return cmp.Or(r.Day, r.Conversation, r.Model) }

// TurnCost returns the cost without summaries.
func (r usageRow) TurnCost() float64 { return r.Cost - r.Summaries.Cost }

func usagePage(v *visit) error {
	by, since := cmp.Or(v.URL.Query().Get("by"), channel.UsageKeys[0]), v.URL.Query().Get("since")
	query := url.Values{"by": {by}}
	if since != "" {
		query.Set("since", since)
	}
	var u struct {
		Rows    []usageRow       `json:"rows"`
		Total   usageRow         `json:"total"`
		NoPrice []string         `json:"no_price"`
		Budgets []channel.Budget `json:"budgets"`
	}
	if err := v.get("/api/usage", query, &u); err != nil {
		return err
	}
	return v.show("usage", struct {
		frame
		By, Since string
		Rows      []usageRow
		Total     usageRow
		NoPrice   []string
		Keys      []string
		Chart     template.HTML
	}{v.frame("Usage and money"), by, since, u.Rows, u.Total, u.NoPrice, channel.UsageKeys, daily(by, u.Rows)})
}

// daily draws tokens by day, or costs if prices are known.
func daily(by string, rows []usageRow) template.HTML {
	if by != "day" || len(rows) == 0 {
		return ""
	}
	cost := 0.0
	for _, row := range rows {
		cost += row.Cost
	}
	d := chart.Daily{Title: "Tokens of each day", Desc: "input and output tokens of turns and of summaries, by day", Unit: "tokens", Series: []string{"turns", "summaries"}}
	if cost > 0 {
		d.Title, d.Desc, d.Unit = "Money of each day", "what turns and summaries cost, by day, in the currency of the prices", ""
	}
	for _, row := range rows {
		at, err := time.Parse(time.DateOnly, row.Day)
		if err != nil {
			continue
		}
		summaries := float64(row.Summaries.Input + row.Summaries.Output)
		values := []float64{float64(row.Input+row.Output) - summaries, summaries}
		if cost > 0 {
			values = []float64{row.TurnCost(), row.Summaries.Cost}
		}
		d.Days = append(d.Days, chart.Day{Date: at, Values: values})
	}
	return template.HTML(d.SVG(chart.Options{ID: "daily"})) // the chart escapes its input
}

func healthPage(v *visit) error {
	ok, parts := true, []Part{}
	if v.s.o.Ready != nil {
		ok, parts = v.s.o.Ready(v.Context())
	}
	return v.show("health", struct {
		frame
		OK        bool
		Parts     []Part
		Incidents []incident
	}{v.frame("Health"), ok, parts, v.s.o.Events.incidents()})
}
