package channel

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// Tools of other programs, and which of them a conversation has.

// ToolServer is a program with tools.
type ToolServer struct {
	ID      string
	Tools   []string // tools that may be called, by the names the models know
	Problem string   // why it cannot be reached; "": it can
}

// Toolbox has the tools that conversations may be given. Only Ready may block.
type Toolbox interface {
	Servers() []ToolServer
	// Tools returns the tools of some servers, as far as they are known. Their results are data from strangers.
	Tools(servers []string) []llm.Tool
	// Ready returns once the tools of some servers are known, or it is not worth waiting, or ctx ends.
	Ready(ctx context.Context, servers []string)
}

// tools returns the tools that the model may call in a conversation. With c nil they are only measured; with records
// nil, too, for no particular conversation.
func (a Agent) tools(ctx context.Context, records *store.Conversation, o memory.ToolOptions, c *conversation) (all []llm.Tool, err error) {
	servers, err := a.otherServers(ctx, records)
	if err == nil && len(servers) > 0 {
		for _, tool := range a.Toolbox.Tools(servers) {
			all = append(all, c.approvable(tool))
		}
	}
	all = append(all, spawnTools(a.Spawn, c)...)
	return a.toolset(cmp.Or(records, new(store.Conversation)), o, c.answerContextCall, all), err
}

// weighed returns the tools that the model may call in every conversation, to measure them.
func (a Agent) weighed() []llm.Tool {
	all, _ := a.tools(context.Background(), nil, memory.ToolOptions{}, nil)
	return all
}

// otherServers returns the ids of the servers of other programs: of the settings, and added by /tools.
func (a Agent) otherServers(ctx context.Context, records *store.Conversation) ([]string, error) {
	if a.Toolbox == nil {
		return nil, nil
	}
	if records == nil {
		return a.ToolServers, nil
	}
	rules, err := records.Settings().Tools(ctx)
	return slices.Concat(a.ToolServers, rules.Added), err
}

// awaitTools waits, before a turn, for tools of servers that still connect after a start.
func (c *conversation) awaitTools(ctx context.Context) error {
	servers, err := c.agent.otherServers(c.hub.ctx, c.records)
	if err != nil || len(servers) == 0 || c.window.learned().Facts().RefusesTools {
		return err
	}
	c.agent.Toolbox.Ready(ctx, servers)
	return c.renew(c.hub.ctx)
}

// reread makes the conversation reopen before its next turn. Only the loop calls it.
func (c *conversation) reread() {
	c.rules = nil
	c.runs.again = true
}

// Some tools are called only after a person with the rights has agreed. The question is a notice with the commands
// /allow and /deny, which connectors show as buttons if they can. The turn waits for the answer; /stop ends it.

// When people are asked before a tool is called.
const (
	ApproveNever  = "never"
	ApproveFirst  = "first"  // once per tool and conversation, and again when the tool's definition changes
	ApproveAlways = "always" // before each call

	approvalTime      = 5 * time.Minute // how long a call waits for an answer
	approvalPrefix    = "approve-"      // starts the ids of the notices that ask for approval
	maxShownArguments = 200             // tokens of a call's arguments that people see
)

// Attended is implemented by connectors that have conversations where no one answers questions.
type Attended interface {
	// Attended reports whether someone can answer there.
	Attended(conversation string) bool
}

// Approval is a call that waits for permission.
type Approval struct {
	Code      string    `json:"code"` // argument of /allow and /deny
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"` // JSON, shortened, secrets masked
	Asked     time.Time `json:"asked"`

	decided chan bool // buffered, capacity 1
}

// approvable returns the tool, wrapped so that it asks first if its settings say so.
func (c *conversation) approvable(t llm.Tool) llm.Tool {
	if t.Approve != ApproveFirst && t.Approve != ApproveAlways {
		return t
	}
	run := t.Run
	t.Run = func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
		if err := c.approve(ctx, t, arguments); err != nil {
			c.log.Info("tool_call_refused", "tool", t.Name, "reason", err)
			return llm.Result{}, err
		}
		return run(ctx, arguments)
	}
	return t
}

var errUnattended = errors.New("this call needs approval, and there is no one to ask here. Go on without it")

// approve returns nil once a call is allowed. Its error is for the model.
func (c *conversation) approve(ctx context.Context, t llm.Tool, arguments json.RawMessage) error {
	if t.Approve == ApproveFirst {
		rules, err := c.records.Settings().Tools(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(rules.Approved, definition(t)) {
			return nil
		}
	}
	if !c.attended() {
		return errUnattended
	}
	asked := &Approval{Code: strings.ToLower(rand.Text()[:5]), Tool: t.Name, Arguments: shownArguments(arguments), Asked: time.Now(), decided: make(chan bool, 1)}
	waits := func(a *Approval) {
		c.approval.Store(a)
		if c.hub.o.Asked != nil {
			c.hub.o.Asked(c.name)
		}
	}
	waits(asked)
	defer waits(nil)
	text := c.speaker().Sayf("(May I call %s with %s? /allow %s or /deny %s. I wait %d minutes.)", asked.Tool, literal(asked.Arguments), asked.Code, asked.Code, int(approvalTime.Minutes()))
	if err := c.notify(ctx, approvalPrefix+asked.Code+"."+c.language(), text); err != nil {
		return err
	}
	c.log.Info("tool_approval_asked", "tool", t.Name, "code", asked.Code)
	late := time.After(approvalTime)
	for c.attended() { // people may leave
		select {
		case allowed := <-asked.decided:
			if !allowed {
				return errors.New("a person who decides here did not allow this call. Do not repeat it; go on without it, or say what you need it for")
			}
			if t.Approve == ApproveAlways {
				return nil
			}
			rules, err := c.records.Settings().Tools(ctx)
			if err == nil {
				rules.Approved = append(rules.Approved, definition(t))
				err = c.records.Settings().SetTools(ctx, rules, store.Person{})
			}
			return err
		case <-late:
			return fmt.Errorf("no one allowed this call within %d minutes. Go on without it", int(approvalTime.Minutes()))
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errUnattended
}

func (c *conversation) attended() bool {
	a, knows := c.connector.(Attended)
	return (!knows || a.Attended(c.name)) && c.hub.access.Rules().RespondIn(c.name) != access.RespondNever
}

// definition identifies a tool with its description and parameters: a changed tool counts as another one.
func definition(t llm.Tool) string {
	return fmt.Sprintf("%s@%x", t.Name, sha256.Sum256([]byte(t.Description+"\x00"+string(t.Parameters))))[:len(t.Name)+9]
}

func shownArguments(arguments json.RawMessage) string {
	text := chat.OneLine(cmp.Or(string(arguments), "{}"))
	return Clip(secrets.Mask(text), maxShownArguments) // a secret that is cut is not recognized
}

// literal returns arguments as code: Markdown in them could hide a part, such as the address of a link.
func literal(arguments string) string {
	return "`" + strings.ReplaceAll(chat.OneLine(arguments), "`", "'") + "`"
}

// Button is a command that a connector shows below a message.
type Button struct {
	Label string `json:"label"`
	Line  string `json:"line"` // "/allow k3f9x"
}

// Buttons returns the buttons below a piece; most pieces have none.
func Buttons(p Piece) []Button {
	id, asks := strings.CutPrefix(p.Reply, approvalPrefix)
	if !asks || p.Part != p.Parts-1 {
		return nil
	}
	code, language, _ := strings.Cut(id, ".")
	speaker := sentences.In(language)
	return []Button{{speaker.Translate("Allow"), "/allow " + code}, {speaker.Translate("Deny"), "/deny " + code}}
}

// Approvals returns the tool calls that wait for permission in a conversation. A turn makes its calls one after the
// other, so there is at most one.
func (o Operator) Approvals(name string) (waiting []Approval) {
	if _, asked := o.approvalIn(name); asked != nil {
		waiting = append(waiting, *asked)
	}
	return waiting
}

// approvalIn returns the tool call that waits for permission in a conversation; nil if none does.
func (o Operator) approvalIn(name string) (c *conversation, waiting *Approval) {
	c, _ = o.hub.find(name, nil)
	if c == nil {
		return nil, nil
	}
	defer o.hub.release(c)
	return c, c.approval.Load()
}

// turnIn returns the running turn of a conversation; nil if there is none.
func (o Operator) turnIn(name string) *turn {
	c, _ := o.hub.find(name, nil)
	if c == nil {
		return nil
	}
	defer o.hub.release(c)
	return c.turn.Load()
}

// Approve allows or denies a waiting call; an empty code means the one that waits. words describe the outcome for
// people; ok is false if the call is not waiting.
func (o Operator) Approve(name, code, by string, allow bool) (words string, ok bool) {
	c, asked := o.approvalIn(name)
	if asked == nil || code != "" && !strings.EqualFold(code, asked.Code) || !c.approval.CompareAndSwap(asked, nil) {
		return "", false
	}
	asked.decided <- allow
	o.hub.o.Log.Info("tool_approval_answered", "conversation", name, "tool", asked.Tool, "code", asked.Code, "allowed", allow, "by", by)
	outcome := "%s denied the call of %s with %s."
	if allow {
		outcome = "%s allowed the call of %s with %s."
	}
	return fmt.Sprintf(outcome, by, asked.Tool, literal(asked.Arguments)), true
}
