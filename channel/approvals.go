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
	"sync/atomic"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/store"
)

// Some tools are called only after a person with the rights has agreed. The question is a notice with the commands
// /allow and /deny, which connectors show as buttons if they can. The turn waits for the answer, for a time; /stop ends it.

// When people are asked before a tool is called.
const (
	ApproveNever  = "never"
	ApproveFirst  = "first"  // once per tool and conversation, and again when the tool's definition changes
	ApproveAlways = "always" // before each call

	approvalTime      = 5 * time.Minute // how long a call waits for an answer
	maxShownArguments = 200             // tokens of a call's arguments that people see
)

// Attended is implemented by connectors that have conversations where no one answers questions.
type Attended interface {
	// Attended reports whether someone can answer there.
	Attended(conversation string) bool
}

// Approval is a call that waits for permission.
type Approval struct {
	Conversation string    `json:"conversation"`
	Code         string    `json:"code"` // argument of /allow and /deny
	Tool         string    `json:"tool"`
	Arguments    string    `json:"arguments"` // JSON, shortened, secrets masked
	Asked        time.Time `json:"asked"`

	decided chan bool // buffered, capacity 1
}

// approvals asks people of a conversation before tools are called. It is safe for concurrent use.
type approvals struct {
	*sender
	waiting atomic.Pointer[Approval] // nil: no call waits
}

// wrap returns the tool, wrapped so that it asks first if its settings say so.
func (a *approvals) wrap(t llm.Tool) llm.Tool {
	if t.Approve != ApproveFirst && t.Approve != ApproveAlways {
		return t
	}
	run := t.Run
	t.Run = func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
		if err := a.approve(ctx, t, arguments); err != nil {
			a.log.Info("tool_call_refused", "tool", t.Name, "reason", err)
			return llm.Result{}, err
		}
		return run(ctx, arguments)
	}
	return t
}

var errUnattended = errors.New("this call needs approval, and there is no one to ask here. Go on without it")

// approve returns nil once a call is allowed. Its error is for the model.
func (a *approvals) approve(ctx context.Context, t llm.Tool, arguments json.RawMessage) error {
	if t.Approve == ApproveFirst {
		rules, err := a.records.Settings().Tools(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(rules.Approved, definition(t)) {
			return nil
		}
	}
	if !a.attended() {
		return errUnattended
	}
	code, allowed, err := a.ask(ctx, t, callOf(t, arguments), strings.ToLower(rand.Text()[:5]))
	if err != nil {
		return err
	}
	if allowed {
		return a.allowed(ctx, t)
	}
	asked := &Approval{Conversation: a.name, Code: code, Tool: t.Name, Arguments: shownArguments(arguments), Asked: time.Now(), decided: make(chan bool, 1)}
	a.wait(asked)
	defer a.wait(nil)
	err = a.await(ctx, t, asked)
	if ctx.Err() == nil && !errors.Is(err, errLate) || errors.Is(context.Cause(ctx), errStopped) || errors.Is(context.Cause(ctx), errDeleted) {
		err = errors.Join(err, a.settle(ctx, code)) // otherwise the answer may still come
	}
	return err
}

// await asks, and returns nil once the call is allowed.
func (a *approvals) await(ctx context.Context, t llm.Tool, asked *Approval) error {
	text := a.speaker().Sayf("(May I call %s with %s? /allow %s or /deny %s. I wait %d minutes.)", asked.Tool, literal(asked.Arguments), asked.Code, asked.Code, int(approvalTime.Minutes()))
	if err := a.post(ctx, replyID{kind: replyApproval, of: asked.Code, language: a.language()}.String(), text); err != nil {
		return err
	}
	a.log.Info("tool_approval_asked", "tool", t.Name, "code", asked.Code)
	late := time.After(approvalTime)
	for a.attended() { // people may leave
		select {
		case allowed := <-asked.decided:
			if !allowed {
				return errors.New("a person who decides here did not allow this call. Do not repeat it; go on without it, or say what you need it for")
			}
			return a.allowed(ctx, t)
		case <-late:
			if a.waiting.CompareAndSwap(asked, nil) { // otherwise it was answered just now
				return errLate
			}
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errUnattended
}

// errLate is for the model.
var errLate = fmt.Errorf("no one allowed this call within %d minutes. Go on without it; if somebody allows it later, a message says so, and then repeat it as it is", int(approvalTime.Minutes()))

// allowed notes that a call was allowed, if it is asked about once.
func (a *approvals) allowed(ctx context.Context, t llm.Tool) error {
	if t.Approve == ApproveAlways {
		return nil
	}
	rules, err := a.records.Settings().Tools(ctx)
	if err == nil {
		rules.Approved = append(rules.Approved, definition(t))
		err = a.records.Settings().SetTools(ctx, rules, store.Person{})
	}
	return err
}

// wait publishes the call that waits; nil: none.
func (a *approvals) wait(asked *Approval) {
	a.waiting.Store(asked)
	if hook := a.o.Waiting; hook != nil {
		hook(a.name)
	}
}

// attended reports whether someone may answer here.
func (a *approvals) attended() bool {
	c, knows := a.connector.(Attended)
	return (!knows || c.Attended(a.name)) && a.access.Rules().RespondIn(a.name) != access.RespondNever
}

// answer allows or denies a call that waits; false: it was answered, or no longer waits.
func (a *approvals) answer(asked *Approval, allow bool) bool {
	waited := a.waiting.CompareAndSwap(asked, nil)
	if waited {
		asked.decided <- allow
	}
	return waited
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
type Button = command.Button

// StopButton is the button below an answer while it is written in a conversation; h may be nil.
func StopButton(h *Hub, conversation string) []Button {
	language := ""
	if h != nil {
		language = SpokenIn(h, conversation)
	}
	return []Button{{Label: sentences.In(language).Translate("Stop"), Line: "/stop", Beside: true}}
}

// Approvals returns the tool calls that wait for permission in a conversation; "" means in all of this process. The oldest is first. A turn
// makes its calls one after the other, so each conversation has at most one.
func (o Operator) Approvals(name string) (waiting []Approval) {
	add := func(c *conversation) {
		if asked := c.approvals.waiting.Load(); asked != nil {
			waiting = append(waiting, *asked)
		}
	}
	if name != "" {
		c, _ := o.hub.find(name, nil)
		if c == nil {
			return nil
		}
		defer o.hub.release(c)
		add(c)
		return waiting
	}
	for c := range o.hub.all() {
		add(c)
	}
	slices.SortFunc(waiting, func(a, b Approval) int { return a.Asked.Compare(b.Asked) })
	return waiting
}

// Approve allows or denies a waiting call; an empty code means the one that waits. words describe the outcome for
// people; ok is false if the call is not waiting.
func (o Operator) Approve(name, code, by string, allow bool) (words string, ok bool) {
	c, _ := o.hub.find(name, nil)
	if c == nil {
		return "", false
	}
	defer o.hub.release(c)
	asked := c.approvals.waiting.Load()
	if asked == nil || code != "" && !strings.EqualFold(code, asked.Code) || !c.approvals.answer(asked, allow) {
		return "", false
	}
	o.hub.o.Log.Info("tool_approval_answered", "conversation", name, "tool", asked.Tool, "code", asked.Code, "allowed", allow, "by", by)
	outcome := "%s denied the call of %s with %s."
	if allow {
		outcome = "%s allowed the call of %s with %s."
	}
	return fmt.Sprintf(outcome, by, asked.Tool, literal(asked.Arguments)), true
}
