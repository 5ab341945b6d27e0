package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/store"
)

// Commands that decide whether the bot answers, and what it may do.

// runStop stops the turn whose answer people see here, and answering unasked in a thread.
func runStop(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	following, err := c.records.Settings().Following(ctx)
	if err == nil && following {
		err = c.records.Settings().Follow(ctx, false)
	}
	answer := Answer{Text: "There is nothing to stop."}
	for _, name := range c.answeredHere() {
		if turn := c.hub.Operator().turnIn(name); turn != nil {
			turn.cancel(errStopped)
			answer = Answer{Text: "Stopped."}
			break
		}
	}
	if following {
		answer = Answer{Text: "Stopped. I will answer in this thread again when someone mentions me."}
	}
	return answer, err
}

// answeredHere returns the conversations whose answers people see here: this one, and for a thread the one above
// while it answers the message that the thread hangs on. Slack shows that answer in the thread.
func (c *conversation) answeredHere() []string {
	place := chat.ParsePlace(c.name)
	question := place.Thread
	if question == "" {
		return []string{c.name}
	}
	place.Thread = ""
	if turn := c.hub.Operator().turnIn(place.String()); turn == nil || !slices.Contains(turn.To, question) {
		return []string{c.name}
	}
	return []string{c.name, place.String()}
}

func (c *conversation) interrupt() {
	if turn := c.turn.Load(); turn != nil {
		turn.cancel(errStopped)
	}
}

// While a conversation or the whole bot is paused, messages are kept as context, and no model is called.

// everywhere is the scope of a pause of the whole bot.
const everywhere = ""

var errPaused = fmt.Errorf("the bot is paused: %w", compactor.ErrSpent)

func (c *conversation) paused(ctx context.Context) bool {
	here, all, err := c.hub.Operator().Paused(ctx, c.account())
	if err != nil && ctx.Err() == nil {
		c.log.Warn("read_pause_failed", "error", err)
	}
	return here || all
}

// WhySilent tells people why the bot does not answer in a conversation; "" if it does.
func (o Operator) WhySilent(ctx context.Context, conversation string) (words string) {
	switch here, all, _ := o.Paused(ctx, conversation); {
	case o.hub.access.Rules().RespondIn(conversation) == access.RespondNever:
		words = TextRefused
	case all:
		words = "I am still paused everywhere; /resume everywhere ends the pause."
	case here:
		words = "I am still paused here; /resume ends the pause."
	}
	return o.hub.spell(conversation, Translated(o.hub.languageOf(conversation), words))
}

func runPause(ctx context.Context, c *conversation, who Person, where string) (Answer, error) {
	scope, err := c.scope(who, where)
	if err == nil {
		err = c.hub.Operator().Pause(ctx, scope, who)
	}
	if scope == everywhere {
		return Answer{Text: c.sayf("I am paused everywhere until /resume everywhere. I keep listening.")}, err
	}
	return Answer{Text: c.sayf("I am paused here until /resume. I keep listening.")}, err
}

func runResume(ctx context.Context, c *conversation, who Person, where string) (Answer, error) {
	scope, err := c.scope(who, where)
	if err == nil {
		err = c.hub.Operator().Resume(ctx, scope)
	}
	return Answer{Text: cmp.Or(c.hub.Operator().WhySilent(ctx, c.name), c.translated("I am answering again."))}, err
}

func (c *conversation) scope(who Person, where string) (string, error) {
	switch strings.ToLower(where) {
	case "":
		return c.name, nil
	case "everywhere":
		if !c.hub.access.Rules().Owns(c.name, who) {
			return "", errDenied("Only my owners, as listed in the settings, may do that everywhere.")
		}
		return everywhere, nil
	}
	return "", errPeople(`Use no argument for this conversation, or "everywhere" for all of them.`)
}

// answersApproval returns the command that allows or denies a waiting call.
func answersApproval(allow bool) func(context.Context, *conversation, Person, string) (Answer, error) {
	return func(_ context.Context, c *conversation, who Person, code string) (Answer, error) {
		if !c.hub.access.Rules().Trusts(c.name, who) {
			return Answer{}, errDenied("In a direct message, the owners and managers named in my settings file decide which tools I may call.")
		}
		for _, name := range c.answeredHere() {
			if words, ok := c.hub.Operator().Approve(name, code, cmp.Or(who.Name, c.sayf("Somebody")), allow); ok {
				return Answer{Text: words}, nil
			}
		}
		// Private, so that a second press of a button does not replace the line that says who decided.
		return Answer{}, errDenied("No such tool call is waiting for approval here: it was answered, timed out, or was stopped.")
	}
}

func runAsk(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	id, task := callOf(args)
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	if len(agent.Spawn) == 0 {
		return Answer{}, errPeople(`No agent accepts tasks here. The bot's operator can allow some under [[agents]]: spawn = ["researcher"].`)
	}
	if id == "" {
		return Answer{}, errPeople(c.sayf("Name the agent and the task: /ask @%s and what to do.", agent.Spawn[0]))
	}
	if c.isTask() || c.hub.access.Rules().RespondIn(c.name) == access.RespondNever {
		return Answer{}, errPeople("I only listen here, so I could not post the result.")
	}
	write := func() (store.NewTask, error) { return c.newTask(ctx, spawning{Agent: id, Task: task}, nil) }
	n, err := write()
	if err != nil {
		return Answer{}, err
	}
	n.Author = who.ID
	t, err := c.begin(ctx, n, write)
	started := c.sayf("Task %d of %s has started; I will post its result here. /tasks shows it.", t.Number, t.Agent)
	return Answer{Text: strings.TrimSpace(started + " " + c.hub.Operator().WhySilent(ctx, c.name))}, err
}

func runTasks(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	all, err := c.records.Tasks().List(ctx)
	if err != nil {
		return Answer{}, err
	}
	if args != "" {
		return c.stopTask(ctx, who, all, args)
	}
	if len(all) == 0 {
		return Answer{Text: "There are no tasks."}, nil
	}
	var lines []string
	for _, t := range slices.Backward(all) {
		took := cmp.Or(t.Ended, time.Now()).Sub(t.Created)
		text := cmp.Or(chat.OneLine(t.Text), c.sayf("(deleted)"))
		used := c.sayf("%s messages  %s tokens", fmt.Sprintf("%4d", t.Messages), fmt.Sprintf("%7d", t.Tokens))
		lines = append(lines, fmt.Sprintf("%3d  %s %-12s %8s  %s  %s", t.Number, padded(c.word("task", string(t.State)), 8), t.Agent, chat.Lasting(took), used, tokens.Clip(text, 20)))
	}
	return Answer{Text: strings.Join(lines, "\n"), Aligned: true}, nil
}

func (c *conversation) stopTask(ctx context.Context, who Person, all []store.Task, args string) (Answer, error) {
	verb, number, _ := strings.Cut(args, " ")
	n, ok := numberOf(strings.TrimSpace(number))
	if !strings.EqualFold(verb, "stop") || !ok {
		return Answer{}, errPeople(c.sayf("/tasks lists the tasks, and /tasks stop 3 stops number 3."))
	}
	i := slices.IndexFunc(all, func(t store.Task) bool { return t.Number == n && t.State == store.TaskOpen })
	if i < 0 {
		return Answer{}, errPeople(c.sayf("There is no open task %d. /tasks lists them.", n))
	}
	records, err := c.hub.o.Store.Find(ctx, all[i].Conversation)
	if err == nil {
		err = c.hub.endTask(ctx, records, all[i], store.TaskStopped, cmp.Or(who.Name, "somebody")+" stopped it")
	}
	return Answer{Text: fmt.Sprintf("Task %d of %s was stopped.", n, all[i].Agent)}, err
}
