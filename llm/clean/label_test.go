package clean

import (
	"strings"
	"testing"

	"cairn/testkit/check"
)

// labels are answers that begin with the model's role or name, and what remains of them.
var labels = map[string]string{
	"Assistant: Hello": "Hello", "AI: Hello": "Hello", "**Assistant:** Hello": "Hello", "__Bot__: Hello": "Hello", "Cairn: Hello": "Hello", "cairn: Hello": "Hello",
	"**Cairn**: Hello": "Hello", "[Cairn]: Hello": "Hello", "<Cairn> Hello": "Hello", "Robin: Hello": "Hello", "Robin：你好": "你好", "Robin： 你好": "你好", "Assistant:\n\nHello": "Hello",
	"AI assistant: Hello": "Hello", "<think>hm</think>\nAssistant: Hello": "Hello", "ASSISTANT: Hello": "Hello", "Assistant:": "", "### Assistant: Hello": "Hello", "### Response:\nHello": "Hello", "# AI: The Future": "# AI: The Future", "### AI: The Future": "### AI: The Future", "### Response times\nare good.": "### Response times\nare good.", "Response: none": "Response: none",
	"Assistant: Hello.\nUser: Thanks!\nAssistant: Bye.": "Hello.", "AI: Hello.\n\n**Human:** Thanks!": "Hello.",

	"assistant: is the role name in lower case.": "assistant: is the role name in lower case.", "AI: the new electricity": "AI: the new electricity",
	"Assistant": "Assistant", "AIs: Many": "AIs: Many", "Ada: Hello": "Ada: Hello", "Model: Tesla 3": "Model: Tesla 3", "Hello.\nUser: root": "Hello.\nUser: root",
	"cairn: a pile of stones": "cairn: a pile of stones", "[AI](https://x.y) is": "[AI](https://x.y) is", "User: root\nAssistant: none": "User: root\nAssistant: none", "Assistant:x": "Assistant:x",
}

func labelled() *Filter {
	return &Filter{Name: "Robin", Tools: tools, Quoted: func(text string) bool { return strings.Contains("which model is it", text) }}
}

func TestNameBeforeAnAnswerIsRemoved(t *testing.T) {
	for text, want := range labels {
		f := labelled()
		f.Next(text)
		check.Equal(t, text, f.End(), want)
		for seed := range uint64(5) {
			check.Equal(t, text+" in pieces", inPieces(t, labelled(), text, seed), want)
		}
	}
}
