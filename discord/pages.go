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

// customID returns the id of a button that shows a page of a command's answer. A command line that
// does not fit is cached, and the id contains its key.
func (d *Discord) customID(line string, page int) string {
	if id := fmt.Sprintf("page %d %s", page, line); len(id) <= maxCustomID {
		return id
	}
	key := "#" + nonce(line)
	d.commandLines.Set(key, line)
	return fmt.Sprintf("page %d %s", page, key)
}

// parseCustomID decodes an id made by customID. ok is false if it is another one, or the cached
// command line is gone.
func (d *Discord) parseCustomID(id string) (line string, page int, ok bool) {
	rest, isPage := strings.CutPrefix(id, "page ")
	n, line, more := strings.Cut(rest, " ")
	page, err := strconv.Atoi(n)
	if !isPage || !more || err != nil {
		return "", 0, false
	}
	if !strings.HasPrefix(line, "#") {
		return line, page, true
	}
	line, ok = d.commandLines.Find(line)
	return line, page, ok
}

// page renders page n of a list, with buttons for the previous and the next one.
func (d *Discord) page(line string, answer channel.Answer, n int) post {
	n = min(max(n, 0), answer.Pages()-1)
	s := textAnswer(messages.Fit(answer.Page(n)))
	if answer.Pages() > 1 {
		s.Components = []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Style: discordgo.SecondaryButton, Label: "Previous", CustomID: d.customID(line, n-1), Disabled: n == 0},
			discordgo.Button{Style: discordgo.SecondaryButton, Label: "Next", CustomID: d.customID(line, n+1), Disabled: n == answer.Pages()-1},
		}}}
	}
	return s
}

// buttons returns a row of buttons that run commands; nil if there are none.
func (d *Discord) buttons(all []channel.Button) []discordgo.MessageComponent {
	if len(all) == 0 {
		return nil
	}
	var row discordgo.ActionsRow
	for _, b := range all {
		row.Components = append(row.Components, discordgo.Button{Style: discordgo.SecondaryButton, Label: b.Label, CustomID: d.customID(b.Line, 0)})
	}
	return []discordgo.MessageComponent{row}
}

// runButton runs the command of a button for the person who pressed it, and shows a page of its
// answer.
func (d *Discord) runButton(ctx context.Context, i interaction) error {
	line, page, ok := d.parseCustomID(i.Data.CustomID)
	if !ok {
		s := textAnswer(textExpired)
		s.Flags = int(discordgo.MessageFlagsEphemeral)
		return d.callback(ctx, i, discordgo.InteractionResponseChannelMessageWithSource, s)
	}
	if err := d.callback(ctx, i, discordgo.InteractionResponseDeferredMessageUpdate, nil); err != nil {
		return err
	}
	answer, _, err := platform.Run(ctx, d.hub, d.conversationOf(ctx, i), i.person(), line)
	if answer.Private {
		return errors.Join(err, d.followUp(ctx, i, answer.String(), int(discordgo.MessageFlagsEphemeral)))
	}
	return d.editAnswer(ctx, i, d.page(line, answer, page))
}
