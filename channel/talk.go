package channel

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"cairn/compactor"
	"cairn/llm"
)

// What a turn asks the model, and what is done about a request that failed.

// talk is what converse keeps between one request and the next.
type talk struct {
	*conversation
	r          *reply
	overflows  int
	completion int            // tokens of the last answer, its reasoning included; 0: not counted
	sent       []llm.Message  // by the last request
	pictures   map[int64]bool // that it showed
	reasoned   bool           // a request was refused for want of earlier reasoning
	asUsual    bool           // it had the tools that requests usually have
	tooled     bool           // it had tools
}

// request makes the next one.
func (t *talk) request(_ context.Context, left int) (llm.Request, error) {
	if t.partDone(left) {
		return llm.Request{}, errPart
	}
	t.window.look(t.hub.ctx)
	if err := t.applyEdits(t.hub.ctx); err != nil {
		return llm.Request{}, err
	}
	var prompt compactor.Prompt
	var err error
	t.do(func(e *compactor.Compactor) { prompt, err = e.Request(t.hub.ctx) }) // what it writes must not hang on /stop
	messages := prompt.Messages
	t.pictures = t.illustrated(messages)
	facts := t.window.learnt().Facts()
	switch {
	case t.inWords:
		messages, _ = llm.InWords(messages)
	case facts.WantsReasoning:
		messages = llm.UnreasonedInWords(messages)
	default:
		messages = llm.DeprivedInWords(messages)
	}
	t.sent = messages
	req := llm.Request{
		Messages: messages, Head: prompt.Head, CacheKey: cacheKey(t.name),
		MaxTokens: prompt.MaxTokens, Spare: prompt.Spare, Tools: t.tools, Reasoning: t.agent.Reasoning, Spend: t.r.spend,
	}
	noTools, last := facts.RefusesTools, left == 1 || t.lastCall() || t.isTask() && t.callsLeft(left) == 1
	t.asUsual = (!last || noTools) && !t.inWords // else the count is of another prompt
	if last || noTools {
		req.Tools = nil
	}
	t.tooled = len(req.Tools) > 0
	return req, err
}

// retry reports whether a request that failed is worth another, and makes it possible.
func (t *talk) retry(_ context.Context, err error) bool {
	if llm.RefusesTools(err) && t.tooled { // a worker may have learnt it before
		if learnt := t.window.learnt(); !learnt.Facts().RefusesTools {
			t.log.Warn("model_without_tools", "effect", "answers without memory_search and recall", "model", t.agent.Model.Name())
			learnt.NoTools()
		}
		return true
	}
	if len(t.pictures) > 0 && llm.RefusesImages(err) {
		t.r.current.Reset()
		t.refused(t.pictures, err)
		return true
	}
	if llm.WantsReasoning(err) && !t.reasoned {
		t.reasoned = true // the model has learnt it: the next request has what there is
		t.r.current.Reset()
		return true
	}
	if refusedAsItStands(err) {
		return t.tellInWords(t.r, t.sent, err)
	}
	if llm.KindOf(err) != llm.KindOverflow || t.overflows >= 2 {
		return false
	}
	t.overflows++
	t.r.current.Reset()
	t.window.look(t.hub.ctx) // the model has learnt from it
	return ask(t.conversation, func(e *compactor.Compactor) bool {
		if t.asUsual {
			e.Reported(llm.Usage{Prompt: llm.PromptOf(err)})
		}
		return e.Overflow(t.hub.ctx)
	})
}

// refusedAsItStands reports whether a server understood a request and will not take it.
func refusedAsItStands(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.KindBadRequest && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// tellInWords has a request that was refused made once more, with the use of tools sent
// as text from now on, if it held any; if that was not it, they stand as before.
func (c *conversation) tellInWords(r *reply, sent []llm.Message, err error) bool {
	_, tooled := llm.InWords(sent)
	if c.inWords = tooled; tooled {
		r.current.Reset()
		c.log.Info("tools_refused", "effect", "earlier tool use is sent as text", "model", c.agent.Model.Name(), "error", err)
	}
	return tooled
}

// illustrated loads the pictures that a request shows, and tells which. What
// cannot be loaded, or would be refused, stays described in words.
func (c *conversation) illustrated(messages []llm.Message) (shown map[int64]bool) {
	shown, blind := make(map[int64]bool), c.window.learnt().Facts().RefusesImages
	for i, m := range messages {
		if len(m.Images) == 0 {
			continue
		}
		images := m.Images[:0:0]
		for _, image := range m.Images {
			if blind || c.unfit[image.File] {
				continue
			}
			kind, data, err := c.records.Transcript().File(c.hub.ctx, image.File)
			if err != nil {
				c.log.Warn("load_image_failed", "error", err)
				continue
			}
			image.Type, image.Data = kind, data
			images = append(images, image)
			shown[image.File] = true
		}
		messages[i].Images = images
	}
	return shown
}

// refused has pictures described from now on: all of them, if the model takes none,
// or those it was shown, if it could not take these.
func (c *conversation) refused(shown map[int64]bool, err error) {
	if llm.TakesNoImages(err) {
		c.log.Info("model_without_images", "effect", "images are described in words", "model", c.agent.Model.Name())
		c.window.learnt().NoImages()
		return
	}
	c.log.Info("images_refused", "effect", "images are described in words", "model", c.agent.Model.Name(), "error", err)
	if c.unfit == nil {
		c.unfit = make(map[int64]bool)
	}
	maps.Copy(c.unfit, shown)
}

// blindfolded is a message without pictures that nobody will look at.
func (c *conversation) blindfolded(m Inbound) Inbound {
	if !c.window.learnt().Facts().RefusesImages {
		return m
	}
	m.Attachments = slices.Clone(m.Attachments)
	for i := range m.Attachments {
		m.Attachments[i].Data = nil
	}
	return m
}
