package channel_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// keep stores a memory as a summary's worker does, and returns its number.
func (r *rig) keep(draft summarize.MemoryDraft, who access.Person) int64 {
	r.t.Helper()
	request := memory.KeepRequest{MemoryDraft: draft, Person: who.Name, PersonID: who.ID}
	return check.Must(memory.Of(check.Must(r.store.Conversation(r.t.Context(), place))(r.t)).Keep(r.t.Context(), request))(r.t).ID
}

func TestForgetCommand(t *testing.T) {
	const other = "test:server/other"
	r := newRig(t, echo)
	for _, fact := range []string{"the standup is at 9:30", "Ada drinks green tea", "Ada drinks black coffee", "the garden has 9 beds"} {
		r.says(ada, place, "/remember "+fact, "Saved as memory")
	}
	r.says(boss, other, "/remember the token is ghp_"+"k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1", "memory 5: the token is [masked: github pat]")
	r.overhear("hello")
	r.keep(summarize.MemoryDraft{Kind: "fact", Content: "Ada has a scar", About: "ada"}, bo)
	fake := access.Person{ID: "u3", Name: "Ada"} // another person may not, under any name
	for _, who := range []access.Person{bo, fake, {}} {
		for _, line := range []string{"/forget 1", "/forget #1", "/memories pin 1", "/memories restore 1"} {
			r.says(who, place, line, "did not come from you and is not about you")
		}
	}
	for _, row := range []struct {
		who         access.Person
		where, line string
		want        []string
	}{
		// The author may, and sees what remains and how to undo it.
		{ada, place, "/forget 1", []string{"Memory 1 is forgotten: the standup is at 9:30", "The messages it came from remain", "/memories restore 1", "purge 1"}},
		{ada, place, "/forget 1", []string{"Memory 1 is forgotten, so this changes nothing"}},
		{ada, place, "/memories standup", []string{"No memories here match that"}},
		{bo, place, "/memories restore 1", []string{"did not come from you"}},
		{ada, place, "/memories restore 1", []string{"is restored"}},
		{ada, place, "/memories restore 1", []string{"Memory 1 is active, so this changes nothing"}},
		{ada, place, "/memories standup", []string{"9:30"}},
		// A manager may forget any memory.
		{boss, place, "/forget 1", []string{"is forgotten"}},
		{ada, place, "/remember The STANDUP is at 9:30", []string{"as memory 7"}},
		{boss, place, "/memories restore 1", []string{"another one now says the same"}},
		// Words list the memories to choose from.
		{ada, place, "/forget drinks", []string{"Which one? Give its number: /forget 12.", "(2) fact: Ada drinks green tea", "(3) fact"}},
		{ada, place, "/forget bicycles", []string{"No memories here match that"}},
		{ada, place, "/forget 2", []string{"Memory 2 is forgotten: Ada drinks green tea"}},
		// A memory of another conversation is not found.
		{boss, other, "/forget 4", []string{"This conversation has no memory"}},
		{boss, other, "/memories pin 4", []string{"This conversation has no memory"}},
		{boss, other, "/memories restore 2", []string{"This conversation has no memory"}},
		{boss, other, "/forget garden", []string{"No memories here match that"}},
		// Others may forget what somebody said about them.
		{fake, place, "/forget 6", []string{"did not come from you"}},
		{ada, place, "/forget 6", []string{"is forgotten"}},
	} {
		r.says(row.who, row.where, row.line, row.want...)
	}
	for _, args := range []string{"restore 2", "garden", `"`, "%", "*", "'; DROP TABLE memories; --", "the", "-1", "99999999999999999999"} {
		check.Lacks(t, args, r.says(ada, place, "/forget "+args), "is forgotten")
	}
	r.hub.Renew(access.Rules{Restricted: []string{"forget"}})
	r.says(ada, place, "/forget 4", "for people who manage this place")
	check.Lacks(t, "/compact, restricted by default", r.says(ada, place, "/compact"), "for people who manage")
	check.Len(t, "suggestions", check.Must(r.hub.Suggest(t.Context(), place, ada, "forget", ""))(t), 0)
	r.says(boss, place, "/forget 4", "is forgotten: the garden has 9 beds")
}

func TestMemoriesCommand(t *testing.T) {
	r := newRig(t, echo)
	r.overhear("I decided to move")
	for i := range 25 {
		r.runAs(ada, place, fmt.Sprintf("/remember the garden has %d beds", i+100))
	}
	r.keep(summarize.MemoryDraft{Kind: "decision", Content: "Ada moves to Bergen", Messages: []int64{1}, About: "Ada"}, access.Person{Name: "Bo"})
	list := func(args string, items int) command.Answer {
		t.Helper()
		got := r.runAs(bo, place, "/memories"+args)
		check.Len(t, "/memories"+args, got.Items, items)
		return got
	}
	all := list("", 26)
	check.Equal(t, "pages", all.Pages(), 3)
	check.EqualAll(t, "pages before the first and after the last", []string{all.Page(-1), all.Page(7)}, []string{all.Page(0), all.Page(2)})
	check.Contains(t, "page 2", all.Page(2), "beds (Ada", "(page 3 of 3)")
	check.Lacks(t, "page 2", all.Page(2), all.Items[19])
	check.HasPrefix(t, "item", list(" Bergen", 1).Items[0], "(26) decision: Ada moves to Bergen (Bo, about Ada, ")
	for args, items := range map[string]int{" kind:decision": 1, " KIND:Fact": 25, " kind:fact Bergen": 0, " Bergen kind:decision": 1, " kind:todo": 0} {
		list(args, items)
	}
	r.says(bo, place, "/memories kind:rumour", `no memory kind "rumour"`, "identity, goal")
	r.says(boss, place, "/memories pin 26", "neither expires nor fades")
	r.says(bo, place, "/memories Bergen", "pinned)")
	r.says(boss, place, "/memories unpin 26", "no longer")
	check.Lacks(t, "after /memories unpin", r.says(bo, place, "/memories pinned beds")+r.says(bo, place, "/memories Bergen"), "pinned)")
	// A truncated list says so.
	for i := range 175 {
		r.keep(summarize.MemoryDraft{Kind: "fact", Content: fmt.Sprintf("row %d", i)}, ada)
	}
	above := list("", 200).Text
	check.That(t, strings.HasPrefix(above, "1 to 200 of 201. ") && strings.HasSuffix(above, "page:2."), "got the list under %q", above)
	check.Equal(t, "text above the rest", list(" page:2", 1).Text, "201 to 201 of 201. Narrow the list with words or kind:KIND.")
	check.That(t, len(r.runAs(bo, place, "/memories row page:-1").Items) > 0, "got nothing for ordinary search words")
}

func TestRememberForServer(t *testing.T) {
	const other, private, direct = "test:server/other", "test:server/private", "test:@me/1"
	r := newRig(t, echo)
	for name, audience := range map[string]channel.Audience{place: channel.ServerWide, other: channel.ServerWide, private: channel.Members, direct: channel.ServerWide} {
		check.NoError(t, r.deliverTo(name, "hello", func(m *channel.Inbound) { m.Audience = audience }))
	}
	r.says(ada, place, "/remember server: alpha is down", "as memory 1: server: alpha is down") // without shared memories a scope word is text
	r.says(ada, place, "/memories alpha", "server: alpha is down")
	memory.In(r.store).Share(true)
	for _, row := range [][3]string{ // with them a person chooses the scope
		{place, "/remember the cake is in the red cupboard", "Saved as memory"},
		{place, "/remember Server: the keys are in the blue cupboard", "All public channels"},
		{other, "/memories cupboard", "blue cupboard (Ada"},
		{other, "/memories keys", "from " + place},
		{private, "/memories cupboard", "No memories here match that"},
		{direct, "/memories cupboard", "No memories here match that"},
		{other, "/memories cake", "No memories here match that"},
		{other, "/forget keys", "from " + place},
		{other, "/forget 3", "This conversation has no memory 3. Change memories of another conversation there"},
		// Repeated for the server, a memory is shared.
		{place, "/remember server: the cake is in the red cupboard", "already have that as memory"},
		{other, "/memories cake", "red cupboard"},
		{place, "/remember server:", "What should I remember?"},
		{private, "/remember server: the secret is plum", "Memories of this conversation stay here"},
		{private, "/remember the secret is plum", "Saved as memory"},
		{direct, "/remember server: the secret is plum", "Memories of this conversation stay here"},
		{direct, "/remember the secret is plum", "Saved as memory"},
		{other, "/memories plum", "No memories here match that"},
	} {
		r.says(ada, row[0], row[1], row[2])
	}
}

// askForTurnContext asks the bot, and returns the turn context of the request.
func (r *rig) askForTurnContext(text string) string {
	r.t.Helper()
	r.ask(text)
	all := r.model.Requests()
	text = lastText(all[len(all)-1])
	return text[max(strings.LastIndex(text, "\n<now>\n"), 0):]
}

// withRecall returns a conversation in which a fact has left the window.
func withRecall(t *testing.T, f func(*rig)) *rig {
	t.Helper()
	r := newRig(t, alwaysSay("ok"))
	r.agent.Recall = 600
	r.model.Tokens = 3000
	r.setFilePolicy(func(p *compactor.Policy) { p.KeepFirst = 0 })
	f(r)
	r.ask("My sister Ophelia keeps bees behind the lighthouse.")
	block := r.askForTurnContext("What does Ophelia keep?") // which is still shown
	check.Contains(t, "turn context", block, "time: ")
	check.Lacks(t, "turn context", block, "bees")
	for i := range 50 {
		r.say(fmt.Sprintf("day %d: the weather was as it is in this season, and nothing worth a word happened in our street.", i), false)
	}
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	return r
}

func TestMessageTriggersRecall(t *testing.T) {
	r := withRecall(t, func(r *rig) {
		r.tell(place, "", func(m *channel.Inbound) {
			m.Attachments = []channel.Attachment{{Kind: "image", Name: "a.png", Caption: "a walrus on a raft"}}
		})
	})
	r.run("/remember Ophelia is allergic to honey")
	block := r.askForTurnContext("What is Ophelia allergic to?")
	check.Contains(t, "turn context", block, `"Ophelia is allergic to honey" (fact, said by Ada on `,
		`- #2, Ada on `, `"My sister Ophelia keeps bees behind the lighthouse."`, "as data:")
	check.Lacks(t, "turn context", block, "What is Ophelia allergic to?")
	check.Contains(t, "caption", r.askForTurnContext("Who has a walrus?"), `"[image: a.png, a walrus on a raft]"`)
	// Recall stays within its budget.
	for _, budget := range []int{60, 100_000} {
		r := withRecall(t, func(r *rig) { r.agent.Recall = budget })
		for i := range 5 {
			r.run(fmt.Sprintf("/remember Ophelia has been to town %d with her bees and %s", i, strings.Repeat("many other things ", 10)))
		}
		block := r.askForTurnContext("Where has Ophelia been with her bees?")
		most := min(budget, 3000/20) + tokens.Estimate("\n<now>\ntime: 2026-01-01 00:00 UTC; context window used: 100 %\n</now>") + 5
		check.That(t, tokens.Estimate(block) <= most, "budget %d: got a turn context of %d tokens, want at most %d: %s", budget,
			tokens.Estimate(block), most, block)
		check.Contains(t, "turn context", block, "Ophelia")
	}
}

func TestRecallCommand(t *testing.T) {
	r := newRig(t, echo)
	r.overhear("My sister Ophelia keeps bees behind the lighthouse.")
	rain := strings.Repeat("It rained. ", 200)
	r.tell(place, "see there", func(m *channel.Inbound) {
		m.Attachments = []channel.Attachment{
			{Kind: "image", Name: "a.png", Caption: "a walrus on a raft"},
			{Kind: "file", Name: "b.txt", Text: rain + "The vault opens with 7461. " + rain},
		}
	})
	r.run("/remember Ophelia is allergic to honey")
	_, afterMemory, _ := strings.Cut(r.run("/recall what does Ophelia keep?"), "fact: Ophelia is allergic to honey (Ada, ")
	check.Contains(t, "what follows the memory", afterMemory, "#1 ", "Ada: My sister Ophelia keeps bees behind the lighthouse.")
	r.wantAnswer("/recall", "What should I look for?")
	r.wantAnswer("/recall xylophone", `I found nothing here about "xylophone".`)
	r.wantAnswer("/recall walrus", "see there [image: a.png, a walrus on a raft]")
	matched := r.wantAnswer("/recall vault", "The vault opens with 7461.") // of a file, the part that matched
	check.That(t, len(matched) <= 1200, "got %d characters", len(matched))
}

// Someone who is still typing has not finished the last word.
func TestSuggestions(t *testing.T) {
	r := newRig(t, echo)
	for _, text := range []string{"the hotel in Bergen is booked", "Café Müller opens at nine", "the train to Berlin leaves at ten"} {
		r.run("/remember " + text)
	}
	for typed, want := range map[string]string{
		"ho": "1", "hot": "1", "hotel": "1", "hotels": "", "HOTEL ber": "1", "ber": "3 1", "caf": "2", "mül op": "2", "mul": "2", "xyzzy": "", "100%": "", "o_": "", "": "3 2 1",
	} {
		numbers := storetest.Map(r.suggest("forget", typed), func(c command.Choice) string { return c.Value })
		check.Equal(t, fmt.Sprintf("suggestions for %q", typed), strings.Join(numbers, " "), want)
	}
	for i := range 23 {
		r.run(fmt.Sprintf("/remember the garden has %d beds", i+100))
	}
	check.Len(t, "suggestions", r.suggest("forget", ""), 25)
	check.Len(t, "suggestions", r.suggest("context", ""), 0)
}

func TestRecallByPersonAndTime(t *testing.T) {
	r := newRig(t, echo)
	for i, name := range []string{"Ada Lovelace", "Bob"} {
		m := r.inbound("the hotel of "+name+" is by the sea", false)
		m.AuthorID = fmt.Sprint("p", i)
		m.Author = name
		r.post(m)
	}
	for line, want := range map[string]string{
		"hotel by:ada":                 "the hotel of Ada",
		"by:@bob order:oldest":         "the hotel of Bob",
		`by:"Ada Lovelace" since:2d`:   "the hotel of Ada",
		"hotel by:<@p1>":               "the hotel of Bob",
		"hotel until:yesterday":        "I found nothing here",
		"by:Eve":                       `Nobody here is called "Eve". I know these names: Ada Lovelace, Bob.`,
		"hotel since:soon":             `I cannot read "soon" after since: as a time.`,
		"hotel order:size":             `There is no order "size". Use best, newest or oldest.`,
		"":                             "What should I look for?",
		"order:oldest until:tomorrow2": "I cannot read",
		"did we agree on order: pizza": `I found nothing here about "did we agree on order: pizza".`,
		"until: noon by: the sea":      "the hotel of Ada",
		"order: Oldest by: Bob":        "the hotel of Bob",
	} {
		r.wantAnswer("/recall "+line, want)
	}
	check.Lacks(t, "of Ada alone", r.wantAnswer("/recall by:ada", "of Ada"), "of Bob")
	check.Lacks(t, "of Bob alone", r.wantAnswer("/recall hotel by: Bob", "of Bob"), "of Ada")
	for typed, want := range map[string]string{"": "Ada Lovelace Bob", "lo": "Ada Lovelace", "@B": "Bob", "x": ""} {
		names := storetest.Map(r.suggest("recall", typed), func(c command.Choice) string { return c.Value })
		check.Equal(t, fmt.Sprintf("names for %q", typed), strings.Join(names, " "), want)
	}
}

func TestDeletedMemoryLeavesPrompt(t *testing.T) {
	const fact = "Ophelia is allergic to honey"
	for _, when := range []string{"during a turn", "between turns", "by another process, also from what a search found"} {
		r := newRig(t, nil)
		r.agent.Recall = 600
		r.run("/remember " + fact)
		remove := func(now bool) {
			if now {
				check.Error(t, memory.In(r.store).Forget(t.Context(), 1), nil)
			}
		}
		r.model.Func = while(func(n int) { remove(n == 1 && when == "during a turn") }, echo)
		if when[:2] == "by" {
			r.model.Func = inTurn(useTool("memory_search", map[string]any{"query": "honey"}), llmtest.Say("ok"))
		}
		r.ask("What does Ophelia keep?")
		check.Contains(t, when+": prompt", r.lastRequestText(), fact)
		remove(when == "between turns")
		if when[:2] == "by" {
			storetest.SQLiteOnly(t, "a number that changes with each write of another process")
			other := storetest.OpenBeside(t, r.dir)
			defer other.Close()
			check.NoError(t, memory.In(other).Purge(t.Context(), 1))
		}
		r.ask("and what else is there to tell")
		check.Lacks(t, when+": next prompt", r.lastRequestText(), fact)
	}
}
