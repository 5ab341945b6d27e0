package channel_test

import (
	"log/slog"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// withBot starts the hub again with rules by which the bot reads another bot's messages.
func (r *rig) withBot() *rig {
	r.t.Helper()
	return r.withRules(access.Rules{Access: map[string]access.Access{"test": {Bots: []string{"b1"}}}})
}

// byBot makes a message the other bot's, which addresses the bot.
func byBot(m *channel.Inbound) {
	m.AuthorID = "b1"
	m.Author = "Ping"
	m.Bot = true
	m.Addressed = true
}

// wantAnswers has the other bot write until the bot no longer answers, and checks how many answers it gets.
func (r *rig) wantAnswers(what string, want int) {
	r.t.Helper()
	before := len(r.connector.texts())
	for range store.MaxBotTurns + 2 {
		r.tell(place, "ping", byBot)
	}
	check.Equal(r.t, what+": answers to a bot in a row", len(r.connector.texts())-before, want)
}

func TestOtherPrograms(t *testing.T) {
	bot := func(addressed bool) func(*channel.Inbound) {
		return func(m *channel.Inbound) {
			m.AuthorID = "b1"
			m.Bot = true
			m.Addressed = addressed
		}
	}
	r := newRig(t, echo)
	check.Error(t, r.deliverTo(place, "hello", bot(true)), channel.ErrRefused)
	lists := map[string]access.Access{"test": {Bots: []string{"b1"}}}
	r.withRules(access.Rules{Respond: respondRules(access.RespondAll).Respond, Access: lists})
	r.tell(place, "news", bot(false))
	check.Len(t, "answers to a program that did not address the bot", r.connector.texts(), 0)
	for i := range 10 {
		r.tell(place, "ping", func(m *channel.Inbound) {
			bot(true)(m)
			if i < 3 {
				m.ID = "again" // the platform delivers it three times
			}
		})
		check.Len(t, "answers to a program in a row", r.connector.texts(), min(1+max(i-2, 0), 3))
	}
	r.overhear("hello") // a person
	r.tell(place, "ping", bot(true))
	check.Len(t, "answers after a person spoke, who got one, too", r.connector.texts(), 5)
}

func TestBotTurnsAreCountedOnDisk(t *testing.T) {
	t.Run("a restart between two messages changes nothing", func(t *testing.T) {
		r := newRig(t, echo).withBot()
		for range 2 {
			r.tell(place, "ping", byBot)
			r.restart()
		}
		r.wantAnswers("after two and two restarts", 1)
		r.restart()
		r.wantAnswers("after another restart", 0)
		r.overhear("go on, you two")
		r.restart()
		r.wantAnswers("after a person's message and a restart", 3)
	})
	t.Run("a conversation that leaves memory changes nothing", func(t *testing.T) {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.withBot()
			for range 2 {
				r.tell(place, "ping", byBot)
				time.Sleep(2 * channel.DefaultIdle)
			}
			r.wantAnswers("after two and two evictions", 1)
		})
	})
	t.Run("a message that could not be stored does not count", func(t *testing.T) {
		r := newRig(t, echo).withBot()
		accept := storetest.Refuse(t, r.store, "INSERT ON inbox", "full")
		for range 5 {
			check.ErrorContains(t, "delivery", r.deliverTo(place, "ping", byBot), "full")
		}
		accept()
		r.wantAnswers("after five that failed", 3)
	})
	t.Run("one log line reports it", func(t *testing.T) {
		r := newRig(t, echo).withBot()
		log := r.captureLog()
		r.wantAnswers("first", 3)
		r.wantAnswers("then", 0)
		check.Equal(t, "lines", log.lines(slog.LevelWarn, "bot_turns_reached .*limit=3"), 1)
	})
	t.Run("the result of a task is neither a person's message nor a bot's", func(t *testing.T) {
		r := newTaskRig(t, counting, alwaysSay("done")).withBot()
		r.tell(place, "go", byBot)
		r.drainTasks(func(int) {})
		check.Contains(t, "the last answer", r.lastText(), "they say")
		r.wantAnswers("after one and the result of its task", 2)
	})
}

// botTalk are messages of a person and of a bot that the connector's history has: three old ones and a young one by the bot.
func botTalk() []channel.Inbound {
	talk := []channel.Inbound{
		pastMessage("1", "one", 5*time.Hour, false), pastMessage("2", "two", 4*time.Hour, true), pastMessage("3", "three", 3*time.Hour, true),
		pastMessage("4", "four", 2*time.Hour, true), pastMessage("5", "five", time.Minute, true),
	}
	for i := range talk[1:] {
		byBot(&talk[i+1])
	}
	return talk
}

func TestMissedMessagesOfBots(t *testing.T) {
	p := &platform{messages: botTalk()}
	r := newRig(t, echo).throughConnector(p).withBot()
	r.post(p.messages[0])
	r.away()
	r.catchUp()
	check.Len(t, "answers to the missed ones", r.connector.texts(), 1)
	r.wantAnswers("after three old ones and one that was answered", 2)
}
