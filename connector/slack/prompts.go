// What Slack suggests to write to an agent: the manifest has it in English, and the bot sets it where another language is spoken.

package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/sentences"
)

// What the manifest suggests, too.
const (
	textAbilities = "What can you do?"
	textMemories  = "What do you remember about me?"
	textLast      = "Where did we leave off?"
)

// tabMessages is the tab of App Home that is the direct message with the app (reference/events/app_home_opened).
const tabMessages = "messages"

// suggest sets the prompts of a direct message that somebody has opened. For an agent they must not name a thread
// (reference/methods/assistant.threads.setSuggestedPrompts).
func (s *sessions) suggest(channelID string) {
	place := s.self.place(channelID, "")
	language := channel.SpokenIn(s.base.Hub, place.String())
	if language == "en" || !place.Direct() || !s.exist() || s.promptless.holds() {
		return
	}
	p := slackgo.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: channelID}
	for _, text := range []string{textAbilities, textMemories, textLast} {
		text = sentences.In(language).Translate(text)
		p.AddPrompt(text, text)
	}
	s.base.Work.Start(func(ctx context.Context) {
		err := s.api.once.SetAssistantThreadsSuggestedPromptsContext(background(ctx, nil), p)
		if err != nil {
			s.promptless.note(err)
			s.base.Log.Debug("suggest_prompts_failed", "error", err)
		}
	})
}
