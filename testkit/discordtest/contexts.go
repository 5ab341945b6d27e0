// Where commands can be used, and how large they may be.

package discordtest

import (
	"fmt"

	"github.com/bwmarrin/discordgo"
)

// checkContexts: Discord, Application Commands: Contexts; Slash Commands (8000 characters, the longest localization of each field). The app is
// installed to servers only, and supports no other context (judgement: which error is sent).
func checkContexts(c *discordgo.ApplicationCommand) {
	if c.Contexts != nil {
		for _, where := range *c.Contexts {
			refuseIf(where > discordgo.InteractionContextPrivateChannel, invalid("contexts", "BASE_TYPE_CHOICES", "Value must be one of {0, 1, 2}."))
		}
	}
	if c.IntegrationTypes != nil {
		for _, by := range *c.IntegrationTypes {
			refuseIf(by != discordgo.ApplicationIntegrationGuildInstall, invalid("integration_types", "APPLICATION_COMMAND_INVALID_INTEGRATION_TYPES", "The app does not support it."))
		}
	}
	size := longest(c.Name, c.NameLocalizations) + longest(c.Description, c.DescriptionLocalizations)
	for _, o := range c.Options {
		size += longest(o.Name, &o.NameLocalizations) + longest(o.Description, &o.DescriptionLocalizations)
		for _, choice := range o.Choices {
			size += longest(choice.Name, &choice.NameLocalizations) + len([]rune(fmt.Sprint(choice.Value)))
		}
	}
	refuseIf(size > 8000, invalid("_", "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)"))
}

func longest(text string, others *map[discordgo.Locale]string) (n int) {
	for _, translation := range localized(text, others) {
		n = max(n, len([]rune(translation)))
	}
	return n
}
