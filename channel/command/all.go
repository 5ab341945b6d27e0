// The list of all commands.

package command

import "cairn/memory"

// All lists all commands, in the order /help shows them.
var All []Command

func init() { All = all } // an initializer would refer to itself through /help

var all = []Command{
	{
		Name: "compact", Help: "summarize the older messages now", Restricted: true, opens: true, run: runCompact,
		Args: []Arg{{Name: "focus", Help: "what to keep in detail"}},
	},
	{
		Name: "undo", Help: "undo the latest summary; memories stay", Restricted: true, opens: true, run: runUndo,
		Args: []Arg{{Name: "number", Help: "only if this is the latest summary", Number: true}},
	},
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
		Args: []Arg{
			{Name: "query", Help: "words to look for, kind:decision, page:2; or pin, unpin or restore and a number"},
			{Name: "about", Help: "only those about this person: a name, or me", Named: true, Suggests: true, is: isPerson},
			{Name: "state", Help: "known: also what was true before; current: what has ended, too", Named: true, Choices: []string{"current", "known"}},
		},
		suggest: suggestPeople,
	},
	{
		Name: "recall", Help: "search the messages and memories of this conversation", run: runRecall,
		Args: []Arg{
			{Name: "question", Help: `a question, or words to look for; in a direct message also "everywhere: …"`},
			{Name: "by", Help: "only messages of this person: a name, me, or assistant", Named: true, Suggests: true, is: isPerson},
			{Name: "since", Help: `only from then on: 2026-05-08, yesterday, "last week", 7d`, Named: true, is: isTime},
			{Name: "until", Help: "only up to then, that day included", Named: true, is: isTime},
			{Name: "order", Help: "best, newest or oldest", Named: true, Choices: memory.Orders},
		},
		suggest: suggestPeople,
	},
	{
		Name: "sources", Help: "show what I have looked up for an answer, with links", run: runSources,
		Args: []Arg{{Name: "number", Help: "the number of the question (default: my latest answer)", Number: true}},
	},
	{
		Name: "remember", Help: "save a memory", run: runRemember,
		Args: []Arg{{Name: "text", Help: `what to remember; where channels share memories, "server: …" is for all of them`, Required: true}},
	},
	{
		Name: "forget", Help: "forget a memory of yours (managers: any); /forget me deletes all you wrote", anyone: aboutMe, run: runForget,
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
		Name: "steer", Help: "tell me something for the answer that I am writing", Public: true, Urgent: true, run: runSteer,
		Args: []Arg{{Name: "text", Help: "what I should know; if the answer is complete already, I answer it afterwards", Required: true}},
	},
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
		Name: "model", Help: "show which model answers here, or choose another", Restricted: true, run: runModel,
		Args:    []Arg{{Name: "name", Help: `a model's name, as /model lists it; "default" goes back`, Suggests: true}},
		suggest: suggestModels,
	},
	{
		Name: "tools", Help: "list external tools; add or remove them here", Guarded: true, opens: true, run: runTools,
		Args: []Arg{
			{Name: "change", Help: `"add" or "remove"`},
			{Name: "name", Help: "the tool's name, as /tools lists it"},
		},
	},
	{
		Name: "allow", Help: "allow the tool call that I asked about", Public: true, Guarded: true, Urgent: true, Replies: true, run: runAllow,
		Args: []Arg{{Name: "code", Help: "the call's number (default: the oldest)"}},
	},
	{
		Name: "deny", Help: "deny the tool call that I asked about", Public: true, Guarded: true, Urgent: true, Replies: true, run: runDeny,
		Args: []Arg{{Name: "code", Help: "the call's number (default: the oldest)"}},
	},
	{Name: "help", Help: "show the commands", run: runHelp},
}
