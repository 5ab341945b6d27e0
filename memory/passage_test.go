package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
)

func TestPassage(t *testing.T) {
	const start = "The minutes of the meeting begin with the list of who was there."
	long := start + strings.Repeat(" Then somebody spoke about the weather.", 60) + " The vault opens with the number 7461." + strings.Repeat(" It rained on.", 60)
	for _, test := range []struct {
		claim    string
		said     chat.Message
		question string
		has, not []string
	}{
		{"a short message is shown whole", chat.Message{Text: "the vault is shut"}, "vault", []string{"the vault is shut"}, []string{"…"}},
		{"of a long message the part that matched", chat.Message{Text: long}, "which number opens the vault?", []string{"… ", "vault opens with the number 7461.", " …"}, []string{start}},
		{"in other forms too", chat.Message{Text: strings.ReplaceAll(strings.Repeat("Es war wieder alles ruhig und wir haben nichts gesehen. ", 40)+"Die Fahrräder stehen jetzt auf dem Hof. ", "  ", " ")}, "Fahrrad", []string{"Die Fahrräder stehen"}, nil},
		{"a caption", chat.Message{Attachments: []chat.Attachment{{Kind: "image", Name: "a.png", Caption: "a vault in the cellar"}}}, "vault", []string{"[image: a.png, a vault in the cellar]"}, nil},
		{"what stands in a file, and its name", chat.Message{Text: "look", Attachments: []chat.Attachment{{Kind: "file", Name: "b.txt", Text: "about the wind"}, {Kind: "file", Name: "a.txt", Text: long}}}, "vault number", []string{"look\n", "[file: b.txt]", "[file: a.txt]\n… ", "vault opens with the number 7461."}, []string{start, "about the wind"}},
		{"Chinese, where nothing is blank", chat.Message{Text: strings.Repeat("我们在河边散步聊天", 100) + "钥匙在花盆下面" + strings.Repeat("然后大家都回家了", 100)}, "钥匙在哪", []string{"钥匙在花盆下面"}, nil},
		{"a word without end", chat.Message{Text: "vault " + strings.Repeat("a", 3000)}, "vault", []string{"vault"}, nil},
	} {
		t.Run(test.claim, func(t *testing.T) {
			m := storetest.Said(1, test.said.Text)
			m.Attachments = test.said.Attachments
			found := recallAll(t, talked(t, m), memory.Question{Text: test.question, Limit: 1})
			check.Len(t, "got nothing", found, 1)
			passage := found[0].Passage(200)
			if n := utf8.RuneCountInString(passage); n > 500 {
				t.Errorf("got %d characters", n)
			}
			check.Contains(t, "the passage", passage, test.has...)
			check.Lacks(t, "passage", passage, test.not...)
		})
	}
	t.Run("the recall tool shows it", func(t *testing.T) {
		m := storetest.Said(1, long)
		m.Attachments = []chat.Attachment{{Kind: "image", Name: "a.png", Caption: "a cellar"}}
		c := talked(t, m)
		answer := check.Must(storetest.Call(memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 2 }}), "recall", `{"query":"vault number"}`))(t)
		check.Contains(t, "answer", answer, "vault opens with the number 7461.", "[image: a.png, a cellar]")
		check.Lacks(t, "answer", answer, start)
	})
}
