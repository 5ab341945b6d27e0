package web

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/simulate"
	"cairn/store"
	"cairn/words/wordstest"
)

func TestPages(t *testing.T) {
	r := newRig(t, rigOptions{window: 4000})
	var past []string
	for i := range 60 {
		past = append(past, fmt.Sprintf("message %d: %s %s", i, hostile, strings.Repeat("the roses ", 20)))
	}
	r.past(here, past[:59]...)
	r.say(here, past[59])
	r.past("terminal:hostile", wordstest.Texts()...)
	r.remember("Ada prefers " + hostile)
	r.drain() // so that no repair replaces a summary
	memory := get[memoryList](r, "/api/memories?q=prefers").Memories[0]
	summary := get[conversationAnswer](r, at(here, "")).Stack[0]
	p := pageOf(here)
	for page, wants := range map[string][]string{
		"/":                                      {here, "terminal:hostile", "<meter"},
		"/?q=hostile":                            {"1 in all"},
		"/?q=%3Cscript%3E":                       {"There is no such conversation yet."},
		"/?offset=50":                            {"2 in all", "Previous"}, // of a list that was longer
		"/?fragment=live":                        {"<table"},
		p:                                        {"<svg", "background", "Compact now", "What fills the window"},
		p + "?fragment=live":                     {"<svg"},
		p + "/messages":                          {"message 59", "Earlier messages"},
		p + "/messages?before=20":                {"message 9", "The newest messages"},
		p + "/messages?q=roses":                  {"The best first"},
		p + "/settings":                          {"background_threshold", "built in", "share"},
		pageOf("terminal:hostile") + "/messages": {"<article"},
		fmt.Sprintf("%s/summaries/%d", p, summary.ID): {summary.Text[:10]},
		"/memories": {"Ada prefers"},
		"/memories?q=Ada&kind=&state=all&about=&conversation=": {"<select"},
		fmt.Sprintf("/memories/%d", memory.ID):                 {"Origin", "Forget"},
		"/usage":                                               {"Usage and cost", "Total"},
		"/usage?by=model&since=7d":                             {"Usage and cost"},
		"/health":                                              {"All is well"},
		"/static/style.css":                                    {"--accent"},
		"/static/app.js":                                       {"EventSource"},
		"/static/chart.css":                                    {".chart"},
	} {
		text := r.page(200, page)
		check.Contains(t, page, text, wants...)
		if !strings.HasPrefix(page, "/static/") {
			check.Lacks(t, page, text, "<script>alert", "<img src=x", "<svg onload", " style=")
		}
	}
}

func TestMessagesShowCallsOfToolsAndWhatASearchFound(t *testing.T) {
	r := newRig(t, rigOptions{tools: &channeltest.Box{}, model: channeltest.Add})
	r.say(here, "please add")
	list := get[messageList](r, at(here, "/messages")).Messages
	check.Len(t, "messages", list, 4)
	check.Len(t, "calls", list[1].Calls, 1)
	check.That(t, list[2].Tool == "calc_add" && list[2].CallID == list[1].Calls[0].ID, "the result: %+v", list[2])
	page := r.page(200, pageOf(here)+"/messages")
	check.Contains(t, "page", page, "→ calc_add {", ">calc_add</b>")
	check.Lacks(t, "page", page, ">tool</b>")

	water := strings.Repeat("We water the roses. ", 100)
	r.deliver(here, channel.Inbound{Text: "The plan.", Label: "#roses · Garden", Attachments: []channel.Attachment{
		{Kind: "file", Name: "plan.txt", Text: water + "In May the zinnias are sown. " + water},
	}})
	found := r.page(200, pageOf(here)+"/messages?q=zinnias")
	check.Contains(t, "found", found, "plan.txt", "the zinnias are sown")
	page = r.page(200, pageOf(here)+"/messages")
	check.Contains(t, "page", page, "plan.txt")
	check.Lacks(t, "page", page, "the zinnias are sown")
	for path, title := range map[string]string{"": "Overview", "/messages": "Messages", "/settings": "Settings"} {
		check.Contains(t, title, r.page(200, pageOf(here)+path), "<title>"+title+" · #roses · Garden · Cairn</title>", "<h1>#roses · Garden</h1>", here)
	}
}

func TestCallIsShownInShort(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"add", `{"a": 1,` + "\n\t" + `"b": 2}`, `→ add {"a": 1, "b": 2}`},
		{"add", `{"a": "` + strings.Repeat("ж", 200) + `"}`, `→ add {"a": "` + strings.Repeat("ж", chat.MaxCallShown-11) + "…"},
		{"list", "", "→ list"},
	} {
		check.Equal(t, "call", chat.CallLine(llm.Call{Name: c.name, Arguments: c.arguments}), c.want)
	}
}

// A link to a message that a search found stays right while the conversation goes on.
func TestLinkToAMessageLeadsToItsPlaceInTheConversation(t *testing.T) {
	r := newRig(t, rigOptions{})
	var past []string
	for i := range 140 {
		past = append(past, fmt.Sprintf("Plot %d has %s.", i, []string{"roses", "zinnias"}[i/10%2]))
	}
	r.past(here, past...)
	found := r.page(200, pageOf(here)+"/messages?q="+url.QueryEscape("Plot 14 zinnias"))
	link := regexp.MustCompile(`href="([^"#]*/messages[^"#]*)#(m15)"`).FindStringSubmatch(found)
	check.Require(t, link != nil, "no link to the message: %s", found)
	page := r.page(200, link[1])
	check.Contains(t, "page", page, `id="m14"`, `id="m15"`, `id="m16"`, "Later messages")
	later := regexp.MustCompile(`href="([^"]*)">↓ Later`).FindStringSubmatch(page)
	page = r.page(200, later[1])
	check.Contains(t, "next page", page, `id="m40"`, `id="m89"`, "Later messages")
	check.Lacks(t, "next page", page, `id="m39"`, `id="m90"`)
	page = r.page(200, pageOf(here)+"/messages?before=200")
	check.Contains(t, "last page", page, `id="m140"`, "The newest messages")
	check.Lacks(t, "last page", page, "Later messages")
}

func TestTasksAreListedAndOpened(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 1)
	tasks := must(r.store.Find(t.Context(), garden)).Tasks()
	started := must(tasks.Begin(t.Context(), store.NewTask{Task: store.Task{Agent: "researcher", Text: "count the bridges"}, Message: "<task>", Most: 4}))
	listed := get[taskList](r, at(garden, "/tasks")).Tasks
	check.That(t, len(listed) == 1 && listed[0].Conversation == "task:terminal:garden/1" && listed[0].Text == "count the bridges", "%+v", listed)
	check.Contains(t, "page", r.page(200, pageOf(garden)), "count the bridges", `href="`+pageOf(started.Conversation)+`"`)
	check.Contains(t, "agent of the task", r.do(200, nil, "GET", "/api/conversations", ""), `"channel":"task:terminal:garden/1","agent":"researcher"`)
	for _, path := range []string{"", "/messages", "/settings"} {
		r.do(200, nil, "GET", at(started.Conversation, path), "")
	}
	r.do(404, nil, "GET", at("terminal:nowhere", "/tasks"), "")
}

func TestMarkIsAtTheDropOfTheLine(t *testing.T) {
	h := historyAnswer{
		Used:        []usedPoint{{Seq: 1, Tokens: 100}, {Seq: 40, Tokens: 900}, {Seq: 40, Tokens: 300}},
		Compactions: []store.AppliedStep{{ListedCompaction: store.ListedCompaction{Next: 41}}},
	}
	check.Equal(t, "place of the mark", panelOf("", conversationAnswer{}, h).Marks[0].At, 40)
}

func TestSimulations(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.past(here, plots(60)...)
	simulated := func(status int, body string) string {
		return r.do(status, nil, "POST", "/api/simulate", strings.Replace(body, "HERE", here, 1))
	}
	var report simulate.Report
	r.do(200, &report, "POST", "/api/simulate", `{"conversation":"`+here+`","variants":[{"settings":{"background_threshold":0.5,"economy":true}},{"name":"wide","settings":{"context_window":32000}}]}`)
	check.Require(t, len(report.Variants) == 3 && report.Messages != 0, "got %+v", report)
	inForce, early, wide := report.Variants[0], report.Variants[1], report.Variants[2]
	check.Equal(t, "variants", inForce.Name+", "+early.Name+", "+wide.Name, simulate.InForce+", background_threshold=0.5 economy=true, wide")
	check.Equal(t, "window", wide.Window, 32000)
	check.That(t, early.Verbatim.Mean < inForce.Verbatim.Mean, "verbatim %d and %d", inForce.Verbatim.Mean, early.Verbatim.Mean)
	check.That(t, len(wide.Compactions) < len(inForce.Compactions), "%d and %d compactions", len(inForce.Compactions), len(wide.Compactions))
	for _, c := range []struct {
		status     int
		body, says string
	}{
		{422, `{"conversation":"HERE","variants":[{"settings":{"background_treshold":0.5}}]}`, "did you mean background_threshold"},
		{422, `{"conversation":"HERE","variants":[{"settings":{"background_threshold":5}}]}`, "background_threshold"},
		{422, `{"conversation":"HERE","variants":[{"settings":{"keep_first":null}}]}`, "keep_first: must be a number"},
		{422, `{"conversation":"HERE","variants":[` + strings.Repeat(`{},`, maxVariants) + `{}]}`, "at most 8"},
		{404, `{"conversation":"terminal:nowhere"}`, "terminal:nowhere"},
		{400, `{"conversation":`, ""},
	} {
		check.Contains(t, c.body, simulated(c.status, c.body), c.says)
	}
	for query, wants := range map[string][]string{
		"background_threshold=0.5":  {"<svg", "as it happened", "background_threshold=0.5", "in force", "verbatim tokens, mean"},
		"":                          {"Nothing to compare yet"},
		"background_threshold=0.99": {"must be below"},
		"keep_last_n=%3Cscript%3Ealert(1)%3C/script": {"keep_last_n", "&lt;script&gt;"},
	} {
		text := r.page(200, pageOf(here)+"/settings/preview?"+query)
		check.Contains(t, query, text, wants...)
		check.Lacks(t, query, text, "<script>alert")
	}
}
