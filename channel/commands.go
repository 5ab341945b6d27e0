package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"cairn/compactor"
	"cairn/store"
)

// Command is a command for the bot itself, not for the model. Every connector shows it in its own way.
type Command struct {
	Name       string // without the slash: lower case letters
	Help       string // at most 100 characters
	Args       []Arg  // in order; all but the last are single words
	Public     bool   // others may see the answer; otherwise only the person who asked does
	Restricted bool   // only managers may run it, unless the settings say otherwise
	Guarded    bool   // only managers may run it, whatever the settings say
	Urgent     bool   // it runs immediately, even where commands wait for earlier messages to be answered
	Replies    bool   // it replies to a question of the bot, beside whose answer it is written

	opens   bool                   // it needs the engine, so it waits until the conversation is open
	own     func(args string) bool // the uses that are open to everyone, whatever the settings say; nil: none
	run     func(ctx context.Context, c *conversation, who Person, args string) (Answer, error)
	suggest func(ctx context.Context, records *store.Conversation, typed string) ([]Choice, error) // suggestions for the argument that Suggests
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
	text := c.Name
	for _, a := range c.Args {
		if a.Required {
			text += " " + a.Name
		} else {
			text += " [" + a.Name + "]"
		}
	}
	return text
}

// Commands lists all commands, in the order /help shows them.
var Commands []Command

func init() { Commands = commands } // an initializer would refer to itself through /help

var commands = []Command{
	{
		Name: "compact", Help: "summarize the older messages now", Restricted: true, opens: true, run: runCompact,
		Args: []Arg{{Name: "focus", Help: "what to keep in detail"}},
	},
	{Name: "undo", Help: "undo the latest summary; memories stay", Restricted: true, opens: true, run: runUndo},
	{
		Name: "new", Help: "start a new session; the old one is summarized, nothing is lost", Public: true, Restricted: true, run: runNew,
	},
	{Name: "context", Help: "show how full the context window is and what fills it", run: runContext},
	{
		Name: "summaries", Help: "list the summaries; show one's lines and what they rest on; rewrite a line", opens: true, run: runSummaries,
		Args: []Arg{{Name: "what", Help: `12 shows the lines of summary 12, "12 3" what line 3 rests on, "edit 12 3 TEXT" rewrites it`}},
	},
	{
		Name: "expand", Help: "show the messages or summaries behind a summary", run: runExpand,
		Args: []Arg{
			{Name: "number", Help: "the summary's number, as /summaries shows it", Required: true, Number: true},
			{Name: "from", Help: "number of the first message to show", Number: true},
		},
	},
	{
		Name: "pin", Help: "keep a message in the prompt when older ones are summarized", Restricted: true, opens: true, run: runPin,
		Args: []Arg{{Name: "number", Help: "the message's number (default: the newest)", Number: true}},
	},
	{
		Name: "unpin", Help: "unpin a message", Restricted: true, opens: true, run: runUnpin,
		Args: []Arg{{Name: "number", Help: "the message's number, as /pins shows it", Required: true, Number: true}},
	},
	{Name: "pins", Help: "list the pinned messages", opens: true, run: runPins},
	{
		Name: "recap", Help: "summarize the conversation for you, without compacting it", opens: true, run: runRecap,
		Args: []Arg{{Name: "focus", Help: "what to focus on"}},
	},
	{
		Name: "memories", Help: "list or search my memories; pin, unpin or restore one", run: runMemories,
		Args: []Arg{{Name: "query", Help: "words to look for, kind:decision, page:2; or pin, unpin or restore and a number"}},
	},
	{
		Name: "recall", Help: "search the messages and memories of this conversation", run: runRecall,
		Args: []Arg{{Name: "question", Help: "a question, or words to look for", Required: true}},
	},
	{
		Name: "remember", Help: "save a memory", run: runRemember,
		Args: []Arg{{Name: "text", Help: `what to remember; where channels share memories, "server: …" is for all of them`, Required: true}},
	},
	{
		Name: "forget", Help: "forget a memory of yours (managers: any); /forget me deletes all you wrote", own: aboutMe, run: runForget,
		Args:    []Arg{{Name: "which", Help: `a memory's number or words from it; or "me" for all you wrote and all I know about you`, Required: true, Suggests: true}},
		suggest: suggestMemories,
	},
	{
		Name: "optout", Help: "save no memories about you from now on", run: runOptOut,
		Args: []Arg{{Name: "off", Help: `"off" opts you in again`}},
	},
	{
		Name: "ask", Help: "have another agent work on a task in the background", Public: true, opens: true, run: runAsk,
		Args: []Arg{{Name: "task", Help: "@agent and what to do", Required: true}},
	},
	{
		Name: "tasks", Help: "list the tasks of other agents, or stop one", run: runTasks,
		Args: []Arg{{Name: "what", Help: `"stop" and a task's number stops it`}},
	},
	{Name: "stop", Help: "stop the current answer; in a thread, also stop answering unasked", Public: true, Urgent: true, run: runStop},
	{
		Name: "pause", Help: "stop answering until /resume; messages are still saved", Public: true, Restricted: true, Urgent: true, run: runPause,
		Args: []Arg{{Name: "where", Help: `"everywhere" for all conversations (owners only)`}},
	},
	{
		Name: "resume", Help: "answer again", Public: true, Restricted: true, run: runResume,
		Args: []Arg{{Name: "where", Help: `"everywhere" for all conversations (owners only)`}},
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
		Name: "tools", Help: "list external tools; add or remove them here", Guarded: true, opens: true, run: runTools,
		Args: []Arg{
			{Name: "change", Help: `"add" or "remove"`},
			{Name: "name", Help: "the tool's name, as /tools lists it"},
		},
	},
	{
		Name: "allow", Help: "allow the tool call that I asked about", Public: true, Guarded: true, Urgent: true, Replies: true, run: answersApproval(true),
		Args: []Arg{{Name: "code", Help: "the call's number (default: the oldest)"}},
	},
	{
		Name: "deny", Help: "deny the tool call that I asked about", Public: true, Guarded: true, Urgent: true, Replies: true, run: answersApproval(false),
		Args: []Arg{{Name: "code", Help: "the call's number (default: the oldest)"}},
	},
	{Name: "help", Help: "show the commands", run: runHelp},
}

// Run runs line if it is a command, for the person who asked; handled is false if it is a message. With an error
// other than ErrRefused the answer says what the person can do about it.
func (h *Hub) Run(ctx context.Context, name string, who Person, line string) (answer Answer, handled bool, err error) {
	defer func() { answer.Language = h.languageOf(name) }()
	command, args, ok := parseCommand(line)
	if !ok {
		return answer, false, nil
	}
	if !h.access.Rules().Hears(name, who.ID, false) {
		return answer, true, ErrRefused
	}
	answer, err = h.execute(ctx, name, who, command, args)
	if err != nil {
		answer = Answer{Text: h.failure(name, err)}
	}
	return answer, true, err
}

func (h *Hub) execute(ctx context.Context, name string, who Person, command Command, args string) (answer Answer, err error) {
	c, err := h.use(ctx, name)
	if err != nil {
		return answer, err
	}
	defer h.release(c)
	c.detectLanguage(ctx)
	switch {
	case !h.mayRun(name, who, command) && (command.own == nil || !command.own(args)):
		err = errDenied(c.spell(fmt.Sprintf("/%s is only for people who manage this place. Ask one of them.", command.Name)))
	case args != "" && len(command.Args) == 0:
		err = errDenied(c.spell(fmt.Sprintf("/%s takes no arguments.", command.Name)))
	case command.opens:
		_, err = c.current(ctx)
	}
	if err == nil {
		answer, err = command.run(ctx, c, who, args)
	}
	if words, ok := errors.AsType[peopleError](err); ok {
		answer = Answer{Text: words.words, Private: words.private}
		err = nil
	}
	answer.Text = c.translated(answer.Text)
	return answer, err
}

// restricted reports whether only managers may run a command.
func (h *Hub) restricted(c Command) bool {
	return c.Guarded || h.access.Rules().Restricts(c.Name, c.Restricted)
}

func (h *Hub) mayRun(name string, who Person, command Command) bool {
	return !h.restricted(command) || h.access.Rules().Manages(name, who)
}

// parseCommand splits a line into command and arguments. "/unknown" is an ordinary message: people write paths.
func parseCommand(line string) (c Command, args string, ok bool) {
	name, slash := strings.CutPrefix(strings.TrimSpace(line), "/")
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name, args = name[:end], strings.TrimSpace(name[end:])
	}
	i := slices.IndexFunc(Commands, func(c Command) bool { return strings.EqualFold(c.Name, name) })
	if !slash || i < 0 {
		return c, "", false
	}
	return Commands[i], args, true
}

// FindCommand returns the command with a name, or an error that suggests which one was meant.
func FindCommand(name string) (Command, error) {
	if c, _, ok := parseCommand("/" + name); ok {
		return c, nil
	}
	var names []string
	for _, c := range Commands {
		names = append(names, c.Name)
	}
	meant := strings.TrimSuffix(strings.TrimPrefix(compactor.DidYouMean(strings.ToLower(name), names), ", did you mean "), "?")
	if meant != "" {
		return Command{}, errPeople(fmt.Sprintf("There is no command /%s. Did you mean /%s? /help shows the commands; to send it as text, start with //%s.", name, meant, name))
	}
	return Command{}, errPeople(fmt.Sprintf("There is no command /%s. /help shows the commands; to send it as text, start with //%s.", name, name))
}

// runHelp lists the commands of which the person may use at least a part.
func runHelp(_ context.Context, c *conversation, who Person, _ string) (Answer, error) {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 30, 0, 2, ' ', 0)
	more := false
	for _, command := range Commands {
		if command.own == nil && !c.hub.mayRun(c.name, who, command) {
			more = true
			continue
		}
		fmt.Fprintf(columns, "%s\t%s\n", c.spell("/"+command.Usage()), c.spell(command.Help))
	}
	err := columns.Flush()
	if more {
		text.WriteString("\n" + c.translated(textMoreCommands))
	}
	return Answer{Text: strings.TrimSpace(text.String()), Aligned: true}, err
}

const textMoreCommands = "People who manage this place have more commands."

// maxChoices is the most choices that Discord shows.
const maxChoices = 25
