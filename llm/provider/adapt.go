// Learns from refusals of a form of a request that another form avoids: models and servers differ, and many support only
// a part of an interface.

package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cairn/llm"
	"cairn/llm/clean"
)

// Demands are what a server has turned out to demand. They last until the process ends.
type Demands struct {
	Base    string          // the address that answers instead of Options.BaseURL; "": that one does
	Refused map[string]bool // fields that it refuses, and forms of them, by name
	Efforts []string        // the reasoning efforts that it accepts, as far as known
	Longest int             // tokens of the longest answer that it allows; 0: not known
	Thinks  bool            // it reasons by default

	Unopened bool // the last answer began with a thought whose first mark the server did not send
}

// Demands returns what was learned so far.
func (c *Client) Demands() Demands {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.demands
	d.Refused = maps.Clone(d.Refused)
	return d
}

// Demand records what was learned.
func (c *Client) Demand(change func(*Demands)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.demands)
}

// Plan is a request, and how the server takes it as far as known.
type Plan struct {
	llm.Request
	Demands
	Model  string
	Author string  // of reasoning: host and model
	Effort string  // of reasoning, the nearest that the server accepts; "": none
	Forced bool    // a tool is forced
	Wires  int     // how often this request has changed its wire
	Answer *Answer // to be read
}

// Form is one form of a request, with what a server may refuse in it.
type Form struct {
	Wire       string
	Address    string
	Body       any
	Reader     Reader
	Unstreamed string // the field of an answer in one piece of JSON; "": the wire has only streams, which end with an event

	Forced    bool   // a tool is forced
	Effort    string // of reasoning; "": none
	Tokens    int    // of the answer at most; 0: not limited
	MayReason bool   // it is not known whether the model reasons by default: the answer shows it

	json []byte // Body
}

// Field is an optional field of a request.
type Field struct {
	Name  string
	About *regexp.Regexp // matches refusals of it; nil: its name does
	In    string         // the JSON in which it is; "": its name as a key
}

// maxChanges limits how often one attempt is repeated in another form: a server may allow a shorter answer each time.
const maxChanges = 8

// Generate answers req, see llm.Model and retry, and learns from the outcome.
func (c *Client) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	emitted := false // what was shown cannot be taken back
	showTo := show
	if show != nil {
		show = func(delta string) {
			emitted = true
			showTo(delta)
		}
	}
	resp, err := c.attempt(ctx, req, &emitted, 1+c.Options.MaxRetries, show)
	if !emitted && c.maySuspect(req) {
		resp, err = c.confirmOverflow(ctx, req, resp, err, show)
	}
	if err == nil {
		c.answered(req, resp)
		return resp, nil
	}
	if refused, ok := errors.AsType[*llm.Error](err); ok && refused.Kind == llm.KindOverflow {
		err = c.overflowed(ctx, req, refused)
	}
	return llm.Response{}, err
}

// attempt answers req in at most tries attempts.
func (c *Client) attempt(ctx context.Context, req llm.Request, emitted *bool, tries int, show func(delta string)) (llm.Response, error) {
	return c.retry(ctx, req, emitted, tries, func(ctx context.Context, req llm.Request) (llm.Response, error) {
		model, err := c.modelID(ctx)
		if err != nil {
			return llm.Response{}, err
		}
		p := Plan{Request: req, Model: model, Author: c.Host + " " + model}
		for changes := 0; ; changes++ {
			form := c.compose(&p)
			p.Answer.show = show
			p.Answer.bound(form.Tokens, c.Options.MaxAnswer)
			p.Answer.text = clean.Filter{Name: req.Speaker, Tools: req.Tools, Quoted: quotedIn(req.Messages)}
			p.Answer.thought = clean.Filter{Tools: req.Tools, Quoted: p.Answer.text.Quoted}
			p.Answer.waits = p.Unopened
			resp, err := c.exchange(ctx, &form, p)
			refused, ok := errors.AsType[*llm.Error](err)
			again := ok && !*emitted && c.Protocol.Adapt(ctx, &p, refused, form)
			if again && changes < maxChanges {
				req.ReportFormRefused()
			}
			if err == nil {
				c.Demand(func(d *Demands) { d.Unopened = p.Answer.text.TakenBack || d.Unopened && resp.Message.Text == "" })
				again = form.MayReason && c.lacksRoom(resp, p.Answer.Reasoned) && c.compose(&p).Tokens > form.Tokens
			}
			if !again || changes == maxChanges || req.Charge() != nil {
				c.noteOutcome(req, unexplained(resp, err, p.Answer.content))
				return resp, err
			}
			req.ReportFailed(resp.Usage)
		}
	})
}

// compose returns the form of a request, after what was learned so far.
func (c *Client) compose(p *Plan) Form {
	p.Demands = c.Demands()
	p.Answer = new(Answer)
	p.Effort = nearest(p.Reasoning, p.Efforts)
	p.Forced = p.ForceTool != "" && !c.Learned().Facts().RefusesForced
	return c.Protocol.Compose(*p)
}

// Adapt learns from the refusal of a form, and returns true if the request may succeed in another one.
func (c *Client) Adapt(refused *llm.Error, form Form) bool {
	switch {
	case refused.Kind != llm.KindBadRequest:
		return false
	case form.Forced && llm.RefusesForced(refused):
		c.Learned().Learn(func(f *llm.Facts) { f.RefusesForced = true })
		c.Options.Log.Info("forced_tool_refused", "model", c.Model(), "error", refused)
		return true
	}
	if longest := statedLongest(refused.Message, form.Tokens); longest > 0 {
		c.Demand(func(d *Demands) { d.Longest = longest })
		return true
	}
	for _, field := range c.defaults.Optional {
		sent := cmp.Or(field.In, `"`+field.Name+`":`) // in a text its quotes are escaped
		about := cmp.Or(field.About, regexp.MustCompile("(?i)"+field.Name))
		if about.MatchString(refused.Message) && bytes.Contains(form.json, []byte(sent)) {
			c.Demand(func(d *Demands) { d.Refused[field.Name] = true })
			c.Options.Log.Info("field_refused", "model", c.Model(), "field", field.Name, "error", refused)
			return true
		}
	}
	if form.Effort != "" && aboutEffort.MatchString(refused.Message) {
		c.Demand(func(d *Demands) { d.Efforts = acceptedEfforts(d.Efforts, form.Effort, refused.Message) })
		c.Options.Log.Info("reasoning_refused", "model", c.Model(), "reasoning", form.Effort, "sent", nearest(form.Effort, c.Demands().Efforts))
		return true
	}
	return false
}

// lacksRoom learns from an answer whether the model reasons by default: reasoned reports whether the answer has
// reasoning, but some servers hide it. It returns true if that left no room for the answer.
func (c *Client) lacksRoom(resp llm.Response, reasoned bool) bool {
	empty := resp.FinishReason == llm.FinishLength && len(resp.Message.Calls) == 0 && strings.TrimSpace(resp.Message.Text) == ""
	if reasoned || empty {
		c.Demand(func(d *Demands) { d.Thinks = true })
	}
	return empty
}

// aboutEffort matches refusals of a reasoning effort, or of the field.
var aboutEffort = regexp.MustCompile(`(?i)\breasoning\b.{0,80}\b(?:value|level|support)|effort|output_config|supported values are: .*'(?:low|medium|high)'|does not support thinking`)

// nearest returns the accepted effort nearest to wanted, the lower one of two; "" if wanted is "" or none is accepted.
func nearest(wanted string, accepted []string) (found string) {
	at := slices.Index(llm.ReasoningEfforts, wanted)
	distance := len(llm.ReasoningEfforts)
	for i, effort := range llm.ReasoningEfforts {
		if d := max(i-at, at-i); at >= 0 && d < distance && slices.Contains(accepted, effort) {
			found = effort
			distance = d
		}
	}
	return found
}

// acceptedEfforts returns those of efforts that a server accepts after it refused one: those that its text lists; all
// others if it names only the refused one; none if it names none, because it refuses the field.
func acceptedEfforts(efforts []string, refused, message string) []string {
	text := strings.ToLower(message)
	if at := strings.Index(text, "supported values"); at >= 0 {
		text = text[at:]
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	others := slices.DeleteFunc(slices.Clone(efforts), func(effort string) bool { return effort == refused })
	listed := slices.DeleteFunc(slices.Clone(others), func(effort string) bool { return !slices.Contains(words, effort) })
	if len(listed) == 0 && slices.Contains(words, refused) {
		return others
	}
	return listed
}

// aboutLongest matches refusals of the limit of an answer, and count the numbers in them.
var (
	aboutLongest = regexp.MustCompile(`max_(?:completion_|output_)?tokens`)
	count        = regexp.MustCompile(`\b\d{3,7}\b`)
)

// statedLongest returns the largest number below sent in a refusal of the limit of an answer; 0 if there is none.
func statedLongest(message string, sent int) (longest int) {
	if !aboutLongest.MatchString(message) {
		return 0
	}
	for _, digits := range count.FindAllString(message, -1) {
		if n, _ := strconv.Atoi(digits); n < sent {
			longest = max(longest, n)
		}
	}
	return longest
}
