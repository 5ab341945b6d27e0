package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn/compactor"
	"cairn/memory"
)

// Command is something people tell the bot itself, not the model. Every connector shows the
// commands in its own way.
type Command struct {
	Name       string // without the slash: lower case letters
	Help       string // at most 100 characters
	Args       []Arg  // in order; all but the last are single words
	Public     bool   // others may see the answer; otherwise only the person who asked does
	Restricted bool   // only managers may run it, unless the settings say otherwise
	Guarded    bool   // only managers may run it, whatever the settings say
	Urgent     bool   // it runs immediately, even where commands wait for earlier messages to be answered

	opens   bool                   // it needs the engine, so it waits until the conversation is open
	own     func(args string) bool // the uses that are open to everyone, whatever the settings say; nil: none
	run     func(ctx context.Context, c *conversation, who Person, args string) (Answer, error)
	suggest func(ctx context.Context, h *Hub, records *memory.Conversation, typed string) ([]Choice, error) // suggestions for the argument that Suggests
}

// Arg is one argument of a command.
type Arg struct {
	Name     string // lower case letters
	Help     string // at most 100 characters
	Required bool
	Number   bool // a whole number, at least 1
	Suggests bool // Hub.Suggest can complete it
}

// Usage returns the command as /help shows it: "compact [focus]".
func (c Command) Usage() string {
	words := []string{c.Name}
	for _, a := range c.Args {
		if a.Required {
			words = append(words, a.Name)
		} else {
			words = append(words, "["+a.Name+"]")
		}
	}
	return strings.Join(words, " ")
}

// Commands lists all commands, in the order /help shows them.
var Commands []Command

func init() { // a literal would refer to itself through /help
	Commands = []Command{
		{
			Name: "compact", Help: "summarize the older messages now", Restricted: true, opens: true, run: runCompact,
			Args: []Arg{{Name: "focus", Help: "what to keep in detail"}},
		},
		{Name: "undo", Help: "undo the latest summary; memories stay", Restricted: true, opens: true, run: runUndo},
		{
			Name: "new", Help: "start a new session; the old one is summarized, nothing is lost", Public: true, Restricted: true, run: runNew,
		},
		{Name: "context", Help: "show how full the context window is and what fills it", run: runContext},
		{Name: "summaries", Help: "list the summaries, oldest first", opens: true, run: runSummaries},
		{
			Name: "expand", Help: "show the messages or summaries behind a summary", run: runExpand,
			Args: []Arg{
				{Name: "number", Help: "the summary's number, as /summaries shows it", Required: true, Number: true},
				{Name: "from", Help: "number of the first message to show", Number: true},
			},
		},
		{
			Name: "pin", Help: "keep a message in the prompt, whatever is summarized", Restricted: true, opens: true, run: runPin,
			Args: []Arg{{Name: "number", Help: "the message's number; without it the newest one", Number: true}},
		},
		{
			Name: "unpin", Help: "unpin a message", Restricted: true, opens: true, run: runUnpin,
			Args: []Arg{{Name: "number", Help: "the message's number, as /pins shows it", Required: true, Number: true}},
		},
		{Name: "pins", Help: "list the pinned messages", opens: true, run: runPins},
		{
			Name: "recap", Help: "summarize the conversation for you, without compacting it", opens: true, run: runRecap,
			Args: []Arg{{Name: "focus", Help: "what to dwell on"}},
		},
		{
			Name: "memories", Help: "list or search my memories; pin, unpin or restore one", run: runMemories,
			Args: []Arg{{Name: "query", Help: "words to look for, kind:decision, page:2; or pin, unpin or restore and a number"}},
		},
		{
			Name: "recall", Help: "search the messages and memories of this conversation", run: runRecall,
			Args: []Arg{{Name: "question", Help: "as you would ask it, or words to look for", Required: true}},
		},
		{
			Name: "remember", Help: "save a memory", run: runRemember,
			Args: []Arg{{Name: "text", Help: `what to remember; where channels share memories, "server: …" is for all of them`, Required: true}},
		},
		{
			Name: "forget", Help: "forget a memory of yours (managers: any); /forget me deletes everything you said", own: aboutMe, run: runForget,
			Args:    []Arg{{Name: "which", Help: `a memory's number, or words of it; or "me" for all you said and what I keep of you`, Required: true, Suggests: true}},
			suggest: suggestMemories,
		},
		{
			Name: "optout", Help: "keep nothing about you in my memories from now on", run: runOptOut,
			Args: []Arg{{Name: "off", Help: `"off" takes it back`}},
		},
		{
			Name: "ask", Help: "give another agent a task, which it works on beside the conversation", Public: true, opens: true, run: runAsk,
			Args:    []Arg{{Name: "task", Help: "@agent and what is to be done", Required: true, Suggests: true}},
			suggest: suggestAgents,
		},
		{
			Name: "tasks", Help: "list the tasks of other agents, or stop one", run: runTasks,
			Args:    []Arg{{Name: "what", Help: `"stop" and a task's number stops it`, Suggests: true}},
			suggest: suggestTasks,
		},
		{Name: "stop", Help: "stop the current answer; in a thread, also stop answering unasked", Public: true, Urgent: true, run: runStop},
		{
			Name: "pause", Help: "stop answering until /resume; messages are still saved", Public: true, Restricted: true, Urgent: true, run: runPause,
			Args: []Arg{{Name: "where", Help: `"everywhere" for all conversations, for my owners`}},
		},
		{
			Name: "resume", Help: "answer again", Public: true, Restricted: true, run: runResume,
			Args: []Arg{{Name: "where", Help: `"everywhere" for all conversations, for my owners`}},
		},
		{
			Name: "settings", Help: "show or change this conversation's compaction settings", Restricted: true, run: runSettings,
			Args: []Arg{
				{Name: "setting", Help: "compaction.KEY, as in the settings file", Suggests: true},
				{Name: "value", Help: `the new value here; "default" removes it`},
			},
			suggest: suggestSettings,
		},
		{
			Name: "tools", Help: "list the tools of other programs; add or remove them here", Guarded: true, opens: true, run: runTools,
			Args: []Arg{
				{Name: "change", Help: `"add" or "remove"`},
				{Name: "name", Help: "of the tools, as /tools lists them", Suggests: true},
			},
			suggest: suggestTools,
		},
		{
			Name: "allow", Help: "allow the call of a tool that I asked about", Public: true, Guarded: true, Urgent: true, run: runAllow,
			Args:    []Arg{{Name: "code", Help: "which call; without it the oldest one", Suggests: true}},
			suggest: suggestApprovals,
		},
		{
			Name: "deny", Help: "do not allow the call of a tool that I asked about", Public: true, Guarded: true, Urgent: true, run: runDeny,
			Args:    []Arg{{Name: "code", Help: "which call; without it the oldest one", Suggests: true}},
			suggest: suggestApprovals,
		},
		{Name: "help", Help: "show the commands", run: runHelp},
	}
}

// errPeople carries a message for the person who asked; it is not a program error.
type errPeople string

func (e errPeople) Error() string { return string(e) }

// errDenied carries a message for a person who lacks the rights; only that person needs to see it.
type errDenied string

func (e errDenied) Error() string { return string(e) }

// Run runs line if it is a command, such as "/context" or "/compact prices". The answer is for the
// person who asked. handled is false if line is not a command but a message.
func (h *Hub) Run(ctx context.Context, name string, who Person, line string) (answer Answer, handled bool, err error) {
	command, args, ok := parseCommand(line)
	if !ok {
		return answer, false, nil
	}
	place := ParsePlace(name)
	access := h.access(place)
	if !access.hears(place, who.ID, false) {
		return answer, true, ErrRefused
	}
	if h.restricted(command) && !access.manages(who) && (command.own == nil || !command.own(args)) {
		return Answer{Text: h.spell(name, Translated(h.languageOf(name), "/"+command.Name+" is for those who manage this place. Ask one of them.")), Private: true}, true, nil
	}
	c, err := h.use(ctx, name)
	if err != nil {
		return answer, true, err
	}
	defer h.release(c)
	if command.opens {
		if _, err := c.current(ctx); err != nil {
			return answer, true, err
		}
	}
	answer, err = command.run(ctx, c, who, args)
	var denied errDenied
	if errors.As(err, &denied) {
		return Answer{Text: c.translated(string(denied)), Private: true}, true, nil
	}
	var words errPeople
	if errors.As(err, &words) {
		return Answer{Text: c.translated(string(words))}, true, nil
	}
	answer.Text = c.translated(answer.Text)
	return answer, true, err
}

// restricted reports whether only managers may run a command.
func (h *Hub) restricted(c Command) bool {
	restricted := h.rules.Load().Restricted
	if c.Guarded {
		return true
	}
	if restricted == nil {
		return c.Restricted
	}
	return slices.Contains(restricted, c.Name)
}

// parseCommand splits a line into command and arguments. A slash followed by an unknown word is an
// ordinary message: people write paths.
func parseCommand(line string) (c Command, args string, ok bool) {
	rest, slash := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !slash {
		return c, "", false
	}
	name, args := rest, ""
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		name, args = rest[:end], rest[end:]
	}
	for _, c := range Commands {
		if strings.EqualFold(c.Name, name) {
			return c, strings.TrimSpace(args), true
		}
	}
	return c, "", false
}

// otherNames maps words people know from other programs to our commands.
var otherNames = map[string]string{"clear": "new", "reset": "new", "usage": "context", "tokens": "context", "history": "recall"}

// FindCommand returns the command with a name, or an error that suggests which one was meant.
func FindCommand(name string) (Command, error) {
	if c, _, ok := parseCommand("/" + name); ok {
		return c, nil
	}
	names := make([]string, 0, len(Commands))
	for _, c := range Commands {
		names = append(names, "/"+c.Name)
	}
	lower := strings.ToLower(name)
	hint := compactor.DidYouMean("/"+lower, names)
	if other, ok := otherNames[lower]; ok {
		hint = ", did you mean /" + other + "?"
	}
	return Command{}, errPeople("There is no command /" + name + cmp.Or(hint, ".") + " /help shows the commands; to send it as text, begin with //" + name + ".")
}

func runHelp(_ context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	var usages, lines []string
	width := 29
	for _, command := range Commands {
		usage := c.spell("/" + command.Usage())
		usages, width = append(usages, usage), max(width, utf8.RuneCountInString(usage))
	}
	for i, command := range Commands {
		lines = append(lines, fmt.Sprintf("%-*s %s", width, usages[i], c.spell(command.Help)))
	}
	return Answer{Text: strings.Join(lines, "\n"), Aligned: true}, nil
}

func runContext(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	now := newContext(ctx, (*c.gauge.Load())(), c.records, agent)
	now.Calls = c.callsWords()
	money := c.hub.rules.Load().Money
	if now.Usage, err = ReadSpending(ctx, c.records, agent.Model.Name(), money); err != nil {
		return Answer{}, err
	}
	now.Usage.Budgets = append(now.Usage.Budgets, c.hub.budget.state(money, time.Now())...)
	return Answer{Text: c.spell(now.String()), Aligned: true}, nil
}

// maxChoices is the most choices that Discord shows.
const maxChoices = 25

func runStop(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	following, err := c.records.Settings().Following(ctx)
	if err != nil {
		return Answer{}, err
	}
	if following {
		if err := c.records.Settings().Follow(ctx, false); err != nil {
			return Answer{}, err
		}
	}
	switch stopped := c.interrupt(); {
	case following:
		return Answer{Text: "Stopped. I answer in this thread again when somebody mentions me."}, nil
	case stopped:
		return Answer{Text: "Stopped."}, nil
	}
	return Answer{Text: "There is nothing to stop."}, nil
}

// Words returns the text of an error that is meant for people; ok is false for other errors.
func Words(err error) (words string, ok bool) {
	var denied errDenied
	var people errPeople
	switch {
	case errors.As(err, &denied):
		return string(denied), true
	case errors.As(err, &people):
		return string(people), true
	}
	return "", false
}
