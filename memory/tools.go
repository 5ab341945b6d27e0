// Tools: how a model searches a conversation's memory, and adds to it.

package memory

import (
	"encoding/json"
	"fmt"
	"strings"

	"cairn/llm"
	"cairn/store"
)

const (
	foundByDefault = 10
	maxFound       = 50
	maxPassage     = 600 // characters of a message, and of a file, that recall shows
)

// SearchShare limits the answer of a search to this fraction of the window: 1/16.
const SearchShare = 16

// ToolOptions say for which turn the tools run.
type ToolOptions struct {
	Turn     func() int64  // seq of the running turn; called at each tool call
	Budget   func() int    // most tokens of a search's answer; nil: no limit
	Prompt   func() string // what the model was shown that no message on disk has: memories may name whom it names; nil: nothing
	OnMemory func(Memory)  // called for each new memory; may be nil

	Everywhere Everywhere // searches other conversations, too; nil: recall does not offer that
}

// toolbox has the tools of a conversation.
type toolbox struct {
	c *store.Conversation
	ToolOptions
}

// Tools returns memory_search, recall, expand and memory_save. None of them reaches another conversation.
func (ms Memories) Tools(o ToolOptions) []llm.Tool {
	b := toolbox{ms.c, o}
	everywhere := ""
	if o.Everywhere != nil {
		everywhere = `"everywhere":{"type":"boolean","description":"search all other conversations that this person may read, too"},`
	}
	return []llm.Tool{
		{
			Name:        "memory_search",
			Description: "Search what you have kept in mind from this conversation: facts, preferences, decisions, plans. An empty query gives the newest.",
			Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
				`"query":{"type":"string","description":"words to search for"},`+
				`"kind":{"type":"string","enum":%s},`+
				`"about":{"type":"string","description":"a person"},`+
				`"limit":{"type":"integer","minimum":1,"maximum":%d}},"required":["query"]}`, kindsJSON(), maxFound)),
			Run: b.search,
		},
		{
			Name:        "recall",
			Description: "Search the transcript of this conversation for what was said, word for word, however long ago, files and captions too. Of long ones the part that fits is shown. An empty query lists.",
			Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
				`"query":{"type":"string","description":"words to search for"},`+everywhere+
				`"by":{"type":"string","description":"who wrote it: a name, or assistant"},`+
				`"since":{"type":"string","description":"2026-05-08, yesterday, last week"},"until":{"type":"string"},`+
				orderJSON+
				`"limit":{"type":"integer","minimum":1,"maximum":%d}},"required":["query"]}`, maxFound)),
			Run: b.recall,
		},
		{
			Name:        "expand",
			Description: "Read messages of this conversation word for word: those a summary stands for, by their numbers, or by the compaction's id. Long ranges come in pages: go on from next.",
			Parameters: json.RawMessage(`{"type":"object","properties":{` +
				`"from":{"type":"integer","description":"number of the first message"},` +
				`"to":{"type":"integer","description":"number of the last message"},` +
				`"compaction":{"type":"integer","description":"id, in place of a range"}}}`),
			Run: b.expand,
		},
		saveTool(false, b.save),
	}
}

// orderJSON is the parameter for the order.
const orderJSON = `"order":{"type":"string","enum":["best","newest","oldest"]},`

func kindsJSON() string { return `["` + strings.Join(Kinds, `","`) + `"]` }
