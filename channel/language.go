package channel

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/words"
)

// The language of a conversation: that of the prompts which its models get, and of the bot's own
// sentences. Models answer in the language of the question whatever it is.

// Languages are the values of the setting; the first one asks the messages.
var Languages = append([]string{autoLanguage}, prompts.Languages...)

const (
	autoLanguage = "auto"

	// DefaultLanguage is the setting where nobody says otherwise.
	DefaultLanguage = prompts.English
)

const (
	sampleMessages = 50  // that tell the language at most
	sampleTokens   = 200 // of each: one long text that somebody pasted must not decide
)

// settled is the language of a conversation.
type settled struct {
	code string // one of prompts.Languages
	told bool   // it stays until summaries replace messages; else the next messages may tell it
}

// language returns the code of the language in which the bot speaks here, one of
// prompts.Languages. Any goroutine may ask.
func (c *conversation) language() string {
	if s := c.settled.Load(); s != nil {
		return s.code
	}
	agent := c.hub.o.Agent(c.account())
	return supported(agent.Language)
}

// supported returns code if there are prompts in that language, else the default.
func supported(code string) string {
	if slices.Contains(prompts.Languages, code) {
		return code
	}
	return DefaultLanguage
}

// languageIn returns the language that a setting means in a conversation. What is on disk alone
// decides it, so that a restart finds the same: with "auto" the language of the messages that
// summaries cover, the newest of them, and before there are any that of the first messages, as
// soon as they tell it. So it can only change when summaries replace messages, which the
// provider's prompt cache does not survive anyway.
func languageIn(ctx context.Context, records *memory.Conversation, setting string) (settled, error) {
	if setting != autoLanguage {
		return settled{supported(setting), true}, nil
	}
	head, _, err := records.Compactions().Head(ctx)
	if err != nil {
		return settled{}, err
	}
	covered := head.Start - 1
	for _, row := range head.Stack {
		covered = max(covered, row.To)
	}
	if covered > 0 {
		said, _, err := records.Transcript().Earlier(ctx, covered+1, sampleMessages)
		code, _ := words.Language(strings.Join(textsOf(said), "\n"))
		return settled{supported(code), true}, err
	}
	said, err := records.Transcript().Page(ctx, 1, sampleMessages)
	if err != nil {
		return settled{}, err
	}
	sample := ""
	for _, text := range slices.Concat(inheritedTexts(head.Inherited), textsOf(said)) {
		sample += text + "\n"
		if code, sure := words.Language(sample); sure {
			return settled{supported(code), true}, nil
		}
	}
	return settled{DefaultLanguage, len(said) == sampleMessages}, nil
}

// spokenIn returns the agent with the language that it has in a conversation.
func (a Agent) spokenIn(ctx context.Context, records *memory.Conversation) (Agent, error) {
	var err error
	a.speaks, err = languageIn(ctx, records, a.Language)
	return a, err
}

// language is the code of the language in which the agent's models are asked.
func (a Agent) language() string { return cmp.Or(a.speaks.code, supported(a.Language)) }

// textsOf are the texts of people among messages, long ones in part.
func textsOf(messages []chat.Message) (texts []string) {
	for _, m := range messages {
		if m.Role == llm.RoleUser && m.Text != "" {
			texts = append(texts, tokens.Beginning(m.Text, sampleTokens))
		}
	}
	return texts
}

// inheritedTexts are what a thread has of the channel above it.
func inheritedTexts(in compactor.Inheritance) (texts []string) {
	if in.Root != nil {
		texts = textsOf([]chat.Message{*in.Root})
	}
	for _, row := range slices.Backward(in.Stack) {
		if row.Kind != compactor.Placeholder {
			return append(texts, tokens.Beginning(row.Text, sampleTokens))
		}
	}
	return texts
}

// settleLanguage opens the conversation again if its messages tell by now that it is in another
// language: before its first answers, and after summaries have replaced messages. It belongs to
// the child, between turns.
func (c *conversation) settleLanguage(ctx context.Context) error {
	was, due := c.settled.Load(), false
	c.do(func(*compactor.Compactor) { due = c.headChanged })
	if was.told && !due {
		return nil
	}
	now, err := languageIn(ctx, c.records, c.agent.Language)
	if err != nil {
		return err
	}
	if now.code != was.code {
		_, err = c.load(ctx)
		return err
	}
	c.settled.Store(&now)
	c.do(func(*compactor.Compactor) { c.headChanged = false })
	return nil
}
