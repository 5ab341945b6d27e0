// Package prompts contains all prompts as files: one folder per language, each with the same files.
package prompts

import (
	"embed"
	"slices"
	"strings"
	"sync"
)

// English is the language of the prompts where no other is set.
const English = "en"

// Languages are the codes of the languages that there are prompts in.
var Languages = []string{English, "de", "es", "fr", "pt", "ja", "zh"}

//go:embed en de es fr pt ja zh
var files embed.FS

// Texts are all texts of one language. Names of tools and their arguments, the headings of a
// summary and the names of blocks are the same in all of them.
type Texts struct {
	System      string // system prompt of the bot in a conversation; the agent's instructions stand above it
	Worker      string // system prompt of the worker, which summarizes the oldest messages
	WorkerBrief string // the same in fewer words, for small context windows
	Fold        string // what the worker gets on top when it summarizes summaries
	Ask         string // what it is asked; verbs: first and last message, tokens of the summary, most tokens
	AskShort    string // added for a summary that is too short for headings
	AskFocus    string // added where something is to be kept; verb: what
	AskAgain    string // added to a second attempt; verb: why the first one was refused
	AskSave     string // added, last, where the worker may save memories
	Reminder    string // what a worker gets when its summary is due
	Plain       string // added to the task of a worker whose server takes no tools
	Recap       string // task of a model that summarizes for a person who asked
	Task        string // system prompt of an agent that works on a task beside a conversation, likewise
	TaskNext    string // has it go on with its task; verbs: how often its model was asked, and may be
	Handover    string // system prompt of an agent that is asked one question in another one's conversation

	Help map[string]string // what a model may read about Cairn, by topic
}

// known are the texts that were read, by language.
var known sync.Map

// In returns the texts in a language of Languages; in English for any other code.
func In(language string) Texts {
	if !slices.Contains(Languages, language) {
		language = English
	}
	if texts, ok := known.Load(language); ok {
		return texts.(Texts)
	}
	texts := read(language)
	known.Store(language, texts)
	return texts
}

// read reads the files of a language. All of them are in the program.
func read(language string) Texts {
	file := func(name string) string {
		text, err := files.ReadFile(language + "/" + name + ".md")
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	ask := strings.Split(file("ask"), "\n")
	return Texts{
		System: file("system"), Worker: file("worker"), WorkerBrief: file("worker_brief"), Fold: file("fold"),
		Ask: ask[0], AskShort: ask[1], AskFocus: ask[2], AskAgain: ask[3], AskSave: ask[4],
		Reminder: file("reminder"), Plain: file("plain"), Recap: file("recap"),
		Task: file("task"), TaskNext: file("task_next"), Handover: file("handover"), Help: topics(file("help")),
	}
}

// topics splits the help at its headings.
func topics(help string) map[string]string {
	topics := map[string]string{}
	for _, section := range strings.Split(help, "# ")[1:] {
		topic, text, _ := strings.Cut(section, "\n")
		topics[topic] = strings.TrimSpace(text)
	}
	return topics
}
