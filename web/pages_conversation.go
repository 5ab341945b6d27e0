package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/chart"
)

const pageSize = 50

func conversationsPage(v *visit) error {
	q, offset := v.URL.Query().Get("q"), v.offset()
	var list conversationList
	if err := v.get("/api/conversations", url.Values{"q": {q}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(pageSize)}}, &list); err != nil {
		return err
	}
	return v.show("conversations", struct {
		frame
		Query, Self string
		List        conversationList
		Pager       pager
	}{v.frame("Conversations"), q, v.self(), list, v.paged(offset, pageSize, list.Total)})
}

// about has the data of every page of a conversation.
type about struct {
	frame
	Name, Tab, Self string
	ChatName        string // the part after "web:"; empty for other conversations
}

func (v *visit) about(tab string) about {
	a := about{frame: v.frame(v.name()), Name: v.name(), Tab: tab, Self: v.self()}
	if name, ok := strings.CutPrefix(a.Name, "web:"); ok {
		a.ChatName = name
	}
	return a
}

// summaryLink is a summary in a list, with the path of its page.
type summaryLink struct {
	channel.StackEntry
	Href string
}

func summaryLinks(name string, all []channel.StackEntry) (made []summaryLink) {
	for _, s := range all {
		made = append(made, summaryLink{s, fmt.Sprintf("%s/summaries/%d", pageOf(name), s.ID)})
	}
	return made
}

func conversationPage(v *visit) error {
	var d conversationAnswer
	if err := v.get(apiOf(v.name()), nil, &d); err != nil {
		return err
	}
	var h historyAnswer
	if err := v.get(apiOf(v.name())+"/history", nil, &h); err != nil {
		return err
	}
	var tasks taskList
	if err := v.get(apiOf(v.name())+"/tasks", nil, &tasks); err != nil {
		return err
	}
	next, _, _ := strings.Cut(d.Next, " ")
	return v.show("conversation", struct {
		about
		Detail                conversationAnswer
		Fill                  windowFill
		NextName              string
		Sawtooth, Composition template.HTML
		Stack                 []summaryLink
		Approvals             []pendingApproval
		Tasks                 []channel.Task
	}{
		v.about("overview"), d,
		windowFill{d.Used, d.Max},
		next,
		sawtooth(d, h), composition(d), summaryLinks(v.name(), append(d.Past.Earlier, d.Stack...)),
		pendingApprovals(v.name(), d.Approvals), tasks.Tasks,
	})
}

// pendingApproval is a tool call that waits for approval, with buttons.
type pendingApproval struct {
	channel.Approval
	Page string // the conversation's page
}

func pendingApprovals(conversation string, approvals []channel.Approval) (all []pendingApproval) {
	for _, a := range approvals {
		all = append(all, pendingApproval{a, pageOf(conversation)})
	}
	return all
}

// levelsOf returns the levels of a window, from the settings.
func levelsOf(settings []channel.Setting, window int) (levels []chart.Level) {
	given := make(compactor.Patch)
	for _, s := range settings {
		if share, number := s.Value.(float64); number && strings.HasSuffix(s.Key, "_threshold") {
			given[s.Key] = strconv.FormatFloat(share, 'g', -1, 64)
		}
	}
	p, _ := given.Over(compactor.Policy{})
	p = p.At(window)
	for _, l := range []struct {
		name  string
		share float64
	}{{"background", p.BackgroundThreshold}, {"aggressive", p.AggressiveThreshold}, {"emergency", p.EmergencyThreshold}} {
		levels = append(levels, chart.Level{Name: l.name, Kind: l.name, Tokens: int(l.share * float64(window))})
	}
	return levels
}

// sawtooth draws the usage of the window over the conversation.
func sawtooth(d conversationAnswer, h historyAnswer) template.HTML {
	return template.HTML(chart.Sawtooth{ // the chart escapes its input
		Title: "Tokens of the next request, over the messages", Desc: fmt.Sprintf("%d of %d tokens are used now; %d compactions made room", d.Used, d.Max, len(h.Compactions)),
		Panels: []chart.Panel{panelOf("", d, h)},
	}.SVG(chart.Options{ID: "sawtooth"}))
}

func panelOf(name string, d conversationAnswer, h historyAnswer) chart.Panel {
	panel := chart.Panel{Name: name, Window: d.Max, Levels: levelsOf(d.Settings, d.Max)}
	for _, u := range h.Used {
		panel.Points = append(panel.Points, chart.Point{At: u.Seq, Used: u.Tokens})
	}
	for _, c := range h.Compactions {
		panel.Marks = append(panel.Marks, chart.Mark{
			At: c.Next, Kind: c.Trigger,
			Tip: fmt.Sprintf("%s: #%d to #%d, %d → %d tokens, %s", c.Trigger, c.From, c.To, c.BeforeTokens, c.AfterTokens, day(c.Time)),
		})
	}
	return panel
}

// composition draws what fills the window.
func composition(d conversationAnswer) template.HTML {
	return template.HTML(chart.Composition{ // the chart escapes its input
		Title: "What fills the window", Desc: "tokens of the parts of the next request", Total: float64(d.Max),
		Parts: []chart.Part{
			{Name: "prompt and tools", Value: float64(d.Parts.Frame)},
			{Name: "summaries and pins", Value: float64(d.Parts.Head)},
			{Name: "messages", Value: float64(d.Parts.Verbatim)},
			{Name: "kept for the reply", Value: float64(d.Parts.Reserve)},
		},
	}.SVG(chart.Options{ID: "composition"}))
}

func summaryPage(v *visit) error {
	var s summaryAnswer
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if from := v.URL.Query().Get("from"); from != "" {
		query.Set("from", from)
	}
	if err := v.get(apiOf(v.name())+"/summaries/"+url.PathEscape(v.PathValue("id")), query, &s); err != nil {
		return err
	}
	later := ""
	if s.From > 0 {
		later = fmt.Sprintf("%s/summaries/%d?from=%d", pageOf(v.name()), s.Summary.ID, s.From)
	}
	return v.show("summary", struct {
		about
		Summary  channel.StackEntry
		Children []summaryLink
		Messages []shownMessage
		Later    string
	}{v.about("overview"), s.Summary, summaryLinks(v.name(), s.Children), shownMessages(s.Messages), later})
}

// shownMessage is a message on a page.
type shownMessage struct {
	chat.Record
	Who   string
	Match string // the part that a search matched, unless it is the whole text
}

func shownMessages(all []chat.Record) (made []shownMessage) {
	for _, m := range all {
		made = append(made, shownMessage{Record: m, Who: cmp.Or(m.Author, string(m.Role))})
	}
	return made
}

// foundMessages is shownMessages for a list that may be the result of a search.
func foundMessages(list messageList) (made []shownMessage) {
	for _, m := range list.Messages {
		made = append(made, shownMessage{m.Record, cmp.Or(m.Author, string(m.Role)), m.Match})
	}
	return made
}

// commandForm runs the command of a button on a conversation's page.
func commandForm(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return bad("The form cannot be read.")
	}
	command := v.PathValue("command")
	path := apiOf(v.name()) + "/" + command
	switch command {
	case "compact", "undo":
		var body any
		if command == "compact" {
			body = compactBody{Focus: strings.TrimSpace(v.PostForm.Get("focus"))}
		}
		var job jobAnswer
		if err := v.ask(http.MethodPost, path, nil, body, &job); err != nil {
			return v.redirectProblem(pageOf(v.name()), err)
		}
		return v.redirectWithNote(pageOf(v.name()), job.words())
	case "allow", "deny":
		var done doneAnswer
		allow := command == "allow"
		if err := v.ask(http.MethodPost, apiOf(v.name())+"/approvals/"+url.PathEscape(v.PostForm.Get("code")), nil, approveBody{&allow}, &done); err != nil {
			return v.redirectProblem(pageOf(v.name()), err)
		}
		return v.redirectWithNote(pageOf(v.name()), done.Reason)
	case "new", "pause", "resume":
		var done doneAnswer
		if err := v.ask(http.MethodPost, path, nil, nil, &done); err != nil {
			return v.redirectProblem(pageOf(v.name()), err)
		}
		return v.redirectWithNote(pageOf(v.name()), cmp.Or(done.Reason, doneWords[command]))
	}
	return problem(http.StatusNotFound, "There is no such command.")
}

var doneWords = map[string]string{
	"new":    "A new session. The earlier messages are summarized in the background; nothing is lost.",
	"pause":  "The bot is silent here until it is resumed. Messages are still saved.",
	"resume": "The bot answers here again.",
}

// words describes the result of a compaction.
func (j jobAnswer) words() string {
	switch j.State {
	case "noop":
		return "Nothing was done: " + j.Reason + "."
	case "applied", "undone":
		return fmt.Sprintf("Done: %d → %d tokens.", j.Before, j.After)
	case "scheduled":
		return "Scheduled: it starts when the running compaction has ended."
	}
	return fmt.Sprintf("Summarizing messages #%d to #%d in the background. The conversation goes on.", j.From, j.To)
}

// redirectProblem redirects to a page that shows why a request was rejected. A failure of the bot
// has its own page.
func (v *visit) redirectProblem(to string, err error) error {
	p := v.s.problemOf(v.Request, err)
	if p.Status >= 500 || p.Status == http.StatusNotFound {
		return p
	}
	return v.redirectWithNote(to, p.Detail)
}
