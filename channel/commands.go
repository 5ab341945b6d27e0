package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// How people run commands, and what commands see of a conversation.

// Run runs line if it is a command, for the person who asked; handled is false if it is a message. With an error
// other than ErrRefused the answer says what the person can do about it.
func (h *Hub) Run(ctx context.Context, name string, who access.Person, line string) (answer command.Answer, handled bool, err error) {
	return h.run(ctx, name, who, line, true)
}

// run is Run; with asks, the owner of the conversation runs the command.
func (h *Hub) run(ctx context.Context, name string, who access.Person, line string, asks bool) (answer command.Answer, handled bool, err error) {
	defer func() { answer.Language = cmp.Or(answer.Language, h.voice(name).language()) }()
	cmd, args, ok := command.Parse(line)
	if !ok {
		return answer, false, nil
	}
	if !h.access.Rules().Hears(name, who.ID, false) {
		return answer, true, ErrRefused
	}
	answer, err = h.execute(ctx, name, who, cmd, args)
	if asks && errors.Is(err, store.ErrOwned) {
		answer, err = h.askOwner(ctx, name, who, line)
	}
	if err != nil {
		answer = command.Answer{Text: h.commandFailed(name, err)}
	}
	if then := answer.Then; then != nil {
		answer.Then = func(ctx context.Context) command.Answer { return h.outcome(ctx, name, cmd, then) }
	}
	return answer, true, err
}

// commandFailed returns what people read about a command that failed.
func (h *Hub) commandFailed(name string, err error) string {
	return h.voice(name).translate(databaseWords(err, "That did not work; my log says why. Try again later."))
}

// execute runs a command.
func (h *Hub) execute(ctx context.Context, name string, who access.Person, cmd command.Command, args string) (answer command.Answer, err error) {
	defer h.recoverCommand(name, cmd, &err)
	c, err := h.use(ctx, name)
	if err != nil {
		return command.Answer{}, err
	}
	defer h.release(c)
	c.detect(ctx)
	call := newCall(h, c, who)
	call.Command = cmd
	call.Args = args
	return call.Run(ctx)
}

// outcome waits until what a command started has ended, and returns what people read of it.
func (h *Hub) outcome(ctx context.Context, name string, cmd command.Command, then func(context.Context) command.Answer) (answer command.Answer) {
	var err error
	defer func() {
		if err != nil {
			answer = command.Answer{Text: h.commandFailed(name, err)}
		}
		answer.Language = cmp.Or(answer.Language, h.voice(name).language())
	}()
	defer h.recoverCommand(name, cmd, &err)
	return then(ctx)
}

// recoverCommand logs a panic of a command, and makes it an error.
func (h *Hub) recoverCommand(name string, cmd command.Command, err *error) {
	if p := recover(); p != nil {
		h.o.Log.Error("command_panicked", "conversation", name, "command", cmd.Name, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("the command /%s panicked: %v", cmd.Name, p)
	}
}

// OnlyPlatformManagers reports whether the only people who may run a command are those to whom the platform gives management rights, so that
// it may hide the command from others: the settings restrict all of its uses, and name nobody else.
func OnlyPlatformManagers(h *Hub, connector, name string) bool {
	rules := h.access.Rules()
	c, err := command.Find(name)
	return err == nil && c.IsForManagers(rules) && !rules.NamesManagers(connector)
}

// Suggest returns at most 25 completions of what a person has typed of a command's argument.
func (h *Hub) Suggest(ctx context.Context, name string, who access.Person, of, typed string) ([]command.Choice, error) {
	rules := h.access.Rules()
	if !rules.Hears(name, who.ID, false) {
		return nil, ErrRefused
	}
	cmd, _, ok := command.Parse("/" + of)
	if !ok || !command.MayRun(rules, name, who, cmd) {
		return nil, nil
	}
	records, err := h.stored(ctx, name)
	if records == nil {
		return nil, err
	}
	return cmd.Suggest(ctx, records, typed)
}

// newCall returns a call by a person in a conversation, without a command.
func newCall(h *Hub, c *conversation, who access.Person) *command.Call {
	return &command.Call{Who: who, Records: c.records, Rules: h.access.Rules(), Speaker: c.speaker(), Conversation: commandHost{h, c}, Log: c.log}
}

// commandHost is what commands see of a conversation, which stays in memory while they run.
type commandHost struct {
	hub *Hub
	c   *conversation
}

var _ command.Conversation = commandHost{}

func (h commandHost) operator() Operator { return h.hub.Operator() }

func (h commandHost) Opened(ctx context.Context) (*access.Rules, sentences.Speaker, error) {
	_, err := h.c.current(ctx)
	return h.hub.access.Rules(), h.c.speaker(), err
}

func (h commandHost) Setup(ctx context.Context) (command.Setup, error) {
	agent, err := h.c.current(ctx)
	if err != nil {
		return command.Setup{}, err
	}
	setup := command.Setup{
		Policy: agent.Policy(), Origin: agent.Origin, Agents: agent.Spawn,
		PostsNothing: h.c.task != nil || h.hub.access.Rules().RespondIn(h.c.name) == access.RespondNever,
	}
	if agent.Toolbox == nil {
		return setup, nil
	}
	for _, s := range agent.Toolbox.Servers() {
		fromFile := slices.Contains(agent.ToolServers, s.ID)
		setup.ToolServers = append(setup.ToolServers, command.ToolServer{ID: s.ID, Tools: s.Tools, Problem: s.Problem, FromFile: fromFile})
	}
	return setup, nil
}

func (h commandHost) SettingsChanged() { h.hub.rereadSettings(h.c.records) }

func (h commandHost) ToolsChanged() {
	h.c.inbox.post(h.c.reread)
	h.hub.postThreads(h.c.name, (*conversation).reread)
}

func (h commandHost) Remembered(id int64, kind, content string) {
	h.c.remembered(id, kind, content)
}

func (h commandHost) Link(m chat.Message) string {
	linker, links := h.c.connector.(Linker)
	if !links || m.Role != llm.RoleUser || store.IsOwn(m.ID) {
		return ""
	}
	return linker.MessageLink(h.c.name, m.ID)
}

func (h commandHost) ForgetMessage(ctx context.Context, id string) error {
	return h.c.edits.apply(ctx, change{deleted: []string{id}})
}

func (h commandHost) Forget(ctx context.Context, who store.Person, in []*store.Conversation) (<-chan error, error) {
	return erasure{h.hub, who, in}.begin(ctx)
}

func (h commandHost) Status() compactor.Status { return h.c.status() }

func (h commandHost) Context(ctx context.Context, speaker sentences.Speaker) (report.Context, error) {
	now, err := h.operator().contextIn(ctx, h.c.name, speaker)
	if err == nil {
		now.Usage, err = h.operator().Spending(ctx, h.c.name)
	}
	return now, err
}

func (h commandHost) Compact(ctx context.Context, request compactor.Requested) (compactor.Event, outcomeOf, error) {
	return h.c.compact(ctx, request)
}

func (h commandHost) Undo(only int64) (compactor.Event, error) { return h.c.undo(only) }

func (h commandHost) Rewrite(summary int64, line int, text string, by compactor.Writer) (event compactor.Event, err error) {
	return h.c.rewrite(summary, line, text, by)
}

func (h commandHost) Recap(ctx context.Context, who access.Person, focus string, from int64) (write func(context.Context) (compactor.Recap, error), allowed bool, err error) {
	allowed, _, err = h.hub.access.TakeTurn(ctx, []string{who.ID}, true)
	operator := h.operator()
	name := h.c.name
	return func(ctx context.Context) (compactor.Recap, error) { // the conversation may have left memory since
		return onEngine(ctx, operator, name, func(c *conversation) (compactor.Recap, error) { return c.recap(ctx, focus, from) })
	}, allowed, err
}

func (h commandHost) StartSession(ctx context.Context) (wanted, later bool, err error) {
	return h.c.wantSession(ctx)
}

func (h commandHost) Stop(ctx context.Context) (stopped bool) {
	for _, name := range h.answeredHere(ctx) {
		if turn := h.operator().turnIn(name); turn != nil {
			turn.cancel(errStopped)
			return true
		}
	}
	return false
}

func (h commandHost) Approve(ctx context.Context, code string, who access.Person, by string, allow bool) (text string, ok bool, err error) {
	for _, name := range h.answeredHere(ctx) {
		text, ok = h.operator().Approve(name, code, by, allow)
		if ok {
			return text, true, nil
		}
	}
	return h.answerLate(ctx, strings.ToLower(code), who, by, allow)
}

// answeredHere returns the conversations whose answers people see here: this one, and for a thread the one above while its answer is shown
// in the thread.
func (h commandHost) answeredHere(ctx context.Context) []string {
	place := chat.ParsePlace(h.c.name)
	question := place.Thread
	if question == "" {
		return []string{h.c.name}
	}
	place.Thread = ""
	if turn := h.operator().turnIn(place.String()); turn == nil || !h.hub.answersIn(ctx, place.String(), turn.To, question) {
		return []string{h.c.name}
	}
	return []string{h.c.name, place.String()}
}

func (h commandHost) Pause(ctx context.Context, everywhere bool, by access.Person) error {
	return h.operator().Pause(ctx, h.scope(everywhere), by)
}

func (h commandHost) Resume(ctx context.Context, everywhere bool) error {
	return h.operator().Resume(ctx, h.scope(everywhere))
}

// scope is where a pause begins or ends.
func (h commandHost) scope(all bool) string {
	if all {
		return everywhere
	}
	return h.c.name
}

func (h commandHost) WhySilent(ctx context.Context) string {
	return h.operator().WhySilent(ctx, h.c.name)
}

func (h commandHost) StartTask(ctx context.Context, agent, text string, by access.Person) (store.Task, error) {
	return h.c.tasks.Ask(ctx, agent, text, by.ID)
}

func (h commandHost) StopTask(ctx context.Context, t store.Task, by access.Person) error {
	return h.hub.tasks.Stop(ctx, t, cmp.Or(by.Name, "somebody"))
}
