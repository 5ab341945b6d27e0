// Learns from errors what a server refuses in a request: models differ, and other servers with this
// interface support only a part of it.

package anthropic

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/llm"
)

// limits are what the server refused. They last until the process ends.
type limits struct {
	noTemperature  bool
	noAdaptive     bool            // thinking of type adaptive
	noBudget       bool            // thinking of type enabled
	noDisabled     bool            // thinking of type disabled
	noEffort       bool            // output_config.effort, whatever its value
	refusedEfforts map[string]bool // refused values of it
	noTTL          bool            // cache_control.ttl
	noMarks        bool            // cache_control
	maxTokens      int             // maximum of max_tokens; 0: unknown
	thinks         bool            // the model thinks by default
}

func (l limits) clone() limits {
	l.refusedEfforts = maps.Clone(l.refusedEfforts)
	return l
}

// exceptions are what one attempt omits.
type exceptions struct {
	noThoughts  bool // the thinking of earlier steps is not returned
	noThinking  bool
	fewerTokens int // maximum of max_tokens with this prompt; 0: unknown
}

// Patterns of refusals, in lower case.
var (
	aboutThoughts = regexp.MustCompile("signature|thinking. (?:or .redacted_thinking. )?blocks? .{0,80}cannot be modified")
	wantsThoughts = regexp.MustCompile("expected .thinking. or .redacted_thinking.")
	aboutForced   = regexp.MustCompile(`tool_choice.{0,80}(?:not (?:currently )?(?:support|allow|permit)|unsupported|extra inputs|input should be|forces)|` +
		`(?:not|n't|cannot) (?:currently )?(?:support|allow|force|be (?:enabled|used)).{0,80}(?:tool_choice|forced? tool|forcing|specific tool)`)
	aboutThinking = regexp.MustCompile(`adaptive|budget_tokens|disabled|thinking\.type|\bthinking. (?:is|may|can|must|does|do)|\bthinking: `)
	aboutTokens   = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)
	effortWord    = regexp.MustCompile(`\b(?:low|medium|high|xhigh|max)\b`)
)

// adapt learns from a refusal of c. It reports whether the request may succeed if it is composed
// again.
func (m *Model) adapt(err error, c composed, only *exceptions) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return false
	}
	text := strings.ToLower(e.Message)
	switch e.Kind {
	case llm.KindOverflow:
		if c.room == 0 || e.Limit == 0 || e.Prompt == 0 || e.Limit-e.Prompt < c.MaxTokens-c.room || only.fewerTokens > 0 {
			return false
		}
		only.fewerTokens = e.Limit - e.Prompt
		return true
	case llm.KindBadRequest:
	default:
		return false
	}
	switch {
	case c.thoughts && aboutThoughts.MatchString(text):
		only.noThoughts = true
		return true
	case wantsThoughts.MatchString(text) && !only.noThinking:
		only.noThinking = true
		return true
	case c.ToolChoice != nil && aboutForced.MatchString(text):
		m.Learnt().NoForced()
		m.refused("tool_choice", e)
		return true
	}
	m.mu.Lock()
	field := m.limits.learn(text, c)
	m.mu.Unlock()
	if field != "" {
		m.refused(field, e)
	}
	return field != ""
}

func (m *Model) refused(field string, e *llm.Error) {
	m.Options.Log.Info("field_refused",
		"model", m.Name(), "field", field, "error", e.Message)
}

// learn records what the text of a refusal says about c. It returns the name of the field, "" if
// the text names none that c has.
func (l *limits) learn(text string, c composed) string {
	says := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case c.Temperature != nil && says("temperature"):
		l.noTemperature = true
		return "temperature"
	case statedMaxTokens(text) > 0 && statedMaxTokens(text) < c.MaxTokens:
		l.maxTokens = statedMaxTokens(text)
		return "max_tokens"
	case c.Output != nil && (says("effort") || says("output_config")):
		l.learnEffort(text, c.Output.Effort)
		return "output_config.effort"
	case c.Thinking != nil && aboutThinking.MatchString(text):
		return "thinking.type " + l.learnThinking(c.Thinking.Type)
	case says("ttl") && !l.noTTL && !l.noMarks:
		l.noTTL = true
		return "cache_control.ttl"
	case says("cache_control") && !l.noMarks:
		l.noMarks = true
		return "cache_control"
	}
	return ""
}

func (l *limits) learnThinking(kind string) string {
	switch kind {
	case "adaptive":
		l.noAdaptive = true
	case "enabled":
		l.noBudget = true
	case "disabled":
		l.noDisabled = true
	}
	return kind
}

// statedMaxTokens returns the maximum of max_tokens that a refusal states; 0 if it states none.
func statedMaxTokens(text string) int {
	found := aboutTokens.FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // the largest number if more digits were stated than fit
	return n
}

// learnEffort learns from a refusal of an effort: it marks this value as refused, and all that the
// text does not list as accepted, or the field if the text lists none.
func (l *limits) learnEffort(text, effort string) {
	named := effortWord.FindAllString(text, -1)
	others := slices.DeleteFunc(slices.Clone(named), func(word string) bool { return word == effort })
	if len(named) == 0 || l.refusedEfforts[effort] {
		l.noEffort = true
		return
	}
	if l.refusedEfforts == nil {
		l.refusedEfforts = map[string]bool{}
	}
	for _, value := range efforts {
		if value == effort || len(others) > 0 && !slices.Contains(others, value) {
			l.refusedEfforts[value] = true
		}
	}
}
