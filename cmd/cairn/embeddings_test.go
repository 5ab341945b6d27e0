package main

import (
	"fmt"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// TestEmbeddingsOfARunningBot: it makes vectors while people talk, and the shell's commands search by them and show what they cost.
func TestEmbeddingsOfARunningBot(t *testing.T) {
	server := llmtest.ServeEmbeddings(t, llmtest.Embeddings{Length: 512, Same: map[string]string{"automobile": "car", "purchased": "bought"}})
	p := newFolder(t).with(noBackups + "\n" + fmt.Sprintf("[embeddings]\nbase_url = %q\nmodel = \"test-embedding\"", server.URL))
	l := p.start("chat", "--json")
	for _, text := range []string{"we went to the lake and swam", "last spring I bought a red car in Riga", "the soup was far too salty"} {
		l.ask(fmt.Sprintf(`{"text":%q}`, text), `"type":"reply"`)
	}
	made := check.Soon(func() bool { return p.count("SELECT count(*) FROM message_vectors WHERE vector <> x''") >= 3 })
	check.That(t, made, "no vectors")
	l.end()
	found := p.must("", "recall", "who purchased an automobile", "--explain")
	check.That(t, strings.Contains(found, "red car in Riga") && strings.Contains(found, "meaning"), "found %s", found)
	check.Contains(t, "usage", p.must("", "usage", "--by", "model"), "test-embedding")
	p.doctorSays(exitFailed, "ok     search    embeddings by test-embedding at "+server.URL+": 512 numbers in ", "texts of messages, memories and questions are sent there",
		"with a vector by test-embedding@", "WRONG  model     agent cairn has no model")
	server.Fail("500*")
	p.doctorSays(exitFailed, "WRONG  search    embeddings by test-embedding at "+server.URL+": model: overloaded (HTTP 500): out of memory")
	found = p.must("", "recall", "a red car in Riga")
	check.Contains(t, "without the server", found, "red car in Riga")
}
