package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel/report"
	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
)

// How tasks start, by the tools spawn and parallel_spawn or by /ask, and how people and the model see them.

const (
	briefingMessages = 20   // of the parent, at most
	briefingTokens   = 1500 // of these messages
	maxTaskTokens    = 2000 // the most tokens of a task's text
)

// spawning is the argument of a call of spawn.
type spawning struct {
	Agent      string         `json:"agent"`
	Task       string         `json:"task"`
	Compaction map[string]any `json:"compaction"`
}

// spawnTools returns the tools that give tasks to these agents; c is nil if they are only measured.
func spawnTools(ids []string, c *conversation) []llm.Tool {
	if len(ids) == 0 {
		return nil
	}
	enum, _ := json.Marshal(ids) // strings can always be marshaled
	one := `{"type":"object","properties":{"agent":{"type":"string","enum":` + string(enum) + `},"task":{"type":"string","description":"all it must know: it sees only this and the newest messages"},"compaction":{"type":"object","description":"settings of its compaction, by key"}},"required":["agent","task"]}`
	return []llm.Tool{
		{
			Name:        "spawn",
			Description: "Give another agent a task. It works on it in the background; you go on, and get its result as a message. Tell people that it has started.",
			Parameters:  json.RawMessage(one),
			Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
				var args spawning
				if err := strictly(arguments, &args); err != nil {
					return llm.Result{}, fmt.Errorf(`the arguments are {"agent": "…", "task": "…", "compaction": {…}}: %w`, err)
				}
				text, err := c.spawnAll(ctx, []spawning{args})
				return llm.Result{Text: text}, err
			},
		},
		{
			Name:        "parallel_spawn",
			Description: fmt.Sprintf("Give several tasks at once, each as with spawn. At most %d may be open.", maxOpenTasks),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"tasks":{"type":"array","items":` + one + `}},"required":["tasks"]}`),
			Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
				var args struct {
					Tasks []spawning `json:"tasks"`
				}
				if err := strictly(arguments, &args); err != nil {
					return llm.Result{}, fmt.Errorf(`the arguments are {"tasks": [{"agent": "…", "task": "…"}, …]}: %w`, err)
				}
				text, err := c.spawnAll(ctx, args.Tasks)
				return llm.Result{Text: text}, err
			},
		},
	}
}

func strictly(arguments json.RawMessage, into any) error {
	strict := json.NewDecoder(bytes.NewReader(arguments))
	strict.DisallowUnknownFields()
	return strict.Decode(into)
}

// spawnAll starts as many tasks as may be open or, if one is wrong, none. Its result is for the model.
func (c *conversation) spawnAll(ctx context.Context, all []spawning) (string, error) {
	if len(all) == 0 {
		return "", errors.New("tasks is empty: name at least one")
	}
	sources, err := c.records.Turns().Messages(ctx, c.turnSeq())
	if err != nil {
		return "", err
	}
	tasks := make([]store.NewTask, len(all))
	for i, one := range all {
		tasks[i], err = c.newTask(ctx, one, sources)
		if err != nil {
			return "", err
		}
		tasks[i].Turn = c.turnSeq()
	}
	var started []map[string]any
	for i, n := range tasks {
		t, err := c.begin(ctx, n, func() (store.NewTask, error) { return c.newTask(ctx, all[i], sources) })
		if err != nil && len(started) == 0 {
			return "", err
		}
		one := map[string]any{"agent": n.Agent, "task": t.Number, "state": "started"}
		if err != nil {
			one = map[string]any{"agent": n.Agent, "refused": err.Error()}
		}
		started = append(started, one)
	}
	return asJSON(map[string]any{"tasks": started, "note": "each result comes as a message of its own; /tasks shows people what is open"}, nil)
}

// newTask checks a task and writes its instructions. sources are the messages that it comes from.
func (c *conversation) newTask(ctx context.Context, s spawning, sources []chat.Message) (n store.NewTask, err error) {
	var spawn []string
	var above compactor.Patch // the set layers of this conversation's policy
	var next int64
	var chain int
	if err := c.tryDo(func(e *compactor.Compactor) {
		chain = c.agent.tasksPerMessage()
		spawn = c.agent.Spawn
		above = compactor.Merge(c.agent.layers(), c.policy.own)
		next = e.View().Next
	}); err != nil {
		return n, err
	}
	if !slices.Contains(spawn, s.Agent) {
		return n, errPeople(fmt.Sprintf("There is no agent %q. These accept tasks: %s.", s.Agent, strings.Join(spawn, ", ")))
	}
	s.Task = strings.TrimSpace(s.Task)
	if s.Task == "" {
		return n, errPeople("Describe the task.")
	}
	if tokens.Estimate(s.Task) > maxTaskTokens {
		return n, errPeople(fmt.Sprintf("That task is too long: at most %d tokens, about %d characters.", maxTaskTokens, 4*maxTaskTokens))
	}
	own, err := PatchOf(s.Compaction)
	if err != nil {
		return n, err
	}
	said, err := c.records.Transcript().Page(ctx, next-briefingMessages, briefingMessages)
	if err != nil {
		return n, err
	}
	briefing, quoted := briefingOf(said)
	for _, m := range sources {
		quoted = append(quoted, m.Seq)
	}
	return store.NewTask{
		Task:    store.Task{Agent: s.Agent, Text: s.Task, Set: own, Above: above, Began: next - 1, Sources: quoted},
		Message: fmt.Sprintf("<task>\n%s\n</task>%s", s.Task, briefing), Max: maxOpenTasks, Chain: chain,
	}, nil
}

// briefingOf returns what a sub-agent reads of the conversation, the newest that fits, and the messages it is of.
func briefingOf(said []chat.Message) (text string, of []int64) {
	said = slices.DeleteFunc(said, func(m chat.Message) bool {
		return m.Text == "" || m.Role != llm.RoleUser && m.Role != llm.RoleAssistant
	})
	items := summarize.ClippedItems(said, briefingTokens/3)
	left := briefingTokens
	first := len(items)
	for ; first > 0 && items[first-1].Tokens <= left; first-- {
		left -= items[first-1].Tokens
	}
	items = items[first:]
	if len(items) == 0 {
		return "", nil
	}
	for _, item := range items {
		of = append(of, item.From)
	}
	return "\n\n<briefing>\n" + secrets.Mask(summarize.PlainText(items)) + "\n</briefing>", of
}

// PatchOf reads settings that apply to one task, one message or one compaction, in JSON form. It
// refuses settings that only the settings file may have, and values that are never valid.
func PatchOf(settings map[string]any) (compactor.Patch, error) {
	patch := compactor.Patch{}
	for key, value := range settings {
		if !report.Settable(key) {
			return nil, errPeople(fmt.Sprintf("compaction.%s is set in the settings file only.", key))
		}
		switch v := value.(type) {
		case string, bool:
			patch[key] = fmt.Sprint(v)
		case float64:
			patch[key] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return nil, errPeople(fmt.Sprintf("compaction.%s must be a text, a number, or true or false.", key))
		}
	}
	alone, wrong := patch.Over(compactor.DefaultPolicy())
	for _, e := range alone.Validate() {
		if _, ours := patch[e.Key]; ours && !strings.Contains(e.Want, "_threshold") { // with the other settings it may be valid
			wrong = append(wrong, e)
		}
	}
	if len(wrong) > 0 {
		return nil, errPeople("compaction: " + wrong[0].Error())
	}
	return patch, nil
}

// begin starts a task and wakes it; see writeTask.
func (c *conversation) begin(ctx context.Context, n store.NewTask, again func() (store.NewTask, error)) (store.Task, error) {
	t, err := c.writeTask(ctx, n, again)
	if errors.Is(err, store.ErrTooManyTasks) {
		return t, errPeople(fmt.Sprintf("%d tasks are open here, which is the limit. Wait for one, or stop one with /tasks stop.", maxOpenTasks))
	}
	if errors.Is(err, store.ErrChainSpent) {
		if c.hub.access.First("tasks of "+c.account(), time.Hour) {
			c.log.Warn("tasks_per_message_reached", "effect", "its results start no more tasks", "limit", n.Chain, "turn", n.Turn)
		}
		return t, errPeople(fmt.Sprintf("One message has led to %d tasks, which is the limit (tasks_per_message): no more can start. Tell people what you have found, and what is left; when somebody writes, tasks can start again.", n.Chain))
	}
	if err != nil {
		return t, err
	}
	c.log.Info("task_started", "task", t.Conversation, "agent", t.Agent)
	c.hub.reportTask(t)
	return t, c.hub.wake(context.WithoutCancel(ctx), t.Conversation) // nothing else wakes it, also if /stop ends the turn now
}

// writeTask stores a task. If a message of its briefing was deleted meanwhile, again writes the task anew, without that
// message. A task that comes from a deleted message is refused: again has that message among its sources, too.
func (c *conversation) writeTask(ctx context.Context, n store.NewTask, again func() (store.NewTask, error)) (store.Task, error) {
	for {
		t, err := c.records.Tasks().Begin(ctx, n)
		deleted, ok := errors.AsType[*store.DeletedSourceError](err)
		if !ok {
			return t, err
		}
		renewed, renewErr := again()
		if renewErr != nil || slices.Contains(renewed.Sources, deleted.Seq) {
			return t, err
		}
		renewed.Author = n.Author
		renewed.Turn = n.Turn
		n = renewed
	}
}

// openTasks returns what a summary must say about tasks that were started in its messages and are
// still open. It names them by number: their subject would outlast the deletion of the messages.
func (c *conversation) openTasks(ctx context.Context, from, to int64) (string, error) {
	open, err := c.records.Tasks().Open(ctx)
	var lines []string
	for _, t := range open {
		if t.Began >= from && t.Began <= to {
			lines = append(lines, fmt.Sprintf("Open task %d of the agent %s began after #%d; its result comes as a message.", t.Number, t.Agent, t.Began))
		}
	}
	return strings.Join(lines, "\n"), err
}

// openTasks returns the open tasks of the matching conversations that are not paused.
func (o Operator) openTasks(ctx context.Context, match func(conversation string) bool) ([]store.Task, error) {
	open, err := o.hub.o.Store.OpenTasks(ctx)
	return slices.DeleteFunc(open, func(t store.Task) bool {
		root, _ := store.RootOf(t.Conversation)
		here, all, _ := o.Paused(ctx, root)
		return !match(root) || here || all
	}), err
}
