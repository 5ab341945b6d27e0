// Learns from refusals of a form of a request that another form avoids, so that later requests are
// right the first time: models and servers differ, and many support only a part of an interface.

package provider

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cairn/llm"
)

// Demands are what a server has turned out to demand. They last until the process ends.
type Demands struct {
	Base    string          // the address that answers instead of Options.BaseURL; "": that one does
	Refused map[string]bool // fields that it refuses, and forms of them, by name
	Efforts []string        // the reasoning efforts that it accepts; nil: not known
	Longest int             // tokens of the longest answer that it allows; 0: not known
	Thinks  bool            // it reasons by default
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

// Attempt is a request that is changed as long as the server refuses its form.
type Attempt interface {
	// Send sends the request. With an error the response contains what the server counted, if
	// anything.
	Send(ctx context.Context, show func(delta string)) (llm.Response, error)
	// Adapt changes the next request according to the refusal of this one. It returns false if there
	// is nothing to change.
	Adapt(ctx context.Context, refused *llm.Error) bool
}

// maxChanges limits how often one attempt is repeated in another form.
const maxChanges = 8

// Generate answers req, see llm.Model and retry, and learns from the outcome.
func (c *Client) Generate(ctx context.Context, req llm.Request, show func(delta string)) (llm.Response, error) {
	shown := false // what was shown cannot be taken back
	if showTo := show; show != nil {
		show = func(delta string) {
			shown = true
			showTo(delta)
		}
	}
	resp, err := c.retry(ctx, req, &shown, func(ctx context.Context, req llm.Request) (llm.Response, error) {
		model, err := c.modelID(ctx)
		if err != nil {
			return llm.Response{}, err
		}
		a := c.Protocol.Begin(model, req)
		for changes := 0; ; changes++ {
			resp, err := a.Send(ctx, show)
			refused, ok := errors.AsType[*llm.Error](err)
			if !ok || shown || changes == maxChanges || !a.Adapt(ctx, refused) || req.Charge() != nil {
				return resp, err
			}
		}
	})
	if err == nil {
		c.answered()
		return resp, nil
	}
	if refused, ok := errors.AsType[*llm.Error](err); ok && refused.Kind == llm.KindOverflow {
		c.Learnt().Limit(refused.Limit)
	}
	return llm.Response{}, err
}

// Sent is the part of a request that a server may refuse although it would accept the rest.
type Sent struct {
	Model   string
	Forced  bool     // a tool is forced
	Effort  string   // of reasoning; "": none
	Efforts []string // the efforts that the wire knows, in ascending order
	Tokens  int      // of the answer at most; 0: not limited
	Fields  []Field  // optional fields; of several that a refusal names, the first is omitted
}

// Field is an optional field of a request.
type Field struct {
	Name  string
	About *regexp.Regexp // matches refusals of it
}

// Adapt learns from the refusal of a request in which s was sent, and returns true if the same
// request may succeed in another form.
func (c *Client) Adapt(refused *llm.Error, s Sent) bool {
	switch {
	case refused.Kind != llm.KindBadRequest:
		return false
	case s.Forced && llm.RefusesForced(refused):
		c.Learnt().NoForced()
		c.Options.Log.Info("forced_tool_refused", "model", s.Model, "error", refused)
		return true
	}
	if longest := statedLongest(refused.Message, s.Tokens); longest > 0 {
		c.Demand(func(d *Demands) { d.Longest = longest })
		return true
	}
	for _, field := range s.Fields {
		if field.About.MatchString(refused.Message) {
			c.Demand(func(d *Demands) { d.Refused[field.Name] = true })
			c.Options.Log.Info("field_refused", "model", s.Model, "field", field.Name, "error", refused)
			return true
		}
	}
	if s.Effort != "" && aboutEffort.MatchString(refused.Message) {
		c.Demand(func(d *Demands) { d.refuseEffort(s, refused.Message) })
		c.Options.Log.Info("reasoning_refused", "model", s.Model, "reasoning", s.Effort, "sent", Nearest(s.Effort, c.Demands().Efforts))
		return true
	}
	return false
}

// LacksRoom learns from an answer to a request without room for reasoning whether the model reasons
// by default: reasoned reports whether the answer has reasoning, but some servers hide it. It returns
// true if the reasoning has left no room for the answer, and another request may be made; hasRoom
// reports whether that one has any.
func (c *Client) LacksRoom(req llm.Request, resp llm.Response, reasoned bool, hasRoom func() bool) bool {
	empty := resp.FinishReason == llm.FinishLength && len(resp.Message.Calls) == 0 && strings.TrimSpace(resp.Message.Text) == ""
	if !reasoned && !empty {
		return false
	}
	c.Demand(func(d *Demands) { d.Thinks = true })
	if !empty || !hasRoom() || req.Charge() != nil {
		return false
	}
	req.ReportFailed(resp.Usage)
	return true
}

// aboutEffort matches refusals of a reasoning effort, or of the field.
var aboutEffort = regexp.MustCompile(`(?i)\breasoning\b.{0,80}\b(?:value|level|support)|effort|output_config|supported values are: .*'(?:low|medium|high)'|does not support thinking`)

// Nearest returns the accepted effort nearest to wanted, the lower one of two; "" if wanted is "" or
// none is accepted. nil accepts all.
func Nearest(wanted string, accepted []string) string {
	if wanted == "" || accepted == nil {
		return wanted
	}
	at := slices.Index(llm.ReasoningEfforts, wanted)
	nearest, distance := "", len(llm.ReasoningEfforts)
	for i, effort := range llm.ReasoningEfforts {
		if d := max(i-at, at-i); d < distance && slices.Contains(accepted, effort) {
			nearest, distance = effort, d
		}
	}
	return nearest
}

// refuseEffort learns from the refusal of an effort: the server accepts those that the text lists;
// all others if it names only the refused one; none if it names none, because it refuses the field.
func (d *Demands) refuseEffort(s Sent, message string) {
	text := strings.ToLower(message)
	if at := strings.Index(text, "supported values"); at >= 0 {
		text = text[at:]
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	named := func(effort string) bool { return slices.Contains(words, effort) }
	accepted := d.Efforts
	if accepted == nil {
		accepted = s.Efforts
	}
	others := slices.DeleteFunc(slices.Clone(accepted), func(effort string) bool { return effort == s.Effort })
	d.Efforts = slices.DeleteFunc(slices.Clone(others), func(effort string) bool { return !named(effort) })
	if len(d.Efforts) == 0 && named(s.Effort) {
		d.Efforts = others
	}
}

// aboutLongest matches refusals of the limit of an answer, and count the numbers in them.
var (
	aboutLongest = regexp.MustCompile(`max_(?:completion_|output_)?tokens`)
	count        = regexp.MustCompile(`\b\d{3,7}\b`)
)

// statedLongest returns the largest number below sent in a refusal of the limit of an answer, which
// is the limit that the model allows; 0 if there is none.
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
