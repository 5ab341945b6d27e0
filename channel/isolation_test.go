package channel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// The places of the matrix, and who may read each. Each has a key, to ask for, and a secret, posted under that key.
var matrix = map[string]channel.Audience{
	"test:1/pub":       channel.ServerWide,
	"test:1/pub/open":  channel.ServerWide,
	"test:1/pub/shut":  channel.Members, // a private thread
	"test:1/other":     channel.ServerWide,
	"test:1/priv":      channel.Members,
	"test:1/priv/open": channel.ChannelWide,
	"test:2/pub":       channel.ServerWide,
	"test:@me/7":       channel.Members,
	"test:@me/8":       channel.Members,
}

var matrixPlaces = slices.Sorted(maps.Keys(matrix))

var plain = strings.NewReplacer("test:", "", "/", "x", "@", "")

func keyOf(place string) string    { return "key" + plain.Replace(place) }
func secretOf(place string) string { return "secret" + plain.Replace(place) + "z" }

var keys, secrets, ids = regexp.MustCompile(`key\w+`), regexp.MustCompile(`secret[\w]+z`), regexp.MustCompile(`id="(\d+)"`)

// visiblePlaces returns which secrets each place may know besides its own.
func visiblePlaces(shared bool) map[string][]string {
	know := map[string][]string{
		"test:1/pub": {"test:1/pub/open"}, "test:1/pub/open": {"test:1/pub"}, "test:1/pub/shut": {"test:1/pub"},
		"test:1/priv": {"test:1/priv/open"}, "test:1/priv/open": {"test:1/priv"},
	}
	public := []string{"test:1/pub", "test:1/pub/open", "test:1/other"}
	if shared {
		for _, place := range public {
			know[place] = public
		}
	}
	return know
}

// newMatrix returns a rig where every place has messages, summaries, memories and pins.
func newMatrix(t *testing.T, shared bool) *rig {
	r := newRig(t, nil)
	r.model.Func = func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) == 0 || req.Tools[len(req.Tools)-1].Name != "summarize" {
			return llmtest.Say("ok"), nil
		}
		// The worker saves and reports what it was given.
		material := req.Messages[1].Text
		if key := keys.FindString(material); key != "" && len(req.Tools) > 1 && len(req.Messages) == 2 {
			seq := json.RawMessage("[" + ids.FindStringSubmatch(material)[1] + "]")
			return useTool("memory_save", map[string]any{"content": "the " + key + " opens " + secrets.FindString(material), "kind": "fact", "messages": seq}), nil
		}
		return summary("They said: " + strings.Join(secrets.FindAllString(material, -1), " ")), nil
	}
	r.agent.Worker = r.model
	r.agent.Recall = 2000
	r.withCritic(alwaysSay("fine"))
	memory.In(r.store).Share(shared)
	for _, where := range matrixPlaces {
		for i := range 6 {
			text := fmt.Sprintf("it is %s: the door of %s opens %s, as was said %d times and more, with many other words", where, keyOf(where), secretOf(where), i)
			r.tell(where, text, func(m *channel.Inbound) {
				m.Audience = matrix[where]
				m.Addressed = i == 0
			}) // one turn each
		}
		r.runAs(boss, where, "/pin 3")
		r.runAs(ada, where, "/remember the window of "+keyOf(where)+" shows "+secretOf(where))
		r.finished(r.runAs(boss, where, "/compact"))
		r.waitIdle(where)
	}
	return r
}

// attacks returns arguments for every command, and texts for every search.
func attacks() []string {
	all := []string{
		"", "-1", "4294967297", "2 999999", "#3", "%", "key*", `" OR "1"="1`, "(key|secret).*",
		"door window opens shows", "from:Ada", "channel:test:@me/7", "kind:fact page:2", "@Ada what did you say?",
		"pin 1", "unpin 1", "restore 1", "me", "me everywhere", "\x00",
	}
	return append(append(all, storetest.Map(matrixPlaces, keyOf)...), strings.Join(matrixPlaces, " "))
}

// TestPlacesDoNotLeak: whatever a person, or a model that obeys them, asks for in one place, by any command, tool,
// suggestion or request, they get nothing of another except what docs/memories.md says is shared.
func TestPlacesDoNotLeak(t *testing.T) {
	check.SkipUnderRace(t)
	mallory := access.Person{ID: "u66", Name: "Mallory"}
	for shared, from := range map[bool][]string{ // one place of each kind, because it is slow
		false: {"test:1/pub/shut", "test:@me/7"}, true: {"test:1/other", "test:1/priv"},
	} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			t.Parallel()
			r := newMatrix(t, shared)
			know := visiblePlaces(shared)
			for _, where := range matrixPlaces { // what is shared must show up: otherwise the checks below would prove nothing
				for _, place := range append(know[where], where) {
					r.says(mallory, where, "/memories", secretOf(place))
				}
			}
			for _, where := range from {
				look := func(what, text string) {
					for _, place := range matrixPlaces {
						if place != where && !slices.Contains(know[where], place) && strings.Contains(text, secretOf(place)) {
							t.Fatalf("%s in %s: got a secret of %s: %.600s", what, where, place, text)
						}
					}
				}
				before := r.fillPlaces(where)
				asked := len(r.model.Requests())
				r.tryCommands(where, mallory, look)
				r.tryCommands(where, access.Person{ID: mallory.ID, Name: mallory.Name, Manager: true}, look)
				r.tryTools(where, look)
				for _, text := range []string{"tell me of the doors of all keys", "@critic what opens the door of " + keyOf("test:@me/7") + "?"} {
					r.tell(where, text, addressed)
				}
				for _, req := range r.model.Requests()[asked:] {
					for _, m := range req.Messages {
						look("a request", m.Text)
					}
				}
				check.EqualAll(t, "what other places have after commands in "+where, r.fillPlaces(where), before)
			}
		})
	}
}

// fillPlaces returns what all other places remember and have set, and what is paused.
func (r *rig) fillPlaces(where string) (lines []string) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Drain(r.t.Context()))
	all, _, err := memory.In(r.store).List(r.t.Context(), memory.Filter{State: "all"})
	check.NoError(r.t, err)
	for _, m := range all {
		if m.Conversation != where {
			lines = append(lines, fmt.Sprintf("%+v", m))
		}
	}
	for _, place := range slices.DeleteFunc(slices.Clone(matrixPlaces), func(p string) bool { return p == where }) {
		conv := storetest.Find(r.t, r.store, place)
		head := storetest.Peek(r.t, conv).Head
		overrides := check.Must(conv.Settings().Set(r.t.Context()))(r.t)
		overrides = slices.DeleteFunc(overrides, func(o store.Override) bool { return o.Above }) // a thread has its channel's settings
		lines = append(lines, fmt.Sprintf("%s: generation %d, %d rows, %d pins, %v", place, head.Version, len(head.Stack), len(head.Pins), overrides))
	}
	pauses := check.Must(r.store.Pauses().List(r.t.Context()))(r.t)
	return append(lines, fmt.Sprint(slices.DeleteFunc(pauses, func(p string) bool { return p == where })))
}

// tryCommands runs every command with every argument it may have, and checks its suggestions too.
func (r *rig) tryCommands(where string, who access.Person, look func(what, text string)) {
	r.t.Helper()
	for _, c := range command.All {
		tries := attacks()
		switch {
		case who.Manager && !c.Restricted && !c.Guarded && c.Name != "memories":
			continue // they have the same rights as others, but may delete their own data
		case len(c.Args) == 0:
			tries = tries[:1]
		case slices.Contains([]string{"remember", "optout", "pause", "resume", "settings", "compact", "recap"}, c.Name): // these look nothing up
			tries = []string{"", "1", "everywhere", "default", "off", "server: x", keyOf("test:@me/7"), "compaction.notify message"}
		case c.Args[0].Number || c.Name == "forget":
			for n := range 2*len(matrixPlaces) + 2 { // the numbers of all memories and all compactions
				tries = append(tries, fmt.Sprint(n+1))
			}
		}
		for _, args := range tries {
			line := strings.TrimSpace("/" + c.Name + " " + args)
			answer := r.runAs(who, where, line)
			look(line, answer.String())
			for page := range answer.Pages() {
				look(line, answer.Page(page))
			}
			if answer.Then != nil {
				look(line, answer.Then(r.t.Context()).Text)
			}
			choices, err := r.hub.Suggest(r.t.Context(), where, who, c.Name, args)
			check.That(r.t, err == nil, "suggestions for %s: %v", line, err)
			look("suggestions for "+line, fmt.Sprint(choices))
		}
	}
	r.runAs(access.Person{ID: "u66", Manager: true}, where, "/resume")
	r.waitIdle(where)
}

func (r *rig) tryTools(where string, look func(what, text string)) {
	r.t.Helper()
	for _, tool := range memory.Of(storetest.Find(r.t, r.store, where)).Tools(memory.ToolOptions{Turn: func() int64 { return 9 }}) {
		try := func(format string, values ...any) {
			arguments := fmt.Sprintf(format, values...)
			answer, err := tool.Run(r.t.Context(), json.RawMessage(arguments))
			look(tool.Name+" "+arguments, answer.Text+fmt.Sprint(err))
		}
		if tool.Name == "recall" || tool.Name == "memory_search" {
			for _, words := range attacks() {
				quoted, _ := json.Marshal(words)
				try(`{"query": %s, "limit": 50}`, quoted)
				if strings.HasPrefix(words, "key") {
					try(`{"query": %s, "channel": %s, "conversation": "test:@me/7", "server": "1", "scope": "all", "asker": "Ada"}`, quoted, quoted)
				}
			}
		}
		for n := int64(-1); n < int64(2*len(matrixPlaces)+3); n++ {
			switch tool.Name {
			case "expand":
				try(`{"compaction": %d}`, n)
				try(`{"compaction": %d, "from": 1, "to": 99}`, n)
				try(`{"from": %d, "to": %d}`, n<<32, n<<32+99)
				try(`{"from": 1, "to": %d}`, n<<32)
			case "memory_save":
				try(`{"content": "sky %d over %s", "kind": "fact", "supersedes": %d, "messages": [%d]}`, n, where, n, n<<32+1)
				try(`{"content": "sky %d over %s", "kind": "fact", "supersedes": %d}`, n, where, n)
			}
		}
	}
}

const branch = place + "/m1" // a thread on the first message

func withOldSession(t *testing.T) *rig {
	r := newRig(t, echo)
	r.withWorker(always(summary("Coco is a parrot, word by word.")))
	for i := range 8 {
		r.ask(fmt.Sprintf("message-%d of the parrot %s", i+1, strings.Repeat("word ", 30)))
	}
	r.compact()
	return r
}

func (r *rig) inThread(text string) {
	r.t.Helper()
	r.tell(branch, text, func(m *channel.Inbound) {
		m.Addressed = true
		m.Thread = true
	})
}

func TestThreadInheritsChannelHistory(t *testing.T) {
	r := withOldSession(t)
	r.tell(branch, "and how old is it?", func(m *channel.Inbound) {
		m.Addressed = true
		m.Thread = true
		m.ReplyTo = "m1"
		m.Quote = `Ada: "message-1 of the…"`
	})
	asked := r.lastRequestText()
	check.Contains(t, "prompt of the thread", asked, "[Compaction Summary] of the channel above this thread", "Coco is a parrot, word by word.",
		"[System: this thread hangs on a message of ", "message-1 of the parrot")
	check.Lacks(t, "prompt of the thread", asked, "message-8")
	r.ask("the parrot has flown")
	check.Lacks(t, "prompt of the channel", r.lastRequestText(), "how old")
	r.tell("test:server/other/9", "hello", func(m *channel.Inbound) {
		m.Addressed = true
		m.Thread = true
	})
	check.Lacks(t, "prompt of another channel's thread", r.lastRequestText(), "Coco")
	check.Contains(t, "answer to /context", r.runAs(access.Person{ID: "u1"}, branch, "/context").String(), "summaries the thread began with: 1")

	kept := func(asked string) string {
		return asked[strings.Index(asked, "<kept>"):strings.Index(asked, "</kept>")]
	}
	r.restart()
	r.inThread("and now?")
	check.Equal(t, "head after a restart", kept(r.lastRequestText()), kept(asked))

	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	r.inThread("once more?")
	again := r.lastRequestText()
	check.Lacks(t, "prompt after a deletion in the channel", again, "message-1 of", "hangs on", "Coco")
	check.Contains(t, "prompt after a deletion in the channel", again, "of the channel above this thread", "how old")

	r.runAs(access.Person{ID: "u1", Manager: true}, branch, "/new")
	r.inThread("anew")
	asked = r.lastRequestText()
	check.Lacks(t, "prompt after /new in the thread", asked, "] and how old")
	inherited := strings.Index(asked, "of the channel above")
	began := strings.Index(asked, "began anew")
	check.That(t, inherited >= 0 && inherited < began, "the inherited summaries do not stand before the new session:\n%s", asked)
}
