package llm

import (
	"slices"

	"cairn/internal/lazy"
)

// notChat matches the ids of models that are not for conversations.
var notChat = lazy.Pattern(`(?i)embed|rerank|tts|audio|whisper|transcri|image|dall-e|sora|moderation|realtime|search|codex|computer-use|` +
	`instruct-2|davinci|babbage|\bflux\b|diffusion|\bocr\b|\bveo\b|\b(?:bge|e5|gte)-|minilm|paraphrase|\bclip\b|guard`)

// dated matches the ids of snapshots: gpt-4o-2024-08-06, gpt-4-0613, claude-3-5-haiku-20241022.
var dated = lazy.Pattern(`-(?:20\d\d-?\d\d-?\d\d|[01]\d[0-3]\d)(?:-preview)?$`)

// Choose returns the first model of preferred that is offered. If none is, it returns the first offered one that
// looks like a chat model, a dated snapshot only if there is nothing else. ok is false if no chat model is offered.
func Choose(preferred []string, offered []Offered) (chosen Offered, ok bool) {
	for _, id := range preferred {
		if i := slices.IndexFunc(offered, func(o Offered) bool { return o.ID == id }); i >= 0 {
			return offered[i], true
		}
	}
	for _, o := range offered {
		if o.ID == "" || notChat().MatchString(o.ID) {
			continue
		}
		if !dated().MatchString(o.ID) {
			return o, true
		}
		if !ok {
			chosen, ok = o, true // unless there is more than snapshots
		}
	}
	return chosen, ok
}
