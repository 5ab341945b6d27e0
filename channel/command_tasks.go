package channel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/store"
)

// runAsk gives another agent a task.
func runAsk(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	id, task := callOf(args)
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	if len(agent.Spawn) == 0 {
		return Answer{}, errPeople(`No agent takes tasks here. The bot's operator can allow some under [[agents]]: spawn = ["researcher"].`)
	}
	if id == "" {
		return Answer{}, errPeople(c.sayf("Say which agent and what to do: /ask @%s and the task.", agent.Spawn[0]))
	}
	if c.isTask() || c.hub.respond(c.name) == RespondNever {
		return Answer{}, errPeople("I only listen here, so I could not post the result.")
	}
	n, err := c.newTask(ctx, spawning{Agent: id, Task: task}, nil)
	if err != nil {
		return Answer{}, err
	}
	n.Author = who.ID
	t, err := c.begin(ctx, n)
	if err != nil {
		return Answer{}, err
	}
	started := c.sayf("Task %d of %s has started; I will post its result here. /tasks shows it.", t.Number, t.Agent)
	return Answer{Text: strings.TrimSpace(started + " " + c.hub.Operator().WhySilent(ctx, c.name))}, nil
}

// runTasks lists the tasks of a conversation, or stops one.
func runTasks(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	all, err := c.records.Tasks().List(ctx)
	if err != nil {
		return Answer{}, err
	}
	if verb, number, _ := strings.Cut(args, " "); verb != "" {
		return c.stopTask(ctx, who, all, verb, strings.TrimSpace(number))
	}
	if len(all) == 0 {
		return Answer{Text: "There are no tasks."}, nil
	}
	var lines []string
	for _, t := range slices.Backward(all) {
		took := time.Since(t.Created)
		if !t.Ended.IsZero() {
			took = t.Ended.Sub(t.Created)
		}
		text := cmp.Or(chat.OneLine(t.Text), "(deleted)")
		lines = append(lines, fmt.Sprintf("%3d  %-8s %-12s %8s  %4d messages  %7d tokens  %s", t.Number, t.State, t.Agent, took.Round(time.Second), t.Messages, t.Tokens, tokens.Clip(text, 20)))
	}
	return Answer{Text: strings.Join(lines, "\n"), Aligned: true}, nil
}

func (c *conversation) stopTask(ctx context.Context, who Person, all []store.Task, verb, number string) (Answer, error) {
	n, ok := numberOf(number)
	if !strings.EqualFold(verb, "stop") || !ok {
		return Answer{}, errPeople(c.sayf("/tasks lists the tasks, and /tasks stop 3 stops number 3."))
	}
	i := slices.IndexFunc(all, func(t store.Task) bool { return t.Number == n && t.State == store.TaskOpen })
	if i < 0 {
		return Answer{}, errPeople(c.sayf("There is no open task %d. /tasks lists them.", n))
	}
	records, err := c.hub.o.Store.Find(ctx, all[i].Conversation)
	if err != nil {
		return Answer{}, err
	}
	if err := c.hub.endTask(ctx, records, all[i], store.TaskStopped, cmp.Or(who.Name, "somebody")+" stopped it"); err != nil {
		return Answer{}, err
	}
	return Answer{Text: fmt.Sprintf("Task %d of %s was stopped.", n, all[i].Agent)}, nil
}
