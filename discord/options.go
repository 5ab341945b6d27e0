// The settings of the connector.

package discord

import (
	"log/slog"
	"time"
)

// Options are the settings of the connector.
type Options struct {
	Token            string        // of the bot, without "Bot " before it; never logged
	APIBase          string        // root of a compatible server, as "http://localhost:8080"; empty: Discord itself
	MentionOnly      bool          // do without the privileged message content intent: only what is addressed to the bot is read
	AttachmentTokens int           // of text files, for each message; 0: their contents are not read
	Pictures         bool          // fetch pictures, for models that can see
	CatchUp          time.Duration // how far back to look, after an absence, in channels that nothing is known of; 0: an hour
	Log              *slog.Logger  // nil: slog.Default()
}
