package channel_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// allowing are rules under which each person may spend so much a day.
func allowing(dollars float64) access.Rules {
	return access.Rules{Money: access.Money{Prices: priced, PerPerson: dollars}}
}

// hear has a person ask something in a place, and returns what is sent after that.
func (r *rig) hear(who access.Person, where string) []string {
	r.t.Helper()
	before := len(r.connector.texts())
	r.tell(where, "hello", func(m *channel.Inbound) {
		m.AuthorID = who.ID
		m.Author = who.Name
		m.Addressed = true
	})
	return r.connector.texts()[before:]
}

const adaIsOut = "Your budget for today is used up, so I cannot answer you now. Your message is saved; ask again in 24 hours, when the next day begins, " +
	"or ask the bot's operator to raise budget_per_person."

func TestBudgetOfAPerson(t *testing.T) {
	inBubble(t, billed(30), func(t *testing.T, r *rig) { // midnight
		log := r.withRules(allowing(100)).captureLog()
		hears := func(who access.Person, where string, want ...string) {
			t.Helper()
			check.EqualAll(t, "sent to "+who.Name, r.hear(who, where), want)
		}
		hears(ada, place, "yes")
		hears(ada, "test:2", "yes")
		r.restart()
		hears(ada, place, "yes", "(Ada: your budget for today is nearly used up: $90.00 of $100.00. When it is used up, I stop answering you until 2000-01-02 00:00 UTC.)")
		r.restart()
		hears(ada, place, "yes") // a turn that has started may finish; the warning comes once
		hears(ada, place, adaIsOut)
		hears(ada, "test:2", adaIsOut)
		r.restart()
		hears(ada, place, adaIsOut)
		hears(bo, place, "yes")
		check.Len(t, "requests", r.model.Requests(), 5)
		check.Contains(t, "transcript", strings.Join(r.transcript(), " | "), "user: hello | user: hello | user: hello | assistant: yes")
		check.Equal(t, "failing turns", r.hub.Stats().Failing, 0)
		check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 0)
		r.hub.Renew(allowing(1000))
		hears(ada, place, "yes")
		r.hub.Renew(allowing(100))
		time.Sleep(24 * time.Hour)
		hears(ada, place, "yes")
	})
}

func TestOneExpensiveAnswerUsesTheBudgetUp(t *testing.T) {
	inBubble(t, billed(130), func(t *testing.T, r *rig) {
		r.withRules(allowing(100))
		r.agent.Language = "de"
		check.EqualAll(t, "sent", r.hear(ada, place), []string{
			"yes", "(Ada: Dein Budget für heute ist aufgebraucht: $130.00 von $100.00. Ab 2000-01-02 00:00 UTC antworte ich dir wieder.)",
		})
		check.HasPrefix(t, "the refusal", r.hear(ada, place)[0], "Dein Budget für heute ist aufgebraucht, deshalb kann ich dir jetzt nicht antworten.")
	})
}

// Where nobody must be answered, nobody reads a refusal. Without the setting, nothing is stored about people.
func TestBudgetOfAPersonIsQuiet(t *testing.T) {
	r := newRig(t, billed(130)).withRules(access.Rules{})
	r.hear(ada, place)
	check.Len(t, "people that are counted without the setting", storetest.Rows(t, r.store, "SELECT author_id FROM person_usage"), 0)
	rules := respondRules(access.RespondAll)
	rules.Money = allowing(100).Money
	r.hub.Renew(rules)
	r.hear(ada, place)
	sent := len(r.connector.texts())
	r.post(r.inbound("nobody asked", false))
	check.Len(t, "sent", r.connector.texts(), sent)
	check.Len(t, "requests", r.model.Requests(), 2)
}

// An answer to several people is paid by those who have something left.
func TestPeopleOfOneTurnPayTogether(t *testing.T) {
	r := newRig(t, billed(60)).withRules(allowing(100))
	r.hear(ada, place)
	r.hear(ada, place)
	release := make(chan struct{})
	r.model.Func = while(func(n int) {
		if n == 3 {
			<-release
		}
	}, billed(60))
	ask := func(who access.Person) {
		t.Helper()
		check.NoError(t, r.deliverTo(place, "hello", func(m *channel.Inbound) {
			m.AuthorID = who.ID
			m.Author = who.Name
			m.Addressed = true
		}))
	}
	ask(bo)
	check.Require(t, check.Soon(func() bool { return len(r.model.Requests()) == 3 }), "no third request")
	for _, who := range []access.Person{ada, bo, boss} {
		ask(who)
	}
	close(release)
	r.waitForReplies()
	check.EqualAll(t, "input of each", storetest.Rows(t, r.store, "SELECT author_id, input FROM person_usage ORDER BY author_id"), []string{"u1|120", "u2|90", "u9|30"})
}

// What a person's question starts counts for that person.
func TestTasksCountForWhoAsked(t *testing.T) {
	one := withBilledTokens(llmtest.Say("42"), llm.Usage{Prompt: 90, Completion: 1})
	r := newTaskRig(t, counting, always(one))
	r.withRules(allowing(80))
	r.ask("go")
	r.waitForTask(1)
	r.drainTasks(func(int) {})
	check.EqualAll(t, "input of each", storetest.Rows(t, r.store, "SELECT author_id, input FROM person_usage WHERE input > 0"), []string{"u1|90"})
	check.HasPrefix(t, "the answer to the result", r.lastText(), "Your budget for today is used up")
}
