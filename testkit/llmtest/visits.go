// What a server remembers of its requests: reasoning that must be sent back, cached prefixes,
// counts, and whether each request extends the previous one.

package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

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
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// past is what a server remembers of its requests.
type past struct {
	profiles  []Profile
	reasoning map[string]string // by model and call id: the reasoning before the call
	preceding map[string][]part // by model and call id: what preceded that reasoning
	caches    map[string]*cache // by model
	last      map[string][]part // by model and key: the last request
	totals    Totals
}

// visit checks a valid request against its model's behaviour.
func (s *Server) visit(x *Exchange) *rejection {
	r := x.Request
	if len(s.profiles) == 0 {
		return s.lacksReasoning(r, requiresNone)
	}
	i := slices.IndexFunc(s.profiles, func(p Profile) bool { return p.Model == r.Model })
	if i < 0 {
		return &rejection{http.StatusNotFound, "model_not_found", "The model `" + r.Model + "` does not exist or you do not have access to it."}
	}
	p := &s.profiles[i]
	x.profile, x.parts = p, layout(r, p.effort != "never")
	if why := cmp.Or(p.judge(r, tokensOf(x.parts)), s.lacksReasoning(r, p.requires)); why != nil {
		return why
	}
	if p.bound {
		if why := s.unbound(r); why != nil {
			return why
		}
	}
	x.differs, x.usage = s.compare(r, x.parts), s.cacheOf(p.Model).read(p.cache, x.parts)
	return nil
}

func (s *Server) cacheOf(model string) *cache {
	if s.caches[model] == nil {
		s.caches[model] = &cache{entries: map[hash]bool{}}
	}
	return s.caches[model]
}

// lacksReasoning rejects a request without the reasoning before a call. On Messages every model
// requires that of the current turn while thinking is enabled.
func (s *Server) lacksReasoning(r Request, rule reasoningRule) *rejection {
	if r.Wire == llm.WireMessages {
		rule = requiresCurrent
		if !thinksOnMessages(r) {
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
			if want := s.reasoning[r.Model+" "+call.ID]; want != "" && reasoningText(m) != want {
				return missingReasoning(r, i)
			}
		}
	}
	return nil
}

// unbound rejects thinking that comes back behind other content than that which it was made from: system prompt, tools or an
// earlier message has changed, see https://platform.claude.com/docs/build-with-claude/preserved-thinking.
func (s *Server) unbound(r Request) *rejection {
	for i, m := range r.Messages {
		if reasoningText(m) == "" {
			continue
		}
		before := r
		before.Messages = r.Messages[:i]
		now := layout(before, true)
		for _, call := range m.ToolCalls {
			was, known := s.preceding[r.Model+" "+call.ID]
			same := slices.EqualFunc(now, was, func(a, b part) bool { return a.role == b.role && a.text == b.text })
			if known && !same {
				return refused("messages.%d.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "+
					"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", i)
			}
		}
	}
	return nil
}

// compare returns where r differs from the previous request; "" if it extends it.
func (s *Server) compare(r Request, parts []part) (differs string) {
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
	if before, ok := s.last[key]; ok {
		differs = difference(spoken, before, r.Wire == llm.WireChat)
	}
	s.last[key] = spoken
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

// answer returns the response as parts of a later request.
func (x *Exchange) answer() (parts []part) {
	if x.thought.Len() > 0 {
		parts = append(parts, part{role: "assistant", text: x.thought.String(), reasoning: true})
	}
	if x.said.Len() > 0 {
		parts = append(parts, part{role: "assistant", text: x.said.String()})
	}
	for _, call := range x.called {
		parts = append(parts, callPart(call, false))
	}
	return count(parts)
}

// remember records a complete response.
func (s *Server) remember(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.done {
		return
	}
	x.done = true
	for _, call := range x.called {
		s.reasoning[x.Request.Model+" "+call.ID] = x.thought.String()
	}
	if x.profile == nil {
		return
	}
	if x.thought.Len() > 0 {
		for _, call := range x.called {
			s.preceding[x.Request.Model+" "+call.ID] = layout(x.Request, true)
		}
	}
	answer := x.answer()
	kept := answer
	if len(x.called) == 0 && x.thought.Len() > 0 { // its reasoning is not sent back
		kept = answer[1:]
	}
	s.cacheOf(x.profile.Model).write(x.profile.cache, x.parts, kept)
	t := &s.totals
	t.Requests++
	t.Input += x.usage.Prompt
	t.Cached += x.usage.Cached
	t.Written += x.usage.Written
	t.Output += tokensOf(answer)
}
