// What a server remembers of its requests: reasoning that must be sent back, cached prefixes,
// counts, and whether each request extends the previous one.

package llmtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"cairn/llm"
)

// Totals are the counts of a server with profiles.
type Totals struct {
	Requests int
	Input    int // of prompts, including Cached and Written
	Cached   int
	Written  int
	Output   int
}

// Counted returns the totals of completely answered requests. Without profiles nothing is counted.
func (s *Server) Counted() Totals {
	s.visits.mu.Lock()
	defer s.visits.mu.Unlock()
	return s.visits.totals
}

// visits has the state of all requests.
type visits struct {
	mu        sync.Mutex // guards the fields below
	profiles  []Profile
	reasoning map[string]string // by model and call id: the reasoning before the call
	caches    map[string]*cache // by model
	last      map[string][]part // by model and key: the last request
	totals    Totals
}

// visit is one request; profile is nil if the server has no profiles.
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
		return &visit{all: v, request: r}, v.lacksReasoning(r, requiresNone)
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
		if why := v.lacksReasoning(r, p.requires); why != nil {
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

// lacksReasoning rejects a request without the reasoning before a call. On Messages every model
// requires that of the current turn while thinking is enabled.
func (v *visits) lacksReasoning(r Request, rule reasoningRule) *rejection {
	if r.Wire == llm.WireMessages {
		if rule = requiresCurrent; !thinksOnMessages(r) {
			return nil
		}
	}
	if rule == requiresNone || r.Wire == llm.WireChat && rule == requiresCurrent {
		return nil
	}
	running := 0
	for i, m := range r.Messages {
		if m.Role == llm.RoleUser && (i == 0 || r.Messages[i-1].Role != llm.RoleTool) {
			running = i
		}
	}
	for i, m := range r.Messages {
		if i < running && rule != requiresAll {
			continue
		}
		for _, call := range m.ToolCalls {
			if want := v.reasoning[r.Model+" "+call.ID]; want != "" && reasoningText(m) != want {
				return missingReasoning(r, i)
			}
		}
	}
	return nil
}

// compare returns where r differs from the previous request; "" if it extends it.
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

// difference describes the first part in which now differs from before; "" if now starts with before. If grows is
// true, the last part may have grown: on chat completions, neighbours with the same role are joined.
func difference(now, before []part, grows bool) string {
	for i, was := range before {
		if i >= len(now) {
			return fmt.Sprintf("part %d of %d (%s: %.100q) is missing", i+1, len(before), was.role, was.text)
		}
		is := now[i]
		same := is.text == was.text || grows && i == len(before)-1 && strings.HasPrefix(is.text, was.text)
		if is.role != was.role || !same {
			from := max(samePrefix(is.text, was.text)-20, 0)
			return fmt.Sprintf("part %d of %d was %s: %.100q, is %s: %.100q", i+1, len(before), was.role, was.text[from:], is.role, is.text[from:])
		}
	}
	return ""
}

// counted returns the usage of the request and the response so far.
func (v *visit) counted() llm.Usage {
	u := v.usage
	u.Completion = tokensOf(v.answer())
	return u
}

// answer returns the response as parts of a later request.
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

// end records a complete response.
func (v *visit) end() {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if v.ended {
		return
	}
	v.ended = true
	for _, call := range v.called {
		v.all.reasoning[v.request.Model+" "+call.ID] = v.thought.String()
	}
	if v.profile == nil {
		return
	}
	answer := v.answer()
	kept := answer
	if len(v.called) == 0 && v.thought.Len() > 0 { // its reasoning is not sent back
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
