package main

import (
	"net/http"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// againSteps are where the program is killed while the newest message is asked again, as "n1".
var againSteps = map[string]killStep{
	"the answer is being deleted":                {On: "UPDATE ON main.messages", When: "new.deleted_at IS NOT NULL AND new.role = 'assistant'", At: atRow},
	"the deletion is about to be committed":      {On: "UPDATE ON main.messages", When: "new.deleted_at IS NOT NULL", At: atCommit},
	"it is deleted, and the question is waiting": {On: "UPDATE ON main.messages", When: "new.deleted_at IS NOT NULL", At: after},
	"the question is in its new place":           {On: "INSERT ON main.messages", When: "new.platform_id = 'n1'", At: after},
	"the new answer is being written":            {On: "INSERT ON main.outbox", When: "new.answers LIKE '%n1%'", At: atRow},
	"the new answer is committed":                {On: "INSERT ON main.outbox", When: "new.answers LIKE '%n1%'", At: after},
}

// TestKillWhileAMessageIsAskedAgain: the client repeats its request. There is one question with one answer, whatever came between.
func TestKillWhileAMessageIsAskedAgain(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts two programs for each step")
	t.Parallel()
	for name, death := range againSteps {
		t.Run(name, func(t *testing.T) {
			p := newFolder(t)
			server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("well") })
			writeServerSettings(p, server, "")
			address := freeAddress(t)
			post := func(body string) error {
				resp, err := http.Post("http://"+address+"/api/conversations/web:general/messages", "application/json", strings.NewReader(body))
				if err == nil {
					err = resp.Body.Close()
				}
				return err
			}
			answered := func() bool {
				return p.ask("count(*) FROM messages WHERE role = 'assistant' AND deleted_at IS NULL") == "1" && p.ask("count(*) FROM outbox WHERE state <> 'sent'") == "0"
			}
			dying := p
			dying.env = []string{death.env(t)}
			l := dying.start("chat", "--json", "--web", address)
			check.Soon(func() bool { return post(`{"id": "m1", "text": "How deep is the pond?"}`) == nil })
			check.Soon(answered)
			const again = `{"id": "n1", "text": "How wide is it?", "replaces": "m1"}`
			_ = post(again)
			l.killed()
			p.examined()
			l = p.start("chat", "--json", "--web", address)
			check.Soon(func() bool { return post(again) == nil })
			check.Soon(func() bool { return p.ask("count(*) FROM inbox") == "0" && answered() })
			l.end()
			p.examined()
			check.Equal(t, "questions, answers; the old ones; what waits", p.ask(
				"count(*) FROM messages WHERE platform_id = 'n1' AND text = 'How wide is it?'", "count(*) FROM messages WHERE role = 'assistant' AND deleted_at IS NULL",
				"count(*) FROM messages WHERE text LIKE '%deep%'", "count(*) FROM inbox", "count(*) FROM messages WHERE answered = 0"), "1 1 0 0 0")
		})
	}
}
