package command

import (
	"context"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/memory"
	"cairn/store"
)

// Conversation is what commands read and change of a conversation, besides what is in its records. Its methods are safe for
// concurrent use, and do not wait for a turn.
type Conversation interface {
	Window
	Turns
	Tasks

	// Opened waits until the conversation is open, and returns what may have changed until then.
	Opened(ctx context.Context) (*access.Rules, sentences.Speaker, error)
	// Setup returns how the conversation is set up, once it is open.
	Setup(ctx context.Context) (Setup, error)
	// SettingsChanged has the conversation and its threads read what people set for it.
	SettingsChanged()
	// ToolsChanged has the conversation and its threads read which tools they have, before their next turns.
	ToolsChanged()
	// Remembered reports a new memory to those who follow the conversation.
	Remembered(id int64, kind, content string)
	// Everywhere searches the conversations that a person may read, of a direct message with them. Its error, if it is a
	// sentences.Problem, says why it cannot. checked is false if conversations were left out because the platform did not answer.
	Everywhere(ctx context.Context, who access.Person, q memory.Question) (found []Elsewhere, checked bool, err error)
	// Link returns the address of a person's message on the platform; "": it has none.
	Link(m chat.Message) string
	// ForgetMessage deletes a message of a person, by the platform's id, with what is known from it alone.
	ForgetMessage(ctx context.Context, id string) error
	// Forget erases a person from conversations, and what their loops hold in memory. The messages are deleted in the background;
	// done receives the result of that.
	Forget(ctx context.Context, who store.Person, in []*store.Conversation) (done <-chan error, err error)
}

// Window is the context window of a conversation. All but Context and StartSession need an open conversation, so their
// commands are declared with opens.
type Window interface {
	// Status returns how full the window is, and the summaries in it.
	Status() compactor.Status
	// Context returns the report of /context, with model usage and with sentences of a speaker.
	Context(ctx context.Context, speaker sentences.Speaker) (report.Context, error)
	// Compact requests a compaction, and returns how it starts, and a function that waits for its outcome.
	Compact(ctx context.Context, request compactor.Requested) (started compactor.Event, outcome func(context.Context) (compactor.Event, error), err error)
	// Undo reverts the last compaction. Unless only is 0, it does so only if that has applied the summary with this number.
	Undo(only int64) (compactor.Event, error)
	// Rewrite replaces a line of a summary, which people count from 1; an empty text removes it.
	Rewrite(summary int64, line int, text string, by compactor.Writer) (compactor.Event, error)
	// Recap prepares a summary for a person, which counts as one of their turns; allowed is false if they have none left in this
	// minute. It begins with a message; 0: with all. write may run later, when the conversation is not open any more.
	Recap(ctx context.Context, who access.Person, focus string, from int64) (write func(ctx context.Context) (compactor.Recap, error), allowed bool, err error)
	// StartSession requests a new session. wanted is false if this one has no messages yet; later means that it starts once earlier
	// messages are answered.
	StartSession(ctx context.Context) (wanted, later bool, err error)
}

// Turns are the answers of the bot that people see in a conversation.
type Turns interface {
	// Say delivers a message of a person, under an id of the bot's own, and reports whether it is new. steers: it is for the answer that is
	// being written, if there is one.
	Say(ctx context.Context, who access.Person, id, text string, steers bool) (fresh bool, err error)
	// Stop stops the running one; it reports whether there was one.
	Stop(ctx context.Context) (stopped bool)
	// Approve allows or denies the call of a tool that needs permission, by the name of who does; an empty code means any that waits. text
	// describes the outcome for people; ok is false if there is no such call, or it was decided.
	Approve(ctx context.Context, code string, who access.Person, by string, allow bool) (text string, ok bool, err error)
	// Pause ends answers until Resume: in the conversation, or everywhere.
	Pause(ctx context.Context, everywhere bool, by access.Person) error
	// Resume ends a pause.
	Resume(ctx context.Context, everywhere bool) error
	// WhySilent tells people why the bot does not answer in the conversation; "" if it does.
	WhySilent(ctx context.Context) string
}

// Tasks are the tasks of other agents that a conversation started.
type Tasks interface {
	// StartTask starts a task of an agent. Its error, if it is a sentences.Problem, says why that agent cannot have it.
	StartTask(ctx context.Context, agent, text string, by access.Person) (store.Task, error)
	// StopTask stops an open task.
	StopTask(ctx context.Context, task store.Task, by access.Person) error
}

// Setup is how a conversation is set up.
type Setup struct {
	Policy       compactor.Policy        // in the settings file
	Origin       func(key string) string // where the settings file sets a key of Policy; see report.ReadSettings
	Agents       []string                // ids of the agents that accept tasks; empty: none
	PostsNothing bool                    // so a task could not have a result here
	ToolServers  []ToolServer            // in the order of the settings file
}

// ToolServer is a program with tools.
type ToolServer struct {
	ID       string
	Tools    []string // by the names that models know
	Problem  string   // why it cannot be reached; "": it can
	FromFile bool     // the settings file gives it to the agent
}
