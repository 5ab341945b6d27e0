package web

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	g "maragu.dev/gomponents"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/simulate"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

func TestPages(t *testing.T) {
	r := hostileRig(t)
	fact := get[MemoryList](r, "/api/memories?q=prefers").Memories[0]
	summary := get[conversationAnswer](r, at(here, "")).Stack[0]
	evil := "terminal:" + hostile
	task := get[taskList](r, at(evil, "/tasks")).Tasks[0]
	check.That(t, task.Text == hostile && strings.HasPrefix(task.Conversation, "task:"), "%+v", task)
	check.Contains(t, "conversations", r.do(200, nil, "GET /api/conversations?q=task", ""), `"agent":"researcher"`)
	p := pageOf(here)
	for page, wants := range map[string][]string{
		"/":                                     {here, "terminal:&lt;script&gt;", "<meter"},
		"/?q=rose":                              {"1 in all"},
		"/?q=nobody":                            {"There is no such conversation yet."},
		"/?offset=50":                           {"3 in all", "Previous"}, // of a list that was longer
		"/?fragment=live":                       {"<table"},
		p:                                       {"<svg", "background", "Compact now", "What fills the window"},
		p + "?fragment=live":                    {"<svg"},
		p + "/messages":                         {"plot 29", "Earlier messages"},
		p + "/messages?before=20":               {`id="m19"`, "The newest messages"},
		p + "/messages?q=tulips":                {"The best first"},
		p + "/settings":                         {"background_threshold", "built in", "share"},
		pageOf(evil):                            {"Tasks of other agents", `href="` + pageOf(task.Conversation) + `"`},
		pageOf(evil) + "/messages":              {"<article"},
		pageOf(task.Conversation):               {"Compact now"},
		pageOf(task.Conversation) + "/messages": {"Nothing found."},
		pageOf(task.Conversation) + "/settings": {"background_threshold"},
		fmt.Sprint(p, "/messages?before=", summary.To+1): {"▲ the model sees", summaryPageOf(here, summary.ID)},
		fmt.Sprintf("%s/summaries/%d", p, summary.ID):    {summary.Text[:10]},
		"/memories": {"Ada prefers"},
		"/memories?q=Ada&kind=&state=all&about=&conversation=": {"<select"},
		fmt.Sprintf("/memories/%d", fact.ID):                   {"Origin", "Forget"},
		"/usage":                                               {"Usage and cost", "Total"},
		"/usage?by=model&since=7d":                             {"Usage and cost"},
		"/health":                                              {"All is well"},
		"/tools":                                               {"No server with tools is connected", "No call waits"},
		"/connectors":                                          {"connected to no platform"},
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
	check.Equal(t, "charts", strings.Count(r.page(200, p), `role="img"`), 1)
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

	for arguments, want := range map[string]string{
		"{\"a\": 1,\n\t\"b\": 2}":                   `→ add {"a": 1, "b": 2}`,
		`{"a": "` + strings.Repeat("ж", 200) + `"}`: `→ add {"a": "` + strings.Repeat("ж", chat.MaxCallShown-11) + "…", "": "→ add",
	} {
		check.Equal(t, "a call in short", chat.CallLine(llm.Call{Name: "add", Arguments: arguments}), want)
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

func TestSimulations(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.past(here, plots(60)...)
	var report simulate.Report
	r.do(200, &report, "POST /api/simulate", `{"conversation":"`+here+`","variants":[{"settings":{"background_threshold":0.5,"economy":true}},{"name":"wide","settings":{"context_window":32000}}]}`)
	check.Require(t, len(report.Variants) == 3 && report.Messages != 0, "got %+v", report)
	inForce := report.Variants[0]
	early := report.Variants[1]
	wide := report.Variants[2]
	check.Equal(t, "variants", inForce.Name+", "+early.Name+", "+wide.Name, simulate.Current+", background_threshold=0.5 economy=true, wide")
	check.Equal(t, "window", wide.Window, 32000)
	check.That(t, early.Verbatim.Mean < inForce.Verbatim.Mean, "verbatim %d and %d", inForce.Verbatim.Mean, early.Verbatim.Mean)
	check.That(t, len(wide.Compactions) < len(inForce.Compactions), "%d and %d compactions", len(inForce.Compactions), len(wide.Compactions))
	for query, wants := range map[string][]string{
		"background_threshold=0.5":                   {"200", "<svg", "as it happened", "background_threshold=0.5", "current", "verbatim tokens, mean"},
		"":                                           {"200", "Nothing to compare yet"},
		"background_threshold=0.99":                  {"422", "must be below"},
		"background_threshold=0.5&from=10&to=30":     {"200", "<svg", "as it happened", ">30</text>", "at background"},
		"background_threshold=0.5&from=900":          {"422", "there are no messages"},
		"background_threshold=0.5&from=30&to=10":     {"422", "no range of messages"},
		"keep_last_n=%3Cscript%3Ealert(1)%3C/script": {"422", "keep_last_n", `\u003cscript`},
	} {
		text := r.do(must(strconv.Atoi(wants[0])), nil, "GET "+pageOf(here)+"/settings/preview?"+query, "")
		check.Contains(t, query, text, wants[1:]...)
		check.Lacks(t, query, text, "<script>alert")
	}
}

func TestOverviewOfARange(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.past(here, plots(60)...)
	whole := r.page(200, pageOf(here))
	check.Contains(t, "the overview", whole, `name="from"`, `name="to"`)
	step := func(trigger string, next int64) store.AppliedStep {
		return store.AppliedStep{ListedCompaction: store.ListedCompaction{Trigger: trigger, Next: next}}
	}
	steps := []store.AppliedStep{step("manual", 5), step("background", 15), step("rollup", 16), step("background", 30)}
	check.Equal(t, "all", stepsIn(steps, messageRange{}), "4 times: 2 background + 1 manual + 1 rollup")
	check.Equal(t, "those of a range", stepsIn(steps, messageRange{10, 20}), "2 times: 1 background + 1 rollup")
	check.Equal(t, "none", stepsIn(nil, messageRange{}), "0 times")
	ranged := r.page(200, pageOf(here)+"?from=10&to=20")
	check.Contains(t, "the overview of a range", ranged, `value="10"`, `value="20"`, ">12</text>")
	check.Lacks(t, "the overview of a range", ranged, ">30</text>")
	r.page(422, pageOf(here)+"?from=20&to=10")
}

func rendered(t *testing.T, node g.Node) string {
	t.Helper()
	var page strings.Builder
	check.NoError(t, node.Render(&page))
	return page.String()
}

func TestMarkdownOfTheAssistantIsRendered(t *testing.T) {
	const text = "# Plan\nWater **daily**,\nat `06:00`.\n\n- roses\n- tulips\n\n```sh\nls <dir>\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n[shop](https://example.com/?a=1&b=2) ![bed](https://example.com/bed.png)"
	page := rendered(t, markdownView(text))
	check.Contains(t, "page", page,
		"<p><b>Plan</b></p>", "<strong>daily</strong>,<br>", "<code>06:00</code>", "<li>roses</li>", "ls &lt;dir&gt;", "<td>1</td>", `<td align="right">2</td>`,
		`<a href="https://example.com/?a=1&amp;b=2">shop</a>`, `<a href="https://example.com/bed.png">picture bed</a>`)
	check.Lacks(t, "page", page, "<img", "<h1", "style=")
	check.Contains(t, "message of a person", rendered(t, messageView(here, chat.Record{Role: "user", Text: "**daily**"}, "")), "**daily**")
}

func TestMarkdownRunsNothing(t *testing.T) {
	for _, text := range append(wordstest.Texts(), hostile, "<b>bold</b>", "<div>\n"+hostile+"\n</div>", "[x](javascript:alert(1))", "![x](javascript:alert(1))",
		`[x](<" onclick=alert(1) x=">)`, `![x](<" onerror=alert(1) x=">)`, "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]", "```\" onload=alert(1)\nx\n```", "&lt;script&gt;", "![<img src=x>](data:text/html,x)") {
		page := rendered(t, markdownView(text))
		check.Lacks(t, text, page, "<script", "<img", "<svg", "<div>", "<b>bold", `href="javascript`, `href="data`, " style=", `" on`, "omitted")
	}
	check.Contains(t, "page", rendered(t, markdownView("Use <b>this</b>\n\n<div>\nand that\n</div>")), "&lt;b&gt;this&lt;/b&gt;", "&lt;div&gt;", "&lt;/div&gt;")
	check.Contains(t, "deep", rendered(t, markdownView(strings.Repeat("> ", 30)+"**x**")), "**x**")
}

// A row of a table has a cell for each column, and a link has the whole address that it refers to.
func TestMarkdownIsRenderedFastAndStaysSmall(t *testing.T) {
	check.SkipUnderRace(t)
	texts := []string{
		strings.Repeat("|a", 1000) + "\n" + strings.Repeat("|-", 1000) + "\n" + strings.Repeat("|\n", 1000),
		"[a]: /" + strings.Repeat("x", 3000) + "\n\n" + strings.Repeat("[a]", 900),
	}
	for _, part := range []string{">", "[", "*a ", "![", "- ", "`", "|a|\n|-|\n", "<", "1. ", "**_", "[a](", "&", "\\", "\n\n    ", "~~", "[a]: b\n", "[a]", "***", "_a*", "a|", "* a\n", "<!--", "a\n> ", "- a\n> ", "> 1. ", "+ > ", "](", "```\n"} {
		texts = append(texts, strings.Repeat(part, 65_536/len(part))+strings.Repeat("\n\n"+strings.Repeat(part, 900/len(part)), 30))
	}
	for _, text := range texts {
		began := time.Now()
		page := rendered(t, markdownView(text))
		check.That(t, time.Since(began) <= 2*time.Second, "%.20q: %v", text, time.Since(began))
		check.That(t, len(page) <= 10*len(text), "%.20q: %d bytes of a text of %d", text, len(page), len(text))
	}
	check.Contains(t, "page", rendered(t, markdownView("|a|b|c|\n|-|-|-|\n"+strings.Repeat("|1|2|3|\n", 500))), "<table>")
	check.Contains(t, "a reference", rendered(t, markdownView("See [1].\n\n[1]: https://example.com")), "See [1].", "[1]: https://example.com")
}

// mute is a connector that may not write in the garden.
type mute struct{ channeltest.Silent }

func (mute) CannotWrite(conversation string) string {
	if conversation == garden {
		return channel.ThreadLocked
	}
	return ""
}

func TestPagesShowWhereTheBotMayNotWrite(t *testing.T) {
	r := newRig(t, rigOptions{terminal: mute{"terminal"}})
	r.say(garden, "hello?")
	r.say(here, "hello!")
	cannot := map[string]string{}
	for _, c := range get[conversationList](r, "/api/conversations").Conversations {
		cannot[c.Channel] = c.CannotWrite
	}
	check.Equal(t, "why, in the list", cannot[garden], channel.ThreadLocked)
	check.Equal(t, "why, of another", cannot[here], "")
	check.Equal(t, "why, of one", get[conversationAnswer](r, at(garden, "")).CannotWrite, channel.ThreadLocked)
	check.Equal(t, "marks in the list", strings.Count(r.page(200, "/"), "may not write"), 1)
	check.Contains(t, "its page", r.page(200, pageOf(garden)), channel.ThreadLocked)
	check.Lacks(t, "the other's page", r.page(200, pageOf(here)), channel.ThreadLocked)
}
