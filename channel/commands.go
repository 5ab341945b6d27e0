package channel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cairn/compactor"
	"cairn/memory"
)

// Command is something people tell the bot itself, not the model. Every door
// shows the commands in its own way.
type Command struct {
	Name string // without the slash
	Args string // as shown in /help; empty: it takes none
	Help string
	run  func(ctx context.Context, c *conversation, who Person, args string) (string, error)
}

// Commands are all commands, in the order /help shows them.
var Commands []Command

func init() { // a literal would refer to itself through /help
	Commands = []Command{
		{Name: "compact", Args: "[focus]", Help: "sum up the older messages now; focus says what to keep in detail", run: runCompact},
		{Name: "context", Help: "show how full the context window is, and what stands in it", run: runContext},
		{Name: "memories", Args: "[query]", Help: "show what I keep in mind from this conversation", run: runMemories},
		{Name: "remember", Args: "text", Help: "keep something in mind", run: runRemember},
		{Name: "forget", Args: "number", Help: "forget a memory; the messages themselves remain", run: runForget},
		{Name: "stop", Help: "stop the answer that is being written", run: runStop},
		{Name: "help", Help: "show the commands", run: runHelp},
	}
}

// errPeople carries words for whoever asked: not a fault of the program.
type errPeople string

func (e errPeople) Error() string { return string(e) }

// Run runs line if it is a command, as "/context" or "/compact prices". The answer
// is for whoever asked. handled is false if it is no command: then it is a message.
func (h *Hub) Run(ctx context.Context, name string, who Person, line string) (answer string, handled bool, err error) {
	command, args, ok := parseCommand(line)
	if !ok {
		return "", false, nil
	}
	c, err := h.use(ctx, name)
	if err != nil {
		return "", true, err
	}
	defer h.release(c)
	answer, err = command.run(ctx, c, who, args)
	var words errPeople
	if errors.As(err, &words) {
		return string(words), true, nil
	}
	return answer, true, err
}

// parseCommand takes a line apart. A word behind a slash that is no command is an
// ordinary message: people write paths.
func parseCommand(line string) (c Command, args string, ok bool) {
	rest, slash := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !slash {
		return c, "", false
	}
	name, args, _ := strings.Cut(rest, " ")
	for _, c := range Commands {
		if strings.EqualFold(c.Name, name) {
			return c, strings.TrimSpace(args), true
		}
	}
	return c, "", false
}

func runHelp(context.Context, *conversation, Person, string) (string, error) {
	var b strings.Builder
	for _, c := range Commands {
		fmt.Fprintf(&b, "/%-18s %s\n", strings.TrimSpace(c.Name+" "+c.Args), c.Help)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

func runCompact(ctx context.Context, c *conversation, _ Person, focus string) (string, error) {
	engine, err := c.compactor(ctx)
	if err != nil {
		return "", err
	}
	e := engine.Compact(compactor.OnManual, focus)
	if e.State == compactor.EventNoop {
		return "Nothing to compact: " + e.Error + ".", nil
	}
	return fmt.Sprintf("Summing up %d messages (#%d to #%d) in the background. Go on talking; nothing is lost.", e.Messages, e.From, e.To), nil
}

func runContext(ctx context.Context, c *conversation, _ Person, _ string) (string, error) {
	engine, err := c.compactor(ctx)
	if err != nil {
		return "", err
	}
	return newContext(ctx, engine, c.records, c.agent).String(), nil
}

// memoriesShown is how many memories /memories shows at most.
const memoriesShown = 10

func runMemories(ctx context.Context, c *conversation, _ Person, query string) (string, error) {
	found, err := c.records.SearchMemories(ctx, query, memoriesShown)
	if err != nil {
		return "", err
	}
	switch {
	case len(found) == 0 && query == "":
		return "I keep nothing in mind from this conversation yet. Memories are made when older messages are summed up, or with /remember.", nil
	case len(found) == 0:
		return fmt.Sprintf("I keep nothing in mind about %q here.", query), nil
	}
	var b strings.Builder
	for _, m := range found {
		fmt.Fprintln(&b, MemoryLine(m))
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// MemoryLine is a memory in one line for people.
func MemoryLine(m memory.Memory) string {
	from := ""
	if m.Speaker != "" {
		from = m.Speaker + ", "
	}
	return fmt.Sprintf("%d. %s: %s (%s%s)", m.ID, m.Kind, m.Content, from, m.SaidAt.UTC().Format("2 January 2006"))
}

func runRemember(ctx context.Context, c *conversation, who Person, text string) (string, error) {
	if text == "" {
		return "", errPeople("Say what to remember: /remember the standup is at 9:30")
	}
	m, fresh, err := c.records.Remember(ctx, compactor.MemoryDraft{Kind: "fact", Content: text}, who.Name)
	if err != nil {
		return "", errPeople("That cannot be remembered: " + err.Error())
	}
	if !fresh {
		return fmt.Sprintf("I had that in mind already, as memory %d.", m.ID), nil
	}
	c.remembered(m.ID, m.Kind, m.Content)
	return fmt.Sprintf("I will keep that in mind, as memory %d.", m.ID), nil
}

func runForget(ctx context.Context, c *conversation, _ Person, which string) (string, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(which, "#"), 10, 64)
	if err != nil || id <= 0 {
		return "", errPeople("Say which memory by its number, as /memories shows it: /forget 12")
	}
	switch err := c.records.Forget(ctx, id); {
	case errors.Is(err, memory.ErrNotFound):
		return "", errPeople(fmt.Sprintf("There is no memory %d in this conversation.", id))
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("Memory %d is forgotten. The messages it came from remain.", id), nil
}

func runStop(_ context.Context, c *conversation, _ Person, _ string) (string, error) {
	c.mu.Lock()
	stop := c.stop
	c.mu.Unlock()
	if stop == nil {
		return "There is nothing to stop.", nil
	}
	stop(errStopped)
	return "Stopped.", nil
}
