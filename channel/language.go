package channel

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
	"cairn/store"
	"cairn/words"
)

// The language of a conversation: of the prompts its models get, and of the bot's own sentences.
// Models answer in the language of the question in any case.

// Languages are the values of the setting; the first one detects the language from the messages.
var Languages = append([]string{autoLanguage}, prompts.Languages...)

const (
	autoLanguage = "auto"

	// DefaultLanguage applies when no setting says otherwise.
	DefaultLanguage = prompts.English
)

const (
	sampleMessages = 20  // the most messages used to detect the language: each batch of messages does it anew
	sampleTokens   = 200 // of each message: one long pasted text must not decide
)

// language returns the code of the language in which the bot speaks here, one of prompts.Languages.
// Any goroutine may call it.
func (c *conversation) language() string {
	if code := c.speaks.Load(); code != nil {
		return *code
	}
	return supported(c.hub.o.Agent(c.account()).Language)
}

// detectLanguage sets the language of a conversation that is still being opened. After an error, it
// stays the default one until then.
func (c *conversation) detectLanguage(ctx context.Context) {
	if c.speaks.Load() != nil {
		return
	}
	if code, err := languageIn(ctx, c.records, c.hub.o.Agent(c.account()).Language); err == nil {
		c.speaks.CompareAndSwap(nil, &code)
	}
}

// languageOf returns the language of a conversation that may not be open.
func (h *Hub) languageOf(name string) string {
	h.mu.Lock()
	c := h.open[name]
	h.mu.Unlock()
	if c != nil {
		return c.language()
	}
	return supported(h.o.Agent(name).Language)
}

// supported returns code if there are prompts in that language, otherwise the default.
func supported(code string) string {
	if slices.Contains(prompts.Languages, code) {
		return code
	}
	return DefaultLanguage
}

// languageIn returns the language that a setting means in a conversation. Only data on disk decides
// it, so that a restart gets the same result: with "auto", the newest of the messages that
// summaries cover, or, before any summary, the first messages, as soon as their language is clear.
// So the language can only change when summaries replace messages, and then the provider's prompt
// cache is invalid anyway.
func languageIn(ctx context.Context, records *store.Conversation, setting string) (code string, err error) {
	if setting != autoLanguage {
		return supported(setting), nil
	}
	head, _, err := records.Compactions().Head(ctx)
	if err != nil {
		return "", err
	}
	covered := head.Start - 1
	for _, row := range head.Stack {
		covered = max(covered, row.To)
	}
	if covered > 0 {
		said, _, err := records.Transcript().Earlier(ctx, covered+1, sampleMessages)
		code, _ := words.Language(strings.Join(textsOf(said), "\n"))
		return supported(code), err
	}
	said, err := records.Transcript().Page(ctx, 1, sampleMessages)
	if root := head.Inherited.Root; root != nil {
		said = append([]chat.Message{*root}, said...)
	}
	sample := ""
	for _, text := range textsOf(said) {
		sample += text + "\n"
		if code, sure := words.Language(sample); sure {
			return supported(code), err
		}
	}
	return DefaultLanguage, err
}

// spokenIn returns the agent with the language it uses in a conversation.
func (a Agent) spokenIn(ctx context.Context, records *store.Conversation) (Agent, error) {
	var err error
	a.speaks, err = languageIn(ctx, records, a.Language)
	return a, err
}

// language returns the code of the language of the agent's prompts.
func (a Agent) language() string { return cmp.Or(a.speaks, supported(a.Language)) }

// textsOf returns the texts of people among the messages, long ones shortened.
func textsOf(messages []chat.Message) (texts []string) {
	for _, m := range messages {
		if m.Role == llm.RoleUser && m.Text != "" {
			texts = append(texts, tokens.Beginning(m.Text, sampleTokens))
		}
	}
	return texts
}

// redetectLanguage reopens the conversation if its messages now show that it is in another language:
// before its first answers, and after summaries have replaced messages. Only the child calls it,
// between turns.
func (c *conversation) redetectLanguage(ctx context.Context) error {
	if c.agent.Language != autoLanguage {
		return nil
	}
	now, err := languageIn(ctx, c.records, autoLanguage)
	if err == nil && now != c.agent.speaks {
		_, err = c.load(ctx)
	}
	return err
}
