// API routes of terminals: what terminal.Bot does, over HTTP.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/connector/terminal"
	"cairn/store"
)

// terminals handles the requests of terminals of other processes.
type terminals struct {
	hub       *channel.Hub
	bot       terminal.Bot
	store     *store.Store
	events    *Events
	connector *Terminals
}

func newTerminalEndpoints(o Options) *terminals {
	connector := o.Terminals
	if connector == nil {
		connector = NewTerminals(o.Events, nil, nil)
	}
	return &terminals{hub: o.Hub, bot: terminal.Here(o.Hub, o.Log), store: o.Store, events: o.Events, connector: connector}
}

func (t *terminals) routes() []route {
	const one = conversationPath
	now := read(one+"/terminal", "What a terminal shows when it opens a conversation terminal:NAME, which may be new", t.now)
	wait := read(one+"/wait", "Waits until a conversation of terminals is idle, or a message there is answered", t.wait,
		param{name: "message", text: "by its id; absent: all messages"},
		param{name: "tasks", text: "true: wait for its tasks, too", words: []string{"true", "false"}})
	replies := read(one+"/replies", "What was sent in a conversation of terminals after a row, oldest first", t.replies,
		param{name: "after", text: "row; absent: all", max: 1<<53 - 1}, limitParam)
	run := route{
		pattern: "POST " + one + "/commands", summary: "Run a command in a conversation of terminals; lines of JSON: its answer, and the one that replaces it later",
		body: reflect.TypeFor[commandNew](), events: t.command,
	}
	all := []route{now, wait, replies, run}
	for i := range all {
		all[i].fresh = true
		all[i].slow = true
		all[i].owned = all[i].events == nil // the hub passes on commands
	}
	return all
}

// ofTerminals reports whether a name is that of a conversation of terminals, which need not exist.
func ofTerminals(name string) bool {
	return strings.HasPrefix(name, terminal.Name+":")
}

// conversationOf returns the name in the path of a request.
func (t *terminals) conversationOf(r *http.Request) (string, error) {
	name := r.PathValue("conversation")
	if !ofTerminals(name) {
		return "", problem(http.StatusConflict, "This is for conversations of terminals, such as terminal:general.")
	}
	if _, err := terminal.Conversation(name); err != nil {
		return "", invalid("%v", err)
	}
	return name, nil
}

// only matches one conversation.
func only(conversation string) func(string) bool {
	return func(name string) bool { return name == conversation }
}

type terminalNow struct {
	Model      string   `json:"model"`
	Window     int      `json:"max_tokens"`
	Used       float64  `json:"used_pct,omitempty"`
	Doing      string   `json:"doing,omitempty" jsonschema:"what the bot does there, in English"`
	Language   string   `json:"language"`
	Silent     string   `json:"silent,omitempty" jsonschema:"why the bot does not answer"`
	Approval   string   `json:"approval,omitempty" jsonschema:"code of the call of a tool that waits to be allowed"`
	Unanswered []string `json:"unanswered" jsonschema:"texts of the messages that wait for an answer, oldest first"`
	Row        int64    `json:"row" jsonschema:"GET …/replies after this one has what is sent from now on"`
}

func (t *terminals) now(r *request) (now terminalNow, err error) {
	ctx := r.Context()
	name, err := t.conversationOf(r.Request)
	if err != nil {
		return now, err
	}
	if err := t.bot.Recover(ctx, only(name), ""); err != nil {
		return now, err
	}
	now.Model, now.Window = t.bot.Model(ctx, name)
	now.Language = t.bot.Language(name)
	now.Silent = t.bot.WhySilent(ctx, name)
	now.Approval = t.bot.Approval(ctx, name)
	waiting, err := t.bot.Unanswered(ctx, name)
	now.Unanswered = listOf(waiting)
	if err != nil {
		return now, err
	}
	records, err := t.store.Conversation(ctx, name)
	if err != nil {
		return now, err
	}
	now.Row, err = records.Outbox().Newest(ctx)
	status, failed := t.bot.Status(ctx, name)
	now.Doing = status.Doing
	if failed == nil {
		now.Model = status.Model
		now.Used = status.UsedPct
	}
	return now, err
}

type waited struct {
	Event    int64  `json:"event" jsonschema:"number of the event before which everything sent was published; 0: another process of the bot answers there, and GET …/replies has it"`
	Tasks    int    `json:"tasks,omitempty" jsonschema:"that are open"`
	Silent   string `json:"silent,omitempty" jsonschema:"why the bot does not answer"`
	Language string `json:"language"`
}

func (t *terminals) wait(r *request) (w waited, err error) {
	ctx := r.Context()
	name, err := t.conversationOf(r.Request)
	if err != nil {
		return w, err
	}
	if err := t.bot.Recover(ctx, only(name), ""); err != nil {
		return w, err
	}
	switch {
	case r.Get("tasks") == "true":
		err = t.bot.Idle(ctx, name)
		if err == nil {
			err = t.hub.Operator().DrainTasks(ctx, only(name), func(int) {})
		}
	case r.Get("message") != "":
		err = t.bot.Answered(ctx, name, r.Get("message"))
	default:
		err = t.bot.Idle(ctx, name)
	}
	if err != nil {
		return w, err
	}
	open, err := t.store.OpenTasks(ctx)
	for _, task := range open {
		if root, _ := store.RootOf(task.Conversation); root == name {
			w.Tasks++
		}
	}
	w.Silent = t.bot.WhySilent(ctx, name)
	w.Language = t.bot.Language(name)
	if ctx.Value(relayed{}) == nil { // events of this process are not those that its reader follows
		w.Event = t.events.mark(name)
	}
	return w, err
}

type sentList struct {
	Replies []replyEvent `json:"replies"`
}

func (t *terminals) replies(r *request) (list sentList, err error) {
	name, err := t.conversationOf(r.Request)
	if err != nil {
		return list, err
	}
	records, err := t.store.Conversation(r.Context(), name)
	if err != nil {
		return list, err
	}
	limit, _ := r.page()
	pieces, err := records.Outbox().SentAfter(r.Context(), int64(r.number("after", 0)), limit)
	list.Replies = []replyEvent{}
	for _, p := range pieces {
		p.Text = t.connector.failureAt(p.Row)
		if !p.Failure {
			p.Text, err = answerText(r.Context(), records, p.Reply)
			if err != nil {
				return list, err
			}
		}
		sent := sentEvent(p)
		sent.Conversation = name
		sent.To = p.To
		list.Replies = append(list.Replies, sent)
	}
	if err == nil && len(pieces) == 0 { // an earlier process may have left something to answer; who reads has all before
		err = t.bot.Recover(r.Context(), only(name), "")
	}
	return list, err
}

// answerText returns the text of a reply that was sent, from the messages of its turn; "" if it was deleted.
func answerText(ctx context.Context, records *store.Conversation, reply string) (string, error) {
	last, err := records.Transcript().Sent(ctx, reply)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	messages, err := records.Transcript().Page(ctx, last.Turn, int(last.Seq-last.Turn)+1)
	var texts []string
	for _, m := range messages {
		if m.Role == last.Role && m.Turn == last.Turn && m.Seq <= last.Seq && m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	return strings.Join(texts, "\n\n"), err
}

// terminalFields are those of a message that only conversations of terminals have.
type terminalFields struct {
	Author  string `json:"author,omitempty" jsonschema:"in a conversation of terminals: who says it; default: owner"`
	Time    string `json:"time,omitempty" jsonschema:"in a conversation of terminals: 2026-01-31T15:04:05Z; default: now"`
	Mention *bool  `json:"mention,omitempty" jsonschema:"in a conversation of terminals: whether it addresses the bot; default: true"`
	DM      bool   `json:"dm,omitempty" jsonschema:"in a conversation of terminals: it is a direct message"`
}

// maxLine limits a message of a terminal, in bytes, as a line of cairn chat is limited.
const maxLine = 4 << 20

func (t *terminals) post(r *request, name string, b messageNew) (taken messageTaken, err error) {
	_, err = t.conversationOf(r.Request)
	switch {
	case err != nil:
		return taken, err
	case b.ID == "":
		return taken, bad("A message needs an id, unique in its conversation.")
	case len(b.Files) > 0 || b.Replaces != "":
		return taken, bad("files and replaces are for conversations of the browser.")
	case len(b.Text) > maxLine:
		return taken, bad("A message has at most 4 MB.")
	}
	author := b.Author
	if author == "" {
		author = owner.Name
	}
	in, line, err := terminal.Message{
		Conversation: name, User: author, Text: b.Text, ID: b.ID, Time: b.Time, Mention: b.Mention, DM: b.DM, Compaction: b.Compaction,
	}.Parse()
	if err != nil {
		return taken, invalid("%v", err)
	}
	taken.ID = b.ID
	if line != "" {
		answer, err := t.bot.Command(r.Context(), name, personOf(author), line)
		if answer.Awaited && answer.Then != nil {
			answer = answer.Then(r.Context())
		}
		taken.Answer = answer.String()
		return taken, err
	}
	r.status = http.StatusAccepted
	taken.Elsewhere = r.Context().Value(relayed{}) != nil
	t.connector.arrives(name, in.ID)
	err = t.bot.Deliver(r.Context(), name, in)
	taken.Silent = t.bot.WhySilent(r.Context(), name)
	if err != nil && !errors.Is(err, channel.ErrClosed) && r.Context().Err() == nil { // it is a sentence, and logged
		return taken, problem(http.StatusInternalServerError, "%s", err.Error())
	}
	return taken, err
}

func personOf(name string) access.Person {
	return access.Person{ID: name, Name: name, Manager: true}
}

type commandNew struct {
	Text   string `json:"text" jsonschema:"a command, as /context"`
	Author string `json:"author" jsonschema:"who runs it"`
}

// commandLine is one line of what a command says.
type commandLine struct {
	command.Answer
	More bool // another line follows, which replaces this one
}

// command writes the answer of a command, and then the one that replaces it, if the first says that it is awaited.
func (t *terminals) command(w http.ResponseWriter, req *http.Request) error {
	r := &request{Request: req}
	var b commandNew
	name, err := t.conversationOf(req)
	if err == nil {
		err = r.decode(&b)
	}
	if err != nil {
		return err
	}
	if _, _, is := command.Parse(b.Text); !is {
		return invalid("text must be a command, such as /context.")
	}
	answer, err := t.bot.Command(req.Context(), name, personOf(b.Author), b.Text)
	if err != nil {
		return problem(http.StatusInternalServerError, "%s", err.Error()) // a sentence, and logged
	}
	w.Header().Set("Content-Type", "application/jsonl")
	lines := json.NewEncoder(w)
	more := answer.Awaited && answer.Then != nil
	err = lines.Encode(commandLine{answer, more})
	if err == nil && more && http.NewResponseController(w).Flush() == nil {
		err = lines.Encode(commandLine{answer.Then(req.Context()), false})
	}
	_ = err // the client is gone
	return nil
}
