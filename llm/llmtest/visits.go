// What a server remembers of its requests: reasoning that must come back, what was
// cached and counted, and whether each request extends the one before.

package llmtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"cairn/llm"
)

// Totals are what a server with profiles has counted.
type Totals struct {
	Requests int
	Input    int // tokens of the prompts, Cached and Written included
	Cached   int
	Written  int
	Output   int
}

// Counted returns the totals of the requests that were answered to their end. Without
// profiles nothing is counted.
func (s *Server) Counted() Totals {
	s.visits.mu.Lock()
	defer s.visits.mu.Unlock()
	return s.visits.totals
}

// visits are the requests so far.
type visits struct {
	mu       sync.Mutex // guards the fields below
	profiles []Profile
	reasoned map[string]string // by model and id of a call: the reasoning before it
	caches   map[string]*cache // by model
	last     map[string][]part // by model and key: the last request
	totals   Totals
}

// visit is one request that a profile answers; without a profile, profile is nil.
type visit struct {
	all     *visits
	request Request
	profile *Profile
	parts   []part
	usage   llm.Usage
	differs string // see Exchange.Differs

	thought, text strings.Builder
	called        []llm.Call
	ended         bool
}

// begin checks a valid request against its model's behaviour.
func (v *visits) begin(r Request) (*visit, *rejection) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.profiles) == 0 {
		return &visit{all: v, request: r}, v.lacksReasoning(r, wantsNone)
	}
	for i := range v.profiles {
		p := &v.profiles[i]
		if p.Model != r.Model {
			continue
		}
		parts := layout(r, p.countsReasoning)
		if why := p.judge(r, tokensOf(parts)); why != nil {
			return nil, why
		}
		if why := v.lacksReasoning(r, p.wants); why != nil {
			return nil, why
		}
		differs := v.compare(r, parts)
		return &visit{all: v, request: r, profile: p, parts: parts, differs: differs, usage: v.cacheOf(p.Model).read(p.cache, parts)}, nil
	}
	return nil, &rejection{http.StatusNotFound, "model_not_found", "The model `" + r.Model + "` does not exist or you do not have access to it."}
}

func (v *visits) cacheOf(model string) *cache {
	if v.caches[model] == nil {
		v.caches[model] = &cache{entries: map[hash]bool{}}
	}
	return v.caches[model]
}

// lacksReasoning refuses a request that lacks the reasoning before a call. On Messages
// every model wants that of the running turn while it thinks.
func (v *visits) lacksReasoning(r Request, rule reasoningRule) *rejection {
	if r.Wire == llm.WireMessages {
		if rule = wantsRunning; !thinksOnMessages(r) {
			return nil
		}
	}
	if rule == wantsNone || r.Wire == llm.WireChat && rule == wantsRunning {
		return nil
	}
	running := 0
	for i, m := range r.Messages {
		if m.Role == llm.RoleUser && (i == 0 || r.Messages[i-1].Role != llm.RoleTool) {
			running = i
		}
	}
	for i, m := range r.Messages {
		if i < running && rule != wantsAll {
			continue
		}
		for _, call := range m.ToolCalls {
			if want := v.reasoned[r.Model+" "+call.ID]; want != "" && reasoningText(m) != want {
				return missingReasoning(r, i)
			}
		}
	}
	return nil
}

// compare returns where r differs from the request before it; empty if it extends it.
func (v *visits) compare(r Request, parts []part) (differs string) {
	var spoken []part
	for _, p := range parts {
		if !p.reasoning {
			spoken = append(spoken, p)
		}
	}
	key := r.Model + " " + string(r.Body["prompt_cache_key"])
	if r.Body["prompt_cache_key"] == nil && len(r.Messages) > 0 && r.Messages[0].Role == llm.RoleSystem {
		key += r.Messages[0].Text()
	}
	if before, ok := v.last[key]; ok {
		differs = difference(spoken, before, r.Wire == llm.WireChat)
	}
	v.last[key] = spoken
	return differs
}

// difference is the first part in which now does not begin with before; empty if it
// does. On chat completions neighbours in one role are one text, so the last part may
// have grown.
func difference(now, before []part, grows bool) string {
	for i, was := range before {
		if i >= len(now) {
			return fmt.Sprintf("part %d of %d (%s: %.100q) is missing", i+1, len(before), was.role, was.text)
		}
		is := now[i]
		same := is.text == was.text || grows && i == len(before)-1 && strings.HasPrefix(is.text, was.text)
		if is.role != was.role || !same {
			from := 0
			for from < min(len(is.text), len(was.text)) && is.text[from] == was.text[from] {
				from++
			}
			from = max(from-20, 0)
			return fmt.Sprintf("part %d of %d was %s: %.100q, is %s: %.100q", i+1, len(before), was.role, was.text[min(from, len(was.text)):], is.role, is.text[min(from, len(is.text)):])
		}
	}
	return ""
}

// counted is the usage of the answer as far as it was written.
func (v *visit) counted() llm.Usage {
	u := v.usage
	u.Completion = tokensOf(v.answer())
	return u
}

// answer is the answer as the parts of a later request.
func (v *visit) answer() (parts []part) {
	if v.thought.Len() > 0 {
		parts = append(parts, part{role: "assistant", text: v.thought.String(), reasoning: true})
	}
	if v.text.Len() > 0 {
		parts = append(parts, part{role: "assistant", text: v.text.String()})
	}
	for _, call := range v.called {
		parts = append(parts, callPart(call, false))
	}
	return count(parts)
}

// end notes an answer that was written to its end.
func (v *visit) end() {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if v.ended {
		return
	}
	v.ended = true
	for _, call := range v.called {
		v.all.reasoned[v.request.Model+" "+call.ID] = v.thought.String()
	}
	if v.profile == nil {
		return
	}
	answer := v.answer()
	kept := answer
	if len(v.called) == 0 && v.thought.Len() > 0 { // its reasoning does not come back
		kept = answer[1:]
	}
	v.all.cacheOf(v.profile.Model).write(v.profile.cache, v.parts, kept)
	t := &v.all.totals
	t.Requests++
	t.Input += v.usage.Prompt
	t.Cached += v.usage.Cached
	t.Written += v.usage.Written
	t.Output += tokensOf(answer)
}
