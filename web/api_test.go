package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/store"
)

func TestConversationsAPI(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden, hostile = "terminal:garden", "terminal:a/../b%2F ?#\"<script>"
	r.talk(garden, 5)
	r.talk(hostile, 1)

	t.Run("a list has how full each is, and finds names", func(t *testing.T) {
		list := get[conversationList](r, "/api/conversations?limit=1")
		check.That(t, list.Total == 2 && len(list.Conversations) == 1 && list.Conversations[0].Channel == hostile, "%+v", list)
		r.do(200, &list, "GET", "/api/conversations?q=GARD", "")
		if len(list.Conversations) != 1 || list.Conversations[0].Used < 500 || list.Conversations[0].Max != 8000 || list.Conversations[0].Messages != 10 {
			t.Errorf("%+v", list)
		}
	})
	t.Run("one shows what cairn context shows, and its policy with origins", func(t *testing.T) {
		one := get[conversationAnswer](r, at(garden, ""))
		if one.Channel != garden || one.Messages != 10 || one.Max != 8000 || len(one.Settings) == 0 || one.Settings[0].Origin != "built in" {
			t.Errorf("%+v", one)
		}
	})
	t.Run("a name with slashes and signs is percent-encoded", func(t *testing.T) {
		one := get[conversationAnswer](r, at(hostile, ""))
		check.Equal(t, "channel", one.Channel, hostile)
		r.do(404, nil, "GET", "/api/conversations/terminal:a/b", "")
	})
	t.Run("messages are paged from the newest on", func(t *testing.T) {
		var seen []int64
		for before := int64(0); ; {
			query := "?limit=4"
			if before > 0 {
				query += fmt.Sprint("&before=", before)
			}
			list := get[messageList](r, at(garden, "/messages"+query))
			for i := len(list.Messages) - 1; i >= 0; i-- {
				seen = append(seen, list.Messages[i].Seq)
			}
			if before = list.Before; before == 0 {
				break
			}
		}
		check.Equal(t, "seqs of all pages", fmt.Sprint(seen), "[10 9 8 7 6 5 4 3 2 1]")
	})
	t.Run("q finds messages", func(t *testing.T) {
		list := get[messageList](r, at(garden, "/messages?q=plot+3"))
		check.That(t, len(list.Messages) != 0 && list.Messages[0].Seq == 7 && list.Messages[0].Match != "", "%+v", list)
	})
}

func TestCompactAndUndo(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden = "terminal:garden"
	r.talk(garden, 8)
	watch := r.watch("", "")
	var job jobAnswer
	r.do(202, &job, "POST", at(garden, "/compact"), `{"focus": "tulips", "keep_last_n": 4}`)
	check.Equal(t, "the job", job.State, "started")
	check.Equal(t, "start of the compaction", job.From, 1)
	check.Equal(t, "end of the compaction", job.To, 12)
	applied := watch.until(t, `"state":"applied"`)
	check.Contains(t, "applied", applied, `"before_tokens":`)
	check.Lacks(t, "applied", applied, `"after_tokens":0`)
	list := get[summaryList](r, at(garden, "/summaries"))
	check.Len(t, "the stack", list.Stack, 1)
	t.Run("a summary leads to its messages, page by page", func(t *testing.T) {
		one := get[summaryAnswer](r, at(garden, fmt.Sprintf("/summaries/%d?limit=10", list.Stack[0].ID)))
		if len(one.Messages) != 10 || one.From != 11 || one.Summary.To != 12 {
			t.Errorf("%d messages, from %d, %+v", len(one.Messages), one.From, one.Summary)
		}
		r.do(404, nil, "GET", at(garden, "/summaries/999"), "")
	})
	t.Run("the history has the start, each answer, both sides of a compaction, and now", func(t *testing.T) {
		h := get[historyAnswer](r, at(garden, "/history"))
		if len(h.Compactions) != 1 || h.Compactions[0].Trigger != "manual" || h.Compactions[0].BeforeTokens <= h.Compactions[0].AfterTokens {
			t.Fatalf("%+v", h.Compactions)
		}
		check.Len(t, "usage points", h.Used, 1+8+2+1)
		now := get[conversationAnswer](r, at(garden, ""))
		for i, want := range map[int]usedPoint{
			0:  {Seq: 0, Tokens: now.Parts.Frame + now.Parts.Reserve},
			1:  {Seq: 1, Tokens: 1000 + now.Parts.Reserve}, // the provider's count
			8:  {Seq: 15, Tokens: h.Used[8].Tokens},
			9:  {Seq: 16, Tokens: h.Compactions[0].BeforeTokens},
			10: {Seq: 16, Tokens: h.Compactions[0].AfterTokens},
			11: {Seq: 16, Tokens: now.Used},
		} {
			want.Time, want.Window = h.Used[i].Time, 8000
			check.Equal(t, fmt.Sprint("point ", i), h.Used[i], want)
		}
		earlier := get[historyAnswer](r, at(garden, "/history?before=10"))
		check.Len(t, "usage points before message 10", earlier.Used, 1+4)
		r.do(200, &h, "GET", at(garden, "/history?since="+time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")), "")
		check.Len(t, "usage points", h.Used, 0)
	})
	t.Run("settings hold for one compaction", func(t *testing.T) {
		r.do(422, nil, "POST", at(garden, "/compact"), `{"compaction": {"target_percentage": 5}}`)
		r.do(422, nil, "POST", at(garden, "/compact"), `{"compaction": {"prompt_file": "/etc/passwd"}}`)
		r.do(200, &job, "POST", at(garden, "/compact"), `{"compaction": {"keep_last_turns": 400}}`)
		check.That(t, job.State == "noop" && job.Reason != "", "%+v", job)
	})
	t.Run("with nothing to do there is a reason", func(t *testing.T) {
		r.do(200, &job, "POST", at(garden, "/compact"), `{"keep_last_n": 500}`)
		check.That(t, job.State == "noop" && job.Reason != "", "%+v", job)
	})
	t.Run("undo reverts it", func(t *testing.T) {
		r.do(200, &job, "POST", at(garden, "/undo"), "")
		after := get[summaryList](r, at(garden, "/summaries"))
		check.Equal(t, "the state", job.State, "undone")
		check.Len(t, "the stack", after.Stack, 0)
	})
}

func TestActions(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden = "terminal:garden"
	r.talk(garden, 2)
	t.Run("a new session", func(t *testing.T) {
		var done doneAnswer
		r.do(200, &done, "POST", at(garden, "/new"), "")
		if err := r.hub.Idle(t.Context(), garden); err != nil || !done.Done {
			t.Fatal(err, done)
		}
		r.do(200, &done, "POST", at(garden, "/new"), "")
		check.That(t, !done.Done && done.Reason != "", "%+v", done)
	})
	t.Run("pause and resume", func(t *testing.T) {
		for _, want := range []bool{true, false} {
			action := map[bool]string{true: "/pause", false: "/resume"}[want]
			r.do(200, nil, "POST", at(garden, action), "")
			var one conversationAnswer
			if r.do(200, &one, "GET", at(garden, ""), ""); one.Silent != want {
				t.Errorf("after %s: got silent %t", action, one.Silent)
			}
		}
	})
	t.Run("a conversation whose connector is closed", func(t *testing.T) { closedConnector(t, r) })
	t.Run("an unknown conversation is not created", func(t *testing.T) {
		for _, action := range []string{"/compact", "/undo", "/new", "/pause", "/resume"} {
			r.do(404, nil, "POST", at("terminal:nowhere", action), "")
		}
		if _, err := r.store.Find(t.Context(), "terminal:nowhere"); err == nil {
			t.Error("the conversation was created")
		}
	})
}

// closedConnector compacts a conversation of Discord, which is not open, and starts a new session
// in it. Its messages still wait for an answer.
func closedConnector(t *testing.T, r *rig) {
	const name = "discord:1/2"
	c := must(r.store.Conversation(t.Context(), name))
	var past []store.Inbound
	for i := range 40 {
		past = append(past, store.Inbound{ID: fmt.Sprint(i), AuthorID: "ada", Author: "Ada", Time: time.Now().Add(-time.Hour), Text: fmt.Sprintf("Plot %d has roses. %s", i, strings.Repeat("They grow along the wall. ", 8))})
	}
	must(c.Past().Import(t.Context(), past))
	must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "new", AuthorID: "ada", Author: "Ada", Time: time.Now(), Text: "Is anybody here?", Addressed: true}))
	var job jobAnswer
	r.do(202, &job, "POST", at(name, "/compact"), "")
	if job.State != string(compactor.EventStarted) && job.State != string(compactor.EventScheduled) {
		t.Errorf("compact: %+v", job)
	}
	applied := func() bool {
		d := get[conversationAnswer](r, at(name, ""))
		return len(d.Stack) > 0 && d.Running == ""
	}
	for end := time.Now().Add(20 * time.Second); !applied(); time.Sleep(10 * time.Millisecond) {
		check.Require(t, !time.Now().After(end), "got no applied summary")
	}
	if r.do(200, &job, "POST", at(name, "/undo"), ""); job.State != string(compactor.EventUndone) {
		t.Errorf("undo: %+v", job)
	}
	var done doneAnswer
	r.do(202, &done, "POST", at(name, "/new"), "")
	due, err := c.Inbox().Due(t.Context())
	check.That(t, err == nil && due.Waiting == 1 && due.Session, "got waiting %+v, %v", due, err)
}

func TestSettings(t *testing.T) {
	r := newRig(t, rigOptions{})
	const garden = "terminal:garden"
	r.talk(garden, 1)
	value := func(key string) channel.Setting {
		t.Helper()
		a := get[settingsAnswer](r, at(garden, "/settings"))
		for _, s := range a.Settings {
			if s.Key == key {
				return s
			}
		}
		t.Fatal("there is no " + key)
		return channel.Setting{}
	}
	t.Run("several that only fit together are set together", func(t *testing.T) {
		r.do(200, nil, "PUT", at(garden, "/settings"), `{"background_threshold": 0.9, "aggressive_threshold": 0.92, "focus": "tulips"}`)
		if s := value("background_threshold"); s.Value != 0.9 || !s.Here || !strings.HasPrefix(s.Origin, "set here") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("null resets a value", func(t *testing.T) {
		r.do(200, nil, "PUT", at(garden, "/settings"), `{"background_threshold": null, "aggressive_threshold": null}`)
		if s := value("background_threshold"); s.Value != 0.8 || s.Here {
			t.Errorf("%+v", s)
		}
	})
	for name, body := range map[string]string{
		"one bad value changes nothing of the others": `{"keep_first": 3, "background_threshold": 7}`,
		"an unknown key":            `{"keep_frist": 3}`,
		"the model is for the file": `{"model": "gpt"}`,
		"a list":                    `{"keep_first": [1]}`,
		"nothing":                   `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			r.do(422, nil, "PUT", at(garden, "/settings"), body)
			if s := value("keep_first"); s.Here {
				t.Errorf("%+v", s)
			}
		})
	}
}
