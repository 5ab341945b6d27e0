package channel

import (
	"context"
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/prompts"
	"cairn/store"
)

// The language of a conversation's prompts, and of the bot's own sentences. Models answer in the question's.

// Languages are the values of the setting; the first one detects the language from the messages.
var Languages = append([]string{autoLanguage}, prompts.Languages...)

const (
	autoLanguage    = "auto"
	DefaultLanguage = prompts.English // when no setting says otherwise

	sampleMessages = 20  // the most messages used to detect the language: each batch of messages does it anew
	sampleTokens   = 200 // of each message: one long pasted text must not decide
)

// supported returns code if there are prompts in that language, otherwise the default.
func supported(code string) string {
	if !slices.Contains(prompts.Languages, code) {
		return DefaultLanguage
	}
	return code
}

// languageIn returns the language that a setting means in a conversation. Only data on disk decides it, so that a
// restart gets the same: with "auto", the newest messages that summaries cover or, before any summary, the first
// ones, as soon as they are clear. So it can only change when the provider's prompt cache is invalid anyway.
func languageIn(ctx context.Context, records *store.Conversation, setting string) (code string, err error) {
	if setting != autoLanguage {
		return supported(setting), nil
	}
	head, err := records.Compactions().Head(ctx)
	if err != nil {
		return "", err
	}
	shown := head.Start
	for _, row := range head.Stack {
		shown = max(shown, row.To+1)
	}
	first := shown <= 1
	var said []chat.Message
	if !first {
		said, _, err = records.Transcript().Earlier(ctx, shown, sampleMessages)
	} else {
		said, err = records.Transcript().Page(ctx, 1, sampleMessages)
		if head.Inherited.Root != nil {
			said = append([]chat.Message{*head.Inherited.Root}, said...)
		}
	}
	sample := ""
	for i, m := range said {
		if m.Role == llm.RoleUser {
			sample += tokens.Beginning(m.Said(), sampleTokens) + "\n"
		}
		if first || i == len(said)-1 {
			if found, sure := words.Language(sample); sure || !first {
				return supported(found), err
			}
		}
	}
	return DefaultLanguage, err
}

// spokenIn returns the agent with the language it uses in a conversation.
func (a Agent) spokenIn(ctx context.Context, records *store.Conversation) (Agent, error) {
	code, err := languageIn(ctx, records, a.Language)
	a.Language, a.detects = code, a.Language == autoLanguage
	return a, err
}

// redetectLanguage reopens the conversation if its messages now show another language: before its first answers,
// and after summaries have replaced messages. Only the child calls it, between turns.
func (c *conversation) redetectLanguage(ctx context.Context) error {
	if !c.agent.detects {
		return nil
	}
	now, err := languageIn(ctx, c.records, autoLanguage)
	if err == nil && now != c.agent.Language {
		_, err = c.load(ctx)
	}
	return err
}
