// Package prompts holds every text a model gets, as files beside this one.
package prompts

import (
	_ "embed"
	"strings"
)

// System is the system prompt of the bot in a conversation. The agent's
// instructions stand above it.
//
//go:embed system.md
var System string

// Worker is the system prompt of the worker, which summarizes the oldest messages.
//
//go:embed worker.md
var Worker string

// WorkerBrief is the same in fewer words, for small context windows.
//
//go:embed worker_brief.md
var WorkerBrief string

// Fold is what the worker gets on top when it summarizes summaries.
//
//go:embed fold.md
var Fold string

// Reminder is what a worker gets that answered with text instead of a call.
//
//go:embed reminder.md
var Reminder string

// Plain is added to the task of a worker whose server takes no tools.
//
//go:embed plain.md
var Plain string

// Recap is the task of a model that summarizes for a person who asked.
//
//go:embed recap.md
var Recap string

// Task is the system prompt of an agent that works on a task beside a conversation. The agent's
// instructions stand above it.
//
//go:embed task.md
var Task string

// TaskNext has an agent go on with its task. Verbs: how often its model was asked, and how often
// it may be.
//
//go:embed task_next.md
var TaskNext string

// Handover is the system prompt of an agent that is asked one question in another
// one's conversation. The agent's instructions stand above it.
//
//go:embed handover.md
var Handover string

//go:embed help.md
var help string

// Help is what a model may read about Cairn, by topic.
var Help = func() map[string]string {
	topics := map[string]string{}
	for _, section := range strings.Split(help, "# ")[1:] {
		topic, text, _ := strings.Cut(section, "\n")
		topics[topic] = strings.TrimSpace(text)
	}
	return topics
}()
