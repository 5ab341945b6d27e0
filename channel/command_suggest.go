package channel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/memory"
	"cairn/store"
)

// Completions of arguments: agents, tasks, tools and questions.

// choose offers the choices whose label contains what was typed, at most 25.
func choose(typed string, all []Choice) []Choice {
	kept := slices.DeleteFunc(all, func(c Choice) bool { return !strings.Contains(strings.ToLower(c.Label), strings.ToLower(typed)) })
	return kept[:min(len(kept), maxChoices)]
}

// suggestAgents offers the agents that may be given tasks.
func suggestAgents(ctx context.Context, h *Hub, records *store.Conversation, typed string) (all []Choice, err error) {
	if strings.ContainsAny(typed, " \t\n") { // the agent is already named; the task text follows
		return nil, nil
	}
	agent, err := h.agentOf(ctx, records)
	for _, id := range agent.Spawn {
		all = append(all, Choice{Label: "@" + id, Value: "@" + id + " "})
	}
	return choose(typed, all), err
}

// suggestTasks offers the open tasks, to be stopped.
func suggestTasks(ctx context.Context, _ *Hub, records *store.Conversation, typed string) (all []Choice, err error) {
	open, err := records.Tasks().Open(ctx)
	for _, t := range open {
		stop := fmt.Sprintf("stop %d", t.Number)
		all = append(all, Choice{Label: fmt.Sprintf("%s: %s, %s", stop, t.Agent, tokens.Clip(chat.OneLine(t.Text), 15)), Value: stop})
	}
	return choose(typed, all), err
}

// suggestTools offers the ids of [[tools]].
func suggestTools(ctx context.Context, h *Hub, records *store.Conversation, typed string) (all []Choice, err error) {
	agent, err := h.agentOf(ctx, records)
	for _, s := range agent.servers() {
		all = append(all, Choice{Label: s.ID, Value: s.ID})
	}
	return choose(typed, all), err
}

// suggestApprovals offers the codes of the calls that wait for permission.
func suggestApprovals(_ context.Context, h *Hub, records *store.Conversation, typed string) (all []Choice, err error) {
	for _, a := range h.Operator().Approvals(records.Name()) {
		all = append(all, Choice{Label: fmt.Sprintf("%s: %s", a.Code, a.Tool), Value: a.Code})
	}
	return choose(typed, all), nil
}

// suggestMemories offers memories whose number, or whose words, begin with what was typed.
func suggestMemories(ctx context.Context, _ *Hub, records *store.Conversation, typed string) (all []Choice, err error) {
	words, digits, most := typed, "", maxChoices
	if _, err := strconv.Atoi(typed); err == nil {
		words, digits, most = "", typed, memoriesShown // look for the number among the newest ones
	}
	found, err := memory.Of(records).Completed(ctx, words, most)
	for _, m := range found {
		if number := strconv.FormatInt(m.ID, 10); strings.HasPrefix(number, digits) {
			all = append(all, Choice{Label: m.String(), Value: number})
		}
	}
	return all[:min(len(all), maxChoices)], err
}

// suggestSettings offers the keys that contain what was typed.
func suggestSettings(_ context.Context, _ *Hub, _ *store.Conversation, typed string) (all []Choice, err error) {
	for _, key := range compactor.Keys() {
		if !slices.Contains(fileOnly, key) {
			all = append(all, Choice{Label: settingsTable + key, Value: settingsTable + key})
		}
	}
	return choose(typed, all), nil
}
