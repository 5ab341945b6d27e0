package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
)

// of is the conversation of people.
const of = "terminal:people"

// people saves facts about people, one of whom has a name that tries to run as code, and returns the path of that person's page.
func (r *rig) people() string {
	at := time.Now().Add(-9 * time.Hour)
	who := map[string]string{"1": "Ada", "2": "Ada", "3": hostile, "4": "Mute"}
	var all []store.Inbound
	for i, id := range []string{"1", "1", "2", "3", "1", "4"} {
		all = append(all, store.Inbound{ID: fmt.Sprint("p", i), AuthorID: id, Author: who[id], Time: at.Add(time.Duration(i) * time.Minute), Text: fmt.Sprintf("Plot %d is mine.", i)})
	}
	c := must(r.store.Conversation(r.t.Context(), of))
	must(c.Past().Import(r.t.Context(), all))
	fact := func(by, about, attribute, value, since string, seq int64) memory.Exported {
		said := all[seq-1]
		m := store.Memory{
			Conversation: of, Kind: "fact", Content: who[about] + ", " + attribute + ": " + value, Speaker: who[by], SpeakerID: by, About: who[about], AboutID: about,
			Importance: 0.5, SaidAt: said.Time, Fact: store.Fact{Attribute: attribute, Value: value, Since: since},
		}
		return memory.Exported{Memory: memory.Memory{Memory: m}, Messages: []memory.Source{{Seq: seq, ID: said.ID, Time: said.Time}}}
	}
	must(memory.In(r.store).Import(r.t.Context(), []memory.Exported{
		fact("1", "1", "home", "Oslo", "2019", 1),
		fact("1", "1", "home", "Lisbon", "2022-05", 2),
		fact("2", "2", "home", "Turin", "", 3),
		fact("1", "3", "<img src=x onerror=alert(4)>", "<i>", "", 5),
		fact("1", "3", "employer", "Acme", "", 5),
		fact("3", "3", "employer", "Globex "+hostile, "", 4),
	}))
	return personPageOf(of, store.Person{ID: "3", Name: hostile})
}

func TestPersonPage(t *testing.T) {
	r := newRig(t, rigOptions{})
	evil := r.people()
	must(privacy.Of(must(r.store.Find(t.Context(), of))).OptOut(t.Context(), "4", "Mute", true))
	ada := personPageOf(of, store.Person{ID: "1"})
	page := r.page(200, ada)
	check.Contains(t, "Ada", page, "<h1>Ada</h1>", "in "+of, "True now", ">Lisbon</a>", "since May 2022", "What was", ">Oslo</a>", "2019 to May 2022",
		`href="`+strings.ReplaceAll(messagesBefore(of, 2+pageSize/2), "&", "&amp;")+`#m2"`, "Newest messages", "Plot 4 is mine", `href="/c/terminal:people/messages?by=1"`)
	check.Lacks(t, "Ada", page, "Turin", "In doubt", "Other memories", "Plot 2 ")
	check.That(t, strings.Index(page, "Lisbon") < strings.Index(page, "Oslo"), "what is true now comes first")
	check.Contains(t, "the live part", r.page(200, ada+"?fragment=live"), "Lisbon")

	page = r.page(200, evil)
	check.Contains(t, "a hostile name", page, "&lt;img src=x onerror=alert(4)&gt;</span>", "In doubt", ">Acme</a>", "Globex &lt;script&gt;", "Plot 3 is mine")
	check.Lacks(t, "a hostile name", page, "<script>alert", "<img src=x", "<svg onload", " style=")
	check.Equal(t, "the same by name", r.page(200, personPageOf(of, store.Person{Name: hostile})) == "", false)

	page = r.page(200, personPageOf(of, store.Person{Name: "Ada"}))
	check.Contains(t, "two people of one name", page, "Several people are called this here", `href="`+ada+`"`, `href="/c/terminal:people/people/2"`)
	check.Lacks(t, "two people of one name", page, "Lisbon", "Turin", "Plot")

	page = r.page(200, personPageOf(of, store.Person{ID: "4"}))
	check.Contains(t, "no facts, opted out", page, "<h1>Mute</h1>", "Opted out of memories", "There are no memories about this person here.", "Plot 5 is mine")
	check.Contains(t, "nobody", r.page(404, personPageOf(of, store.Person{ID: "Eve"})), "nobody here is called")
	r.page(404, personPageOf("terminal:none", store.Person{ID: "1"}))
	r.page(400, ada+"?q=x")

	for from, want := range map[string]string{"/memories": ada, pageOf(of) + "/messages": ada, "/memories/2": ada, pageOf(of) + "/messages?by=3": evil} {
		check.Contains(t, from, r.page(200, from), `class="person" href="`+want+`"`)
	}
}

func TestPeoplePage(t *testing.T) {
	r := newRig(t, rigOptions{})
	evil := r.people()
	must(privacy.Of(must(r.store.Find(t.Context(), of))).OptOut(t.Context(), "4", "Mute", true))
	path := pageOf(of) + "/people"
	for _, from := range []string{pageOf(of), pageOf(of) + "/messages", evil} {
		check.Contains(t, from, r.page(200, from), `href="`+path+`">People</a>`)
	}
	page := r.page(200, path)
	check.Contains(t, "page", page, `<a href="`+path+`" aria-current="page">People</a>`, "opted out", "4 in all")
	check.Lacks(t, "page", page, "<script>alert", "<img src=x", "<svg onload", " style=")
	for _, id := range []string{"1", "2", "3", "4"} {
		to := personPageOf(of, store.Person{ID: id})
		check.Contains(t, "link", page, `href="`+to+`"`)
		r.page(200, to)
	}
	check.Contains(t, "the live part", r.page(200, path+"?fragment=live"), ">Mute</a>")
	r.page(404, pageOf("terminal:none")+"/people")
	r.page(400, path+"?q=x")
}

func TestPeopleOverTheAPI(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.people()
	m := store.Inbound{ID: "p9", AuthorID: "4", Author: "Mute Swan", Time: time.Now(), Text: "I have another name."}
	must(must(r.store.Find(t.Context(), of)).Past().Import(t.Context(), []store.Inbound{m}))
	list := get[peopleList](r, at(of, "/people"))
	var all []string
	for _, a := range list.People {
		all = append(all, fmt.Sprint(a.ID, " ", a.Name, " ", a.Others, " ", a.Memories, " ", a.Last.IsZero()))
	}
	check.Contains(t, "page", r.page(200, pageOf(of)+"/people"), ">Mute Swan</a>", "also called Mute<")
	check.EqualAll(t, "people", all, []string{"3 " + hostile + " [] 3 false", "1 Ada [] 1 false", "2 Ada [] 1 false", "4 Mute Swan [Mute] 0 false"})
	list = get[peopleList](r, at(of, "/people?limit=1&offset=3"))
	check.That(t, list.Total == 4 && len(list.People) == 1 && list.People[0].ID == "4", "a page: %+v", list)
	check.Contains(t, "beyond the end", r.do(200, nil, "GET "+at(of, "/people?offset=9"), ""), `"people":[]`)
}

func TestPersonOverTheAPI(t *testing.T) {
	const secret = "a-long-secret-token"
	r := newRig(t, rigOptions{token: secret})
	r.people()
	path := at(of, "/people/")
	r.do(401, nil, "GET "+path+"1", "")
	r.do(404, nil, "GET "+path+"Eve", "", "Authorization: Bearer "+secret)
	var a personAnswer
	r.do(200, &a, "GET "+path+"1?limit=2", "", "Authorization: Bearer "+secret)
	check.That(t, a.ID == "1" && a.Name == "Ada" && a.Now[0].Value == "Lisbon" && a.Past[0].Ended == "2022-05" && a.Past[0].Sources[0] == 1, "got %+v", a.Profile)
	check.That(t, len(a.Messages) == 2 && a.Messages[0].Seq == 5 && a.Messages[0].AuthorID == "1", "messages: %+v", a.Messages)
	text := r.do(200, &a, "GET "+path+url.PathEscape(hostile), "", "Authorization: Bearer "+secret)
	check.Len(t, "doubt", a.Doubt, 2)
	check.Contains(t, "lists are not null", text, `"past":[]`, `"other":[]`)
	a = personAnswer{}
	r.do(200, &a, "GET "+path+"ada", "", "Authorization: Bearer "+secret)
	check.That(t, len(a.Namesakes) == 2 && len(a.Now)+len(a.Messages) == 0, "namesakes: %+v", a)
}

// Messages can be listed by person and time, page by page, and searched so.
func TestMessagesByPersonAndTime(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.people()
	r.deliver(of, channel.Inbound{Text: "Plot 9 is new."})
	seqs := func(query string) (all []int64, before int64) {
		list := get[messageList](r, at(of, "/messages?"+query))
		for _, m := range list.Messages {
			all = append(all, m.Seq)
		}
		return all, list.Before
	}
	for query, want := range map[string][]int64{
		"by=1": {5, 2, 1}, "by=1&order=oldest": {1, 2, 5}, "by=1&before=5": {2, 1}, "by=1&q=plot&order=oldest": {1, 2, 5}, "since=1h&by=ada&q=plot": {7}, "until=1h&by=4": {6},
	} {
		found, before := seqs(query)
		check.EqualAll(t, query, found, want)
		check.Equal(t, query+": more", before, 0)
	}
	found, before := seqs("by=1&limit=2")
	check.That(t, slices.Equal(found, []int64{5, 2}) && before == 2, "a page: %v, before %d", found, before)
	check.Contains(t, "nobody", r.do(422, nil, "GET "+at(of, "/messages?by=Eve"), ""), "nobody here is called")
	page := r.page(200, pageOf(of)+"/messages?by=1&order=oldest")
	check.Contains(t, "page", page, "The oldest first.", `name="since"`, `value="1"`)
	check.Lacks(t, "page", page, "Earlier messages")
}
