// The reaction that marks where older messages were summarized.

package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// summedUp is the reaction.
const summedUp = "books"

const reactMethod = "reactions.add"

// React adds the reaction to a message, unless it is there. If the app may not, it logs once which
// scope is missing, and returns nil.
func (s *Slack) React(ctx context.Context, conversation, id string) error {
	place := channel.ParsePlace(conversation)
	if s.refused(reactMethod, "") {
		return nil
	}
	err := waitForLimits(ctx, func() error {
		return s.api.write.AddReactionContext(ctx, summedUp, slackgo.NewRefToMessage(place.Channel, id))
	})
	switch codeOf(err) {
	case "already_reacted":
		return nil
	case "missing_scope":
		if _, told := s.refusals.First(reactMethod+"/", "missing_scope"); !told {
			s.log.Warn("reaction_refused", "problem", explainBotError(reactMethod, err))
		}
		return nil
	}
	return err
}
