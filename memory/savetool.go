// The tool that saves: memory_save.

package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cairn/llm"
)

// save immediately saves what the model wants to keep while it talks, by default from people's messages in the turn.
func (b toolbox) save(ctx context.Context, d draft) (llm.Result, error) {
	d.By = byAssistant
	if b.Prompt != nil {
		d.prompt = b.Prompt()
	}
	if len(d.Sources) == 0 {
		sources, err := b.c.Turns().Messages(ctx, b.Turn())
		if err != nil {
			return llm.Result{}, err
		}
		d.Sources = seqsOf(sources)
		if len(sources) == 0 { // all of them were deleted
			return llm.Result{}, errUnsaid
		}
	}
	s, answer, err := remember(b.c, ctx, d)
	if err == nil && s.Fresh && b.OnMemory != nil {
		b.OnMemory(s.Memory)
	}
	return answer, err
}

// saveTool returns memory_save: for the worker, which names the messages it read, or for a conversation. save saves one memory.
func saveTool(worker bool, save func(context.Context, draft) (llm.Result, error)) llm.Tool {
	required := `"content","kind"`
	if worker {
		required += `,"messages"`
	}
	return llm.Tool{
		Name: "memory_save",
		Description: "Keep facts, preferences, decisions and plans in mind beyond this conversation's window. Send all of them in one call; " +
			"each is one fact, with names and dates written out.",
		Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"memories":{"type":"array","items":{"type":"object","properties":{`+
			`"content":{"type":"string","maxLength":%d,"description":"one sentence that stands alone and names who it is about"},`+
			`"kind":{"type":"string","enum":%s},`+
			`"importance":{"type":"number","minimum":0,"maximum":1},`+
			`"messages":{"type":"array","items":{"type":"integer"},"description":"numbers of the messages that say it"},`+
			`"about":{"type":"string","description":"whom or what it is about"},`+
			`"attribute":{"type":"string","description":"what has one value at a time: home"},`+
			`"value":{"type":"string"},`+
			`"since":{"type":"string","description":"2026-05-08, 2026-05 or 2026"},"until":{"type":"string"},`+
			`"also":{"type":"array","items":{"type":"string"},"description":"class words: city"},`+
			`"supersedes":{"type":"integer","description":"id of the memory it replaces"},`+
			`"expires":{"type":"string","description":"if it will not last: 2026-05-08, 36h, 3d"}},"required":[%s]}}},"required":["memories"]}`,
			MaxContent, kindsJSON(), required)),
		Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
			return saveItems(ctx, readItems(arguments), save)
		},
	}
}

// saveItems saves the memories of a call. The answer says what became of each, by its place in the call; if some were refused it
// is an error, so that the model corrects these.
func saveItems(ctx context.Context, items []item, save func(context.Context, draft) (llm.Result, error)) (all llm.Result, err error) {
	var refused []string
	answers := make([]string, len(items))
	for i, it := range items {
		answer := llm.Result{}
		err := it.err
		if err == nil {
			answer, err = save(ctx, it.draft)
		}
		switch {
		case ctx.Err() != nil:
			return all, ctx.Err()
		case err != nil && len(items) == 1:
			return all, err
		case err != nil:
			answer.Text = "Refused: " + err.Error()
			refused = append(refused, strconv.Itoa(i+1))
		}
		answers[i] = answer.Text
		all.Quotes.Memories = append(all.Quotes.Memories, answer.Quotes.Memories...)
	}
	switch len(items) {
	case 0:
		all.Text = "There was no memory in the list, so nothing was saved."
		return all, nil
	case 1:
		all.Text = answers[0]
		return all, nil
	}
	for i := range answers {
		answers[i] = fmt.Sprintf("%d. %s", i+1, answers[i])
	}
	all.Text = strings.Join(answers, "\n")
	if len(refused) > 0 {
		return all, fmt.Errorf("of %d memories, these are not saved: number %s. The rest needs no repetition.\n%s", len(items), strings.Join(refused, ", number "), all.Text)
	}
	return all, nil
}
