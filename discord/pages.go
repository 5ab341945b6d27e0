// Buttons: each runs a command, whose answer replaces the message. Lists have them for their pages.

package discord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/internal/platform"
)

// maxCustomID is the maximum length of a button's id (Discord, Components: Custom ID).
const maxCustomID = 100

// customID returns the id of a button that shows a page of a command's answer; empty if the line is
// too long for one.
func customID(line string, page int) string {
	if id := fmt.Sprintf("page %d %s", page, line); len(id) <= maxCustomID {
		return id
	}
	return ""
}

// parseCustomID decodes an id made by customID.
func parseCustomID(id string) (line string, page int, ok bool) {
	rest, isPage := strings.CutPrefix(id, "page ")
	n, line, more := strings.Cut(rest, " ")
	page, err := strconv.Atoi(n)
	return line, page, isPage && more && err == nil && strings.HasPrefix(line, "/")
}

// page renders page n of a list, with buttons for the previous and the next one.
func page(line string, answer channel.Answer, n int) post {
	n = min(max(n, 0), answer.Pages()-1)
	s := textAnswer(messages.Fit(answer.Page(n)))
	if answer.Pages() > 1 {
		s.Components = []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Style: discordgo.SecondaryButton, Label: channel.Translated(answer.Language, channel.TextPrevious), CustomID: customID(line, n-1), Disabled: n == 0},
			discordgo.Button{Style: discordgo.SecondaryButton, Label: channel.Translated(answer.Language, channel.TextNext), CustomID: customID(line, n+1), Disabled: n == answer.Pages()-1},
		}}}
	}
	return s
}

// buttons returns a row of buttons that run commands; nil if there are none.
func buttons(all []channel.Button) []discordgo.MessageComponent {
	if len(all) == 0 {
		return nil
	}
	var row discordgo.ActionsRow
	for _, b := range all {
		row.Components = append(row.Components, discordgo.Button{Style: discordgo.SecondaryButton, Label: b.Label, CustomID: customID(b.Line, 0)})
	}
	return []discordgo.MessageComponent{row}
}

// runButton runs the command of a button for the person who pressed it, and shows a page of its
// answer.
func (d *Discord) runButton(ctx context.Context, i interaction) error {
	line, n, ok := parseCustomID(i.Data.CustomID)
	if !ok { // of another version
		return nil
	}
	if err := d.callback(ctx, i, discordgo.InteractionResponseDeferredMessageUpdate, nil); err != nil {
		return err
	}
	answer, _, err := platform.Run(ctx, d.hub, d.conversationOf(ctx, i), i.person(), line)
	if answer.Private {
		return errors.Join(err, d.followUp(ctx, i, answer.String(), int(discordgo.MessageFlagsEphemeral)))
	}
	return d.editAnswer(ctx, i, page(line, answer, n))
}
