package web

import (
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/channel"
	"cairn/memory"
)

// The arguments of tools.
type (
	inPage struct {
		Limit  int `json:"limit,omitempty" jsonschema:"at most so many; 50 if it is missing"`
		Offset int `json:"offset,omitempty" jsonschema:"skip this many"`
	}
	inMemories struct {
		Conversation string `json:"conversation,omitempty" jsonschema:"only those of this one, by its full name, as terminal:general"`
		Kind         string `json:"kind,omitempty" jsonschema:"what kind of memory"`
		About        string `json:"about,omitempty" jsonschema:"only those about this person, by name"`
		Since        string `json:"since,omitempty" jsonschema:"2026-05-08, 36h, 7d or 2w"`
		State        string `json:"state,omitempty" jsonschema:"what has become of it; current if it is missing"`
		inPage
	}
	inSearch struct {
		Query string `json:"query" jsonschema:"words to look for"`
		inMemories
	}
	inID struct {
		ID int64 `json:"id" jsonschema:"its number"`
	}
	inRecall struct {
		Conversation string `json:"conversation" jsonschema:"its full name, as terminal:general"`
		Query        string `json:"query" jsonschema:"a question or words"`
		As           string `json:"as,omitempty" jsonschema:"name of the person who asks, whom \"I\" means"`
		Limit        int    `json:"limit,omitempty" jsonschema:"at most so many; 50 if it is missing"`
	}
	inUsage struct {
		By    string `json:"by,omitempty" jsonschema:"what the rows are of; day if it is missing"`
		Since string `json:"since,omitempty" jsonschema:"2026-05-08, 36h, 7d or 2w"`
		inPage
	}
	inSummaries struct {
		Conversation string `json:"conversation" jsonschema:"its full name, as terminal:general"`
		inPage
	}
	inConversations struct {
		Query string `json:"query,omitempty" jsonschema:"only those whose name has this in it"`
		inPage
	}
	inExpand struct {
		Conversation string `json:"conversation" jsonschema:"its full name, as terminal:general"`
		Summary      int64  `json:"summary" jsonschema:"the id of a summary, as summaries lists them"`
		From         int64  `json:"from,omitempty" jsonschema:"messages from this one on, by number"`
		Limit        int    `json:"limit,omitempty" jsonschema:"at most so many messages; 50 if it is missing"`
	}
	inSimulate struct {
		Conversation string      `json:"conversation" jsonschema:"its full name, as terminal:general"`
		Variants     []inVariant `json:"variants,omitempty" jsonschema:"each a set of values over the settings in force, as {\"background_threshold\": 0.7}; at most 8"`
	}
	inCompact struct {
		Conversation string `json:"conversation" jsonschema:"its full name, as terminal:general"`
		compactBody
	}
)

// inVariant is the settings of a variantBody.
type inVariant map[string]any

// MarshalJSON returns the variantBody.
func (v inVariant) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"settings": map[string]any(v)})
}

// argumentWords are the words that an argument may have, by its name, the same for every tool. There
// are no defaults: the SDK would fill them in, and fails if a client sends null instead of no arguments.
var argumentWords = map[string][]string{"kind": memory.Kinds, "state": memory.States, "by": channel.UsageKeys}

// inputSchema returns the schema of arguments. It panics if In has none, which is a programming
// error.
func inputSchema[In any]() *jsonschema.Schema {
	s, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err)
	}
	for name, property := range s.Properties {
		for _, word := range argumentWords[name] {
			property.Enum = append(property.Enum, word)
		}
	}
	return s
}

// outputSchema returns the schema of a response, the same as in the OpenAPI document.
func outputSchema[Out any]() *jsonschema.Schema {
	s := schemaOf(reflect.TypeFor[Out]())
	s.Type, s.Types = "object", nil // clients require it here
	return s
}
