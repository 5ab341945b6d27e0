// The mark on a message that tells people that older ones were summed up.

package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
)

// summedUp is the mark.
const summedUp = "books"

const reactMethod = "reactions.add"

// React puts the mark on a message; one that bears it is left alone. Where the app
// may not, the log is told once which scope it lacks, and nothing else happens.
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
