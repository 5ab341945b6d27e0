package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

// Commands for memories: list, search, add, forget.

// memoriesShown is the most memories in a list; page:2 is the next list.
const memoriesShown = 200

// runMemories lists or searches memories; "show 12" shows one, "pin 12", "unpin 12" and "restore 12" change it.
func runMemories(ctx context.Context, c *Call) (Answer, error) {
	verb, number, _ := strings.Cut(c.Args, " ")
	id, ok := numberOf(strings.TrimSpace(number))
	if !ok {
		return listMemories(ctx, c)
	}
	ms := memory.Of(c.Records)
	switch strings.ToLower(verb) {
	case "pin":
		_, err := changeMemory(ctx, c, id, func() error { return ms.Pin(ctx, id, true) })
		return Answer{Text: fmt.Sprintf("Memory %d is pinned: it neither expires nor fades.", id), Buttons: []Button{{Label: "Unpin", Line: fmt.Sprintf("/memories unpin %d", id)}}}, err
	case "unpin":
		_, err := changeMemory(ctx, c, id, func() error { return ms.Pin(ctx, id, false) })
		return Answer{Text: fmt.Sprintf("Memory %d is no longer pinned.", id)}, err
	case "show":
		return showMemory(ctx, c, id)
	case "restore":
		_, err := changeMemory(ctx, c, id, func() error { return ms.Restore(ctx, id) })
		return Answer{Text: fmt.Sprintf("Memory %d is restored.", id), Buttons: memoryButtons(id)}, err
	}
	return listMemories(ctx, c)
}

// listMemories lists the memories that the arguments ask for.
func listMemories(ctx context.Context, c *Call) (Answer, error) {
	f, err := filterOf(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	found, total, err := memory.Of(c.Records).List(ctx, f)
	switch {
	case total == 0 && f.Query == "" && f.Kind == "" && f.About == "":
		return Answer{Text: c.Speaker.Sayf("No memories from this conversation yet. I save them when older messages are summarized, or with /remember.")}, err
	case len(found) == 0:
		return Answer{Text: "No memories here match that."}, err
	}
	var answer Answer
	if total > len(found) {
		answer.Text = c.Speaker.Sayf("%d to %d of %d. Narrow the list with words or kind:KIND.", f.Offset+1, f.Offset+len(found), total)
		if f.Offset+len(found) < total {
			answer.Text += c.Speaker.Sayf(" See more with page:%d.", f.Offset/memoriesShown+2)
		}
	}
	for _, m := range found {
		line := MemoryWords(c.Speaker, m)
		if !isHere(c, m) {
			line += c.Speaker.Sayf(" from %s", m.Conversation)
		}
		answer.Items = append(answer.Items, line)
		answer.Lines = append(answer.Lines, fmt.Sprintf("/memories show %d", m.ID))
	}
	return answer, nil
}

// showMemory shows a memory that a list would show, too.
func showMemory(ctx context.Context, c *Call, id int64) (Answer, error) {
	for _, state := range []string{"current", "known"} {
		found, _, err := memory.Of(c.Records).List(ctx, memory.Filter{ID: id, State: state})
		if err != nil {
			return Answer{}, err
		}
		if len(found) > 0 {
			answer := Answer{Text: MemoryWords(c.Speaker, found[0])}
			if isHere(c, found[0]) {
				answer.Buttons = memoryButtons(id)
			}
			return answer, nil
		}
	}
	return Answer{}, noMemory(id)
}

// isHere reports whether a memory is of this conversation, where alone it can be changed.
func isHere(c *Call, m memory.Memory) bool { return m.Conversation == c.Records.Name() }

func noMemory(id int64) error {
	return sentences.NewProblem(fmt.Sprintf("This conversation has no memory %d. Change memories of another conversation there.", id))
}

// filterOf reads the arguments of a list: words to look for, "kind:KIND", "about:NAME", "state:known" and "page:N".
func filterOf(ctx context.Context, c *Call) (memory.Filter, error) {
	text, values := c.options(ctx)
	f := memory.Filter{Asker: c.Who.Name, AskerID: c.Who.ID, About: values["about"], State: cmp.Or(strings.ToLower(values["state"]), "current"), Limit: memoriesShown}
	if f.State != "current" && f.State != "known" { // what was forgotten is not for all to read
		return f, sentences.NewProblem(fmt.Sprintf("There is no state %q. Use current or known.", f.State))
	}
	var words []string
	for _, word := range strings.Fields(text) {
		option, value, set := strings.Cut(strings.ToLower(word), ":")
		n, _ := strconv.Atoi(value)
		kind := memoryKind(c.Speaker, value)
		switch {
		case option == "kind" && f.Kind == "" && kind != "":
			f.Kind = kind
		case option == "kind" && f.Kind == "" && set:
			var kinds []string
			for _, kind := range memory.Kinds {
				kinds = append(kinds, c.Speaker.Word("memory", kind))
			}
			return f, sentences.NewProblem(fmt.Sprintf("There is no memory kind %q. Use one of %s.", value, strings.Join(kinds, ", ")))
		case option == "page" && f.Offset == 0 && n > 0 && n < 1e6:
			f.Offset = (n - 1) * memoriesShown
		default:
			words = append(words, word)
		}
	}
	f.Query = strings.Join(words, " ")
	return f, nil
}

// MemoryWords describes a memory for people.
func MemoryWords(speaker sentences.Speaker, m memory.Memory) string {
	dates := chat.DateFormat
	if !speaker.English() {
		dates = time.DateOnly // without the name of a month
	}
	return m.Words(speaker.Word("memory", m.Kind), dates, speaker.Sayf)
}

// memoryKind returns the kind of memories with a name in English or in the language of speaker; "" if there is none.
func memoryKind(speaker sentences.Speaker, name string) string {
	for _, kind := range memory.Kinds {
		if strings.EqualFold(name, kind) || strings.EqualFold(name, speaker.Word("memory", kind)) {
			return kind
		}
	}
	return ""
}

// changeMemory changes a memory if the person may decide about it: who said it, whom it is about, and managers may.
func changeMemory(ctx context.Context, c *Call, id int64, change func() error) (memory.Memory, error) {
	d, err := memory.Of(c.Records).Details(ctx, id)
	m := d.Memory
	ofPerson := c.Who.ID != "" && (c.Who.ID == m.SpeakerID || c.Who.ID == m.AboutID)
	if err == nil && !ofPerson && !c.Rules.Manages(c.Records.Name(), c.Who) {
		return m, denial(c.Speaker.Say(fmt.Sprintf("Memory %d did not come from you and is not about you. Ask someone who manages this place.", id)))
	}
	if err == nil {
		err = change()
	}
	state, wrong := errors.AsType[*memory.StateError](err)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = noMemory(id)
	case wrong:
		err = sentences.NewProblem(fmt.Sprintf("Memory %d is %s, so this changes nothing.", id, state.State))
	case errors.Is(err, memory.ErrDuplicate):
		err = sentences.NewProblem(c.Speaker.Sayf("Memory %d stays forgotten: another one now says the same. /forget that one first.", id))
	}
	return m, err
}

func runRemember(ctx context.Context, c *Call) (Answer, error) {
	if id, own := cutMessage(c.Args); id != "" {
		w, err := messageToRemember(ctx, c, id, own)
		if err != nil {
			return Answer{}, err
		}
		return keepMemory(ctx, c, w)
	}
	text := c.Args
	w := memory.KeepRequest{Person: c.Who.Name, PersonID: c.Who.ID}
	on, here, err := memory.Of(c.Records).Shared(ctx)
	if err != nil {
		return Answer{}, err
	}
	scope, rest, found := strings.Cut(text, ":")
	if on && found && strings.EqualFold(scope, "server") { // "server: …" is for all of it
		if !here {
			return Answer{}, sentences.NewProblem("Memories of this conversation stay here, because it is not a public channel of a server. Leave out \"server:\" to save this one here.")
		}
		w.Server = true
		text = strings.TrimSpace(rest)
	}
	if text == "" {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("What should I remember? For example: /remember the standup is at 9:30"))
	}
	w.Content = text
	return keepMemory(ctx, c, w)
}

// keepMemory saves a fact for a person.
func keepMemory(ctx context.Context, c *Call, w memory.KeepRequest) (Answer, error) {
	w.Kind = "fact"
	s, err := memory.Of(c.Records).Keep(ctx, w)
	out, optedOut := errors.AsType[*memory.OptedOutError](err)
	wrong, unfit := errors.AsType[*memory.ContentError](err)
	switch {
	case optedOut:
		return Answer{}, sentences.NewProblem(fmt.Sprintf("%s has opted out of my memories, so I cannot remember that.", out.Name))
	case unfit:
		return Answer{}, sentences.NewProblem(fmt.Sprintf("I cannot remember that: %s", wrong))
	case err != nil:
		return Answer{}, err
	case !s.Fresh:
		return Answer{Text: c.Speaker.Sayf("I already have that as memory %d: %s", s.ID, s.Content), Buttons: memoryButtons(s.ID)}, nil
	}
	c.Conversation.Remembered(s.ID, s.Kind, s.Content)
	answer := c.Speaker.Sayf("Saved as memory %d: %s", s.ID, s.Content) // without the secrets in it
	if w.Server {
		answer += c.Speaker.Sayf(" All public channels of this server share this memory.")
	}
	return Answer{Text: answer, Buttons: memoryButtons(s.ID)}, nil
}

// memoryButtons are for a memory that is known.
func memoryButtons(id int64) []Button {
	return []Button{{Label: "Forget", Line: fmt.Sprintf("/forget %d", id)}, {Label: "Pin", Line: fmt.Sprintf("/memories pin %d", id)}}
}

func runForget(ctx context.Context, c *Call) (Answer, error) {
	if aboutMe(c.Args) {
		return runForgetMe(ctx, c)
	}
	if message, _ := cutMessage(c.Args); message != "" {
		return forgetMessage(ctx, c, message)
	}
	if c.Args == "" {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Which memory? Give its number, as /memories shows it: /forget 12. /forget me deletes everything of yours."))
	}
	id, ok := numberOf(c.Args)
	if !ok {
		list, err := listMemories(ctx, c)
		if len(list.Items) > 0 {
			list.Text = strings.TrimSpace(c.Speaker.Sayf("Which one? Give its number: /forget 12. ") + list.Text)
		}
		return list, err
	}
	m, err := changeMemory(ctx, c, id, func() error { return memory.Of(c.Records).Forget(ctx, id) })
	return Answer{Text: c.Speaker.Sayf("Memory %d is forgotten: %s\nThe messages it came from remain. /memories restore %d brings it back; the bot's operator can delete it permanently: cairn memories purge %d",
		id, m.Content, id, id), Buttons: []Button{{Label: "Undo", Line: fmt.Sprintf("/memories restore %d", id)}}}, err
}

// suggestMemories offers memories with words that begin with what was typed.
func suggestMemories(ctx context.Context, typing Typing) (all []Choice, err error) {
	found, err := memory.Of(typing.Records).Completed(ctx, typing.Text, maxChoices)
	for _, m := range found {
		all = append(all, Choice{Label: m.String(), Value: strconv.FormatInt(m.ID, 10)})
	}
	return all, err
}
