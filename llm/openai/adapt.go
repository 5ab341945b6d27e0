// Learns from refusals of a form of a request that another form avoids, so that later requests are
// right at once.

package openai

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/llm"
)

// adaptation is what one call of Generate has changed so far.
type adaptation struct {
	wires  int    // switches of the wire
	noRoom bool   // the window has no room for reasoning beyond the answer
	base   string // the address with "/v1" that is being tried
}

// optional are the fields that are omitted once a server refuses them by name.
var optional = []string{
	"stream_options", "temperature", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_breakpoint",
	"cache_control", encryptedContent,
}

// encryptedContent is how OpenAI refuses the field include for models that do not reason. Its
// message about content that it cannot read is different.
const encryptedContent = "encrypted content is not supported"

// adapt changes the next attempt according to the server's refusal of this one. It returns false if
// there is nothing to change.
func (o *Model) adapt(a *adaptation, p plan, req llm.Request, err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status < http.StatusBadRequest {
		return false
	}
	if routeMissing(e) {
		return o.tryV1(a, p) || o.switchWire(a, p, llm.WireResponses, llm.WireChat)
	}
	if a.base != "" {
		o.confirm(a) // there is an interface at the address, whatever else it refuses
	}
	if e.Kind == llm.KindOverflow && p.room(req) > 0 {
		a.noRoom = true // without room the request may fit
		return true
	}
	if e.Kind != llm.KindBadRequest {
		return false
	}
	switch {
	case wantsResponses.MatchString(e.Message) && o.switchWire(a, p, llm.WireChat, llm.WireResponses):
		return true
	case llm.WantsReasoning(e):
		o.Learnt().NeedReasoning()
		return false // the caller has the reasoning
	case req.ForceTool != "" && p.forced && llm.RefusesForced(e):
		o.Learnt().NoForced()
		o.Options.Log.Info("forced_tool_refused", "model", p.model, "error", e)
		return true
	case p.effort(req.Reasoning) != "" && aboutEffort.MatchString(e.Message):
		return o.learnEfforts(p, req.Reasoning, e.Message)
	case p.wire == llm.WireChat && req.MaxTokens > 0 && !p.completionTokens() && strings.Contains(e.Message, maxCompletionTokens):
		o.demand(func(d *demands) { d.maxField = true })
		return true
	}
	if longest := statedLongest(e.Message, p.answerTokens(req)); longest > 0 {
		o.demand(func(d *demands) { d.longest = longest })
		return true
	}
	return o.dropField(p, req, e.Message)
}

// routeMissing reports whether a server has nothing at the address of a request. An unknown model
// is a 404 too.
func routeMissing(e *llm.Error) bool {
	return e.Status == http.StatusMethodNotAllowed ||
		e.Status == http.StatusNotFound && !strings.Contains(strings.ToLower(e.Message), "model") && !llm.RefusesTools(e) && !llm.RefusesImages(e)
}

// tryV1 makes the next attempt go to base_url with "/v1" appended, once.
func (o *Model) tryV1(a *adaptation, p plan) bool {
	if strings.HasSuffix(p.base, "/v1") || p.asked {
		if a.base != "" { // it did not help
			o.demand(func(d *demands) { d.base = o.Options.BaseURL })
			a.base = ""
		}
		return false
	}
	a.base = p.base + "/v1"
	o.demand(func(d *demands) { d.base, d.asked = a.base, true })
	return true
}

// confirm keeps the address that was tried.
func (o *Model) confirm(a *adaptation) {
	if a.base != "" {
		o.Options.Log.Warn("base_url_without_v1", "base_url", o.Options.BaseURL, "works", a.base)
		a.base = ""
	}
}

// wantsResponses matches OpenAI's refusal, on chat completions, of models whose tools need the
// other wire.
var wantsResponses = regexp.MustCompile(`(?i)/v1/responses|\bResponses API\b|tools? with reasoning_effort`)

// switchWire makes the next attempt use another wire, at most once each way.
func (o *Model) switchWire(a *adaptation, p plan, from, to string) bool {
	if o.Options.Wire != "" || p.wire != from || a.wires >= 2 {
		return false
	}
	a.wires++
	o.Learnt().Demand(to)
	o.Options.Log.Info("wire_changed", "model", p.model, "wire", to)
	return true
}

// aboutEffort matches refusals of a value of reasoning effort, or of the field.
var aboutEffort = regexp.MustCompile(`(?i)reasoning[._ ]effort|\breasoning\b.{0,80}\b(?:value|level|support)|supported values are: .*'(?:low|medium|high)'|does not support thinking`)

// learnEfforts learns which values the model accepts from the refusal of one.
func (o *Model) learnEfforts(p plan, wanted, message string) bool {
	sent := p.effort(wanted)
	text := message
	if at := strings.Index(strings.ToLower(message), "supported values"); at >= 0 {
		text = message[at:]
	}
	efforts := []string{}
	for _, effort := range llm.ReasoningEfforts {
		if effort != sent && regexp.MustCompile(`\b`+effort+`\b`).MatchString(text) && (p.efforts == nil || slices.Contains(p.efforts, effort)) {
			efforts = append(efforts, effort)
		}
	}
	o.demand(func(d *demands) { d.efforts = efforts })
	p.efforts = efforts
	o.Options.Log.Info("reasoning_refused", "model", p.model, "reasoning", wanted, "sent", p.effort(wanted))
	return true
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

// dropField omits a field that the server refuses by name.
func (o *Model) dropField(p plan, req llm.Request, message string) bool {
	message = strings.ToLower(message)
	for _, name := range optional {
		if strings.Contains(message, name) && !p.refused[name] && p.sends(name, req) {
			o.demand(func(d *demands) {
				if d.refused == nil {
					d.refused = map[string]bool{}
				}
				d.refused[name] = true
			})
			o.Options.Log.Debug("field_refused", "model", p.model, "field", name)
			return true
		}
	}
	return false
}

// sends reports whether a request has one of the optional fields.
func (p plan) sends(name string, req llm.Request) bool {
	switch name {
	case "stream_options":
		return p.wire == llm.WireChat
	case encryptedContent:
		return p.wire == llm.WireResponses
	case "temperature":
		return req.Temperature != nil
	case "prompt_cache_key":
		return p.cacheKey(req) != ""
	case "prompt_cache_retention":
		return p.retention
	case "prompt_cache_breakpoint":
		return p.breakpoints
	case "cache_control":
		return p.claude
	}
	return false
}

func (o *Model) demand(change func(*demands)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.demands)
}
