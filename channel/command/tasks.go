package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/store"
)

// Commands for tasks of other agents.

func runAsk(ctx context.Context, c *Call) (Answer, error) {
	agent, text := chat.AgentCall(c.Args)
	setup, err := c.Conversation.Setup(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case len(setup.Agents) == 0:
		return Answer{}, sentences.NewProblem(`No agent accepts tasks here. The bot's operator can allow some under [[agents]]: spawn = ["researcher"].`)
	case agent == "":
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Name the agent and the task: /ask @%s and what to do.", setup.Agents[0]))
	case setup.PostsNothing:
		return Answer{}, sentences.NewProblem("I only listen here, so I could not post the result.")
	}
	t, err := c.Conversation.StartTask(ctx, agent, text, c.Who)
	if err != nil {
		return Answer{}, err
	}
	started := c.Speaker.Sayf("Task %d of %s has started; I will post its result here. /tasks shows it.", t.Number, t.Agent)
	return Answer{Text: strings.TrimSpace(started + " " + c.Conversation.WhySilent(ctx))}, nil
}

func runTasks(ctx context.Context, c *Call) (Answer, error) {
	all, err := c.Records.Tasks().List(ctx)
	if err != nil {
		return Answer{}, err
	}
	if c.Args != "" {
		return stopTask(ctx, c, all)
	}
	if len(all) == 0 {
		return Answer{Text: "There are no tasks."}, nil
	}
	var lines []string
	for _, t := range slices.Backward(all) {
		lines = append(lines, taskLine(c, t))
	}
	return Answer{Text: strings.Join(lines, "\n"), Aligned: true}, nil
}

func taskLine(c *Call, t store.Task) string {
	took := cmp.Or(t.Ended, time.Now()).Sub(t.Created)
	text := cmp.Or(chat.OneLine(t.Text), c.Speaker.Sayf("(deleted)"))
	used := c.Speaker.Sayf("%s messages  %s tokens", fmt.Sprintf("%4d", t.Messages), fmt.Sprintf("%7d", t.Tokens))
	state := report.Padded(c.Speaker.Word("task", string(t.State)), 8)
	return fmt.Sprintf("%3d  %s %-12s %8s  %s  %s", t.Number, state, t.Agent, chat.Lasting(took), used, tokens.Clip(text, 20))
}

// stopTask stops one of the tasks: "stop 3".
func stopTask(ctx context.Context, c *Call, all []store.Task) (Answer, error) {
	verb, number, _ := strings.Cut(c.Args, " ")
	n, ok := numberOf(strings.TrimSpace(number))
	if !strings.EqualFold(verb, "stop") || !ok {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("/tasks lists the tasks, and /tasks stop 3 stops number 3."))
	}
	i := slices.IndexFunc(all, func(t store.Task) bool { return t.Number == n && t.State == store.TaskOpen })
	if i < 0 {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("There is no open task %d. /tasks lists them.", n))
	}
	err := c.Conversation.StopTask(ctx, all[i], c.Who)
	return Answer{Text: fmt.Sprintf("Task %d of %s was stopped.", n, all[i].Agent)}, err
}
