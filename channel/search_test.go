package channel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

const direct = "test:@me/ada"

// reader is a connector that knows who may read what.
type reader struct {
	*connector
	may     map[string][]string // conversations, by person
	down    bool
	private []string // what is not public any more
}

func (p *reader) wrap(inner *connector) { p.connector = inner }

func (p *reader) Readable(_ context.Context, person string, conversations []string) (readable []string, err error) {
	if p.down {
		return nil, errors.New("no answer")
	}
	for _, name := range conversations {
		if slices.Contains(p.may[person], name) {
			readable = append(readable, name)
		}
	}
	return readable, nil
}

func (p *reader) MessageLink(conversation, id string) string {
	return "link:" + conversation + "/" + id
}

func (p *reader) MessageAt(link string) (place, id string) {
	rest, ours := strings.CutPrefix(link, "https://link/")
	end := strings.LastIndexByte(rest, '/')
	if !ours || end < 0 {
		return "", ""
	}
	return rest[:end], rest[end+1:]
}

func (p *reader) Public(_ context.Context, conversation string) bool {
	return !slices.Contains(p.private, conversation)
}

// onPlatform returns a rig whose connector knows who may read what, and may is by person.
func onPlatform(t testing.TB, model script, may map[string][]string) (*rig, *reader) {
	r := newRig(t, model)
	p := &reader{may: may}
	r.opts.Rules = access.Rules{Access: map[string]access.Access{"test": {SearchEverywhere: true}}}
	r.throughConnector(p)
	return r, p
}

// write stores a message of Bo in a conversation.
func (r *rig) write(conversation string, n int, text string) {
	r.t.Helper()
	storetest.Deliver(r.t, check.Must(r.store.Conversation(r.t.Context(), conversation))(r.t), storetest.Said(n, text))
}

func TestRecallEverywhere(t *testing.T) {
	const open, closed, private = "test:server/open", "test:server/closed", "test:server/private"
	r, platform := onPlatform(t, alwaysSay("ok"), map[string][]string{ada.ID: {open, private}})
	r.opts.Rules.Access["test"] = access.Access{SearchEverywhere: true, Unsearched: []string{"private"}}
	r.restart()
	for n, name := range []string{open, closed, private} {
		r.write(name, n+1, "the parrot of "+name+" is called Otto")
	}
	answer := r.runAs(ada, direct, "/recall everywhere: what is the parrot called?").String()
	check.Contains(t, "the answer", answer, "the parrot of "+open, "link:"+open+"/")
	check.Lacks(t, "the answer", answer, closed, private)
	r.says(ada, place, "/recall everywhere parrot", "only in a direct message")
	platform.down = true
	r.says(ada, direct, "/recall everywhere parrot", "could not find out whether you may read some places")
	r.opts.Rules.Access["test"] = access.Access{}
	r.restart()
	r.says(ada, direct, "/recall everywhere parrot", "switched that off")
}

// TestModelSearchesEverywhere checks that the model's tool finds what its person may read, in direct messages alone, and that a
// deletion reaches what it found.
func TestModelSearchesEverywhere(t *testing.T) {
	const open = "test:server/open"
	var offered []bool
	model := func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		tool := req.Tools[slices.IndexFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "recall" })]
		offered = append(offered, strings.Contains(string(tool.Parameters), `"everywhere"`))
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
			return llmtest.Say("done"), nil
		}
		return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "parrot", "everywhere": true})), nil
	}
	r, _ := onPlatform(t, model, map[string][]string{ada.ID: {open}})
	r.write(open, 1, "the parrot is called Otto")
	r.write("test:server/closed", 2, "the parrot is called Klaus")
	r.tell(direct, "what is the parrot called?", addressed)
	r.tell(place, "what is the parrot called?", addressed)
	check.EqualAll(t, "everywhere is offered", offered, []bool{true, true, false, false})
	found := func() string {
		for _, m := range storetest.Load(t, storetest.Find(t, r.store, direct)).Messages {
			if m.Role == llm.RoleTool {
				return m.Text
			}
		}
		return ""
	}
	check.Contains(t, "what the tool found", found(), "called Otto")
	check.Lacks(t, "what the tool found", found(), "Klaus")
	check.NoError(t, privacy.Of(storetest.Find(t, r.store, open)).Delete(t.Context(), []string{storetest.Said(1, "").ID}))
	check.Lacks(t, "what the tool found", found(), "Otto")
}

// TestNobodySearchesWhatTheyMayNotRead places 10 000 messages at random in conversations that people at random may read.
func TestNobodySearchesWhatTheyMayNotRead(t *testing.T) {
	check.SkipUnderRace(t)
	const conversations, each, people = 100, 100, 20
	random := rand.New(rand.NewPCG(7, 7))
	may := map[string][]string{}
	name := func(n int) string { return fmt.Sprintf("test:server/c%d", n) }
	for person := range people {
		for n := range conversations {
			if random.IntN(3) == 0 {
				may[fmt.Sprint("p", person)] = append(may[fmt.Sprint("p", person)], name(n))
			}
		}
	}
	r, _ := onPlatform(t, alwaysSay("ok"), may)
	for n := range conversations {
		c := check.Must(r.store.Conversation(t.Context(), name(n)))(t)
		var said []channel.Inbound
		for i := range each {
			said = append(said, storetest.Said(1+i, fmt.Sprintf("parrot w%d lives in c%d.", random.IntN(50), n)))
		}
		check.Must(c.Past().Import(t.Context(), said))(t)
	}
	leaks := 0
	found := 0
	for person := range people {
		who := access.Person{ID: fmt.Sprint("p", person), Name: "P"}
		for range 3 {
			answer := r.runAs(who, direct+fmt.Sprint(person), fmt.Sprintf("/recall everywhere parrot w%d", random.IntN(50)))
			for _, item := range answer.Items {
				_, link, _ := strings.Cut(item, "link:")
				at, _, _ := strings.Cut(link, "/m")
				found++
				if !slices.Contains(may[who.ID], at) {
					leaks++
				}
			}
		}
	}
	check.Equal(t, "messages found that the person may not read", leaks, 0)
	check.That(t, found > people*3*10, "only %d messages were found", found)
}
