package channel_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneCauseThatKeepsManyConversationsIsOneWarning(t *testing.T) {
	r := newRig(t, echo)
	log := r.logged()
	disk := must(sql.Open("sqlite3", filepath.Join(r.dir, "cairn.db")+"?_busy_timeout=5000"))(t)
	defer disk.Close()
	execute := func(query string) {
		t.Helper()
		must(disk.Exec(query))(t)
	}
	execute("ALTER TABLE compactions RENAME TO elsewhere")
	const many = 5
	where := func(i int) string { return fmt.Sprint("test:server/", i) }
	for i := range many {
		noError(t, r.deliver(where(i), "hello", addressed))
		if err := r.hub.Idle(t.Context(), where(i)); err == nil {
			t.Fatal("it goes on")
		}
	}
	expect(t, "conversations count as stuck", r.hub.Stats().Stuck, many)
	execute("ALTER TABLE elsewhere RENAME TO compactions")
	for i := range many {
		noError(t, r.deliver(where(i), "and now?", addressed))
		r.settled(where(i))
	}
	if warned, over := log.count("level=WARN"), log.count("conversations_recovered"); warned != 1 || over != 1 || r.hub.Stats().Stuck != 0 {
		t.Errorf("%d warnings, %d times told to be over, %d are stuck in\n%s", warned, over, r.hub.Stats().Stuck, log.text.String())
	}
}

func TestAReplyThatCannotBeSentForAWhileIsOneWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		r := newRig(t, echo)
		r.stop()
		r.opts.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r.start()
		r.connector.note(func() { r.connector.fails = 3 })
		r.say("hello", true)
		r.idle()
		equal(t, "sent", r.connector.texts(), []string{"answer 1"})
		if warned, tried := log.count("level=WARN"), log.count("send_reply_failed"); warned != 1 || tried != 3 {
			t.Errorf("%d warnings for %d tries", warned, tried)
		}
		r.stop()
	})
}

func TestAConversationThatPanicsIsLoadedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		log := r.logged()
		r.say("hello", true)
		r.idle()
		for _, text := range []string{"and now?", "and then?"} {
			r.connector.panics.Store(1)
			r.say(text, true)
			synctest.Wait()
			noError(t, r.deliver("test:server/other", text, addressed)) // no one else waits
			r.settled("test:server/other")
			time.Sleep(time.Minute)
			r.idle()
		}
		equal(t, "transcript", r.transcript(), []string{
			"user: hello", "assistant: answer 1", "user: and now?", "assistant: answer 3", "user: and then?", "assistant: answer 5",
		})
		expect(t, "panics are logged", log.count("conversation_panicked"), 2)
		r.stop()
	})
}
