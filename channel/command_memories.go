package channel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
)

// Commands for memories: list, add, forget.

const (
	memoriesShown  = 200 // the most memories in a list; page:2 is the next list
	recallMemories = 5   // the most memories /recall shows
	recallMessages = 20  // the most messages
	recallPassage  = 500 // the most characters of each, and of a file
)

// runMemories lists or searches memories; "pin 12", "unpin 12" and "restore 12" change one.
func runMemories(ctx context.Context, c *conversation, who Person, query string) (Answer, error) {
	ms := memory.Of(c.records)
	verb, number, _ := strings.Cut(query, " ")
	change, changes := map[string]struct {
		do   func(id int64) error
		done string
	}{
		"pin":     {func(id int64) error { return ms.Pin(ctx, id, true) }, "Memory %d is pinned: it neither expires nor fades."},
		"unpin":   {func(id int64) error { return ms.Pin(ctx, id, false) }, "Memory %d is no longer pinned."},
		"restore": {func(id int64) error { return ms.Restore(ctx, id) }, "Memory %d is restored."},
	}[strings.ToLower(verb)]
	id, ok := numberOf(strings.TrimSpace(number))
	if !changes || !ok {
		return c.listMemories(ctx, who, query)
	}
	_, err := c.changeMemory(ctx, who, id, change.do)
	return Answer{Text: fmt.Sprintf(change.done, id)}, err
}

// listMemories lists the memories that match a query, with "kind:KIND" and "page:N" in it.
func (c *conversation) listMemories(ctx context.Context, who Person, query string) (Answer, error) {
	f := memory.Filter{Asker: who.Name, State: "current", Limit: memoriesShown}
	var words []string
	for _, word := range strings.Fields(query) {
		option, value, set := strings.Cut(strings.ToLower(word), ":")
		n, _ := strconv.Atoi(value)
		switch {
		case option == "kind" && f.Kind == "" && c.memoryKind(value) != "":
			f.Kind = c.memoryKind(value)
		case option == "kind" && f.Kind == "" && set:
			var kinds []string
			for _, kind := range memory.Kinds {
				kinds = append(kinds, c.word("memory", kind))
			}
			return Answer{}, errPeople(fmt.Sprintf("There is no memory kind %q. Use one of %s.", value, strings.Join(kinds, ", ")))
		case option == "page" && f.Offset == 0 && n > 0 && n < 1e6:
			f.Offset = (n - 1) * memoriesShown
		default:
			words = append(words, word)
		}
	}
	f.Query = strings.Join(words, " ")
	found, total, err := memory.Of(c.records).List(ctx, f)
	switch {
	case total == 0 && f.Query == "" && f.Kind == "":
		return Answer{Text: c.sayf("No memories from this conversation yet. I save them when older messages are summarized, or with /remember.")}, err
	case len(found) == 0:
		return Answer{Text: "No memories here match that."}, err
	}
	var answer Answer
	if total > len(found) {
		answer.Text = c.sayf("%d to %d of %d. Narrow the list with words or kind:KIND.", f.Offset+1, f.Offset+len(found), total)
		if f.Offset+len(found) < total {
			answer.Text += c.sayf(" See more with page:%d.", f.Offset/memoriesShown+2)
		}
	}
	for _, m := range found {
		line := c.memoryWords(m)
		if m.Conversation != c.name {
			line += c.sayf(" from %s", m.Conversation)
		}
		answer.Items = append(answer.Items, line)
	}
	return answer, nil
}

// memoryWords describes a memory for people.
func (c *conversation) memoryWords(m memory.Memory) string {
	dates := chat.DateFormat
	if c.language() != DefaultLanguage {
		dates = time.DateOnly // without the name of a month
	}
	return m.Words(c.word("memory", m.Kind), dates, c.sayf)
}

// memoryKind returns the kind of memories with a name in English or in the conversation's language; "" if there is none.
func (c *conversation) memoryKind(name string) string {
	for _, kind := range memory.Kinds {
		if strings.EqualFold(name, kind) || strings.EqualFold(name, c.word("memory", kind)) {
			return kind
		}
	}
	return ""
}

// changeMemory changes a memory that a person may decide about: who said it, whom it is about, and managers may.
func (c *conversation) changeMemory(ctx context.Context, who Person, id int64, change func(id int64) error) (memory.Memory, error) {
	d, err := memory.Of(c.records).Details(ctx, id)
	m := d.Memory
	may := who.ID != "" && (who.ID == m.SpeakerID || who.ID == m.AboutID) || c.hub.access.Rules().Manages(c.name, who)
	if err == nil && !may {
		return m, errPeople(fmt.Sprintf("Memory %d did not come from you and is not about you. Ask someone who manages this place.", id))
	}
	if err == nil {
		err = change(id)
	}
	state, wrong := errors.AsType[*memory.StateError](err)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = errPeople(fmt.Sprintf("This conversation has no memory %d. Change memories of another conversation there.", id))
	case wrong:
		err = errPeople(fmt.Sprintf("Memory %d is %s, so this changes nothing.", id, state.State))
	case errors.Is(err, memory.ErrSaid):
		err = errPeople(c.sayf("Memory %d stays forgotten: another one now says the same. /forget that one first.", id))
	}
	return m, err
}

func runRemember(ctx context.Context, c *conversation, who Person, text string) (Answer, error) {
	w := memory.KeepRequest{Person: who.Name, PersonID: who.ID}
	on, here, err := memory.Of(c.records).Shared(ctx)
	if err != nil {
		return Answer{}, err
	}
	if scope, rest, found := strings.Cut(text, ":"); on && found && strings.EqualFold(scope, "server") { // "server: …" is for all of it
		if !here {
			return Answer{}, errPeople("Memories of this conversation stay here, because it is not a public channel of a server. Leave out \"server:\" to save this one here.")
		}
		w.Server = true
		text = strings.TrimSpace(rest)
	}
	if text == "" {
		return Answer{}, errPeople(c.sayf("What should I remember? For example: /remember the standup is at 9:30"))
	}
	w.MemoryDraft = summarize.MemoryDraft{Kind: "fact", Content: text}
	s, err := memory.Of(c.records).Keep(ctx, w)
	out, optedOut := errors.AsType[*memory.OptedOutError](err)
	wrong, unfit := errors.AsType[*memory.ContentError](err)
	switch {
	case optedOut:
		return Answer{}, errPeople(fmt.Sprintf("%s has opted out of my memories, so I cannot remember that.", out.Name))
	case unfit:
		return Answer{}, errPeople(fmt.Sprintf("I cannot remember that: %s", wrong))
	case err != nil:
		return Answer{}, err
	case !s.Fresh:
		return Answer{Text: c.sayf("I already have that as memory %d: %s", s.ID, s.Content)}, nil
	}
	c.remembered(s.ID, s.Kind, s.Content)
	answer := c.sayf("Saved as memory %d: %s", s.ID, s.Content) // without the secrets in it
	if w.Server {
		answer += c.sayf(" All public channels of this server share this memory.")
	}
	return Answer{Text: answer}, nil
}

func runForget(ctx context.Context, c *conversation, who Person, which string) (Answer, error) {
	if aboutMe(which) {
		return runForgetMe(ctx, c, who, which)
	}
	if which == "" {
		return Answer{}, errPeople(c.sayf("Which memory? Give its number, as /memories shows it: /forget 12. /forget me deletes everything of yours."))
	}
	id, ok := numberOf(which)
	if !ok {
		list, err := c.listMemories(ctx, who, which)
		if len(list.Items) > 0 {
			list.Text = strings.TrimSpace(c.sayf("Which one? Give its number: /forget 12. ") + list.Text)
		}
		return list, err
	}
	m, err := c.changeMemory(ctx, who, id, func(id int64) error { return memory.Of(c.records).Forget(ctx, id) })
	return Answer{Text: c.sayf("Memory %d is forgotten: %s\nThe messages it came from remain. /memories restore %d brings it back; the bot's operator can delete it permanently: cairn memories purge %d",
		id, m.Content, id, id)}, err
}

// suggestMemories offers memories with words that begin with what was typed.
func suggestMemories(ctx context.Context, records *store.Conversation, typed string) (all []Choice, err error) {
	found, err := memory.Of(records).Completed(ctx, typed, maxChoices)
	for _, m := range found {
		all = append(all, Choice{Label: m.String(), Value: strconv.FormatInt(m.ID, 10)})
	}
	return all, err
}

// runRecall answers from stored data, without a model: memories, then messages, each with the best first.
func runRecall(ctx context.Context, c *conversation, who Person, question string) (Answer, error) {
	if question == "" {
		return Answer{}, errPeople(c.sayf("What should I look for? For example: /recall when did we choose the hotel?"))
	}
	memories, _, err := memory.Of(c.records).List(ctx, memory.Filter{Query: question, Asker: who.Name, Limit: recallMemories})
	messages, failed := memory.Of(c.records).Recall(ctx, memory.Question{Text: question, Asker: who.Name, Limit: recallMessages})
	err = errors.Join(err, failed)
	if len(memories)+len(messages) == 0 {
		return Answer{Text: fmt.Sprintf("I found nothing here about %q.", question)}, err
	}
	var answer Answer
	for _, m := range memories {
		answer.Items = append(answer.Items, c.word("result", "memory")+" "+c.memoryWords(m))
	}
	for _, m := range messages {
		m.Text = m.Passage(recallPassage)
		m.Attachments = nil
		answer.Items = append(answer.Items, chat.OneLine(c.record(m.Message)))
	}
	return answer, err
}
