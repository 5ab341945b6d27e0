// Buttons: they run a command, whose answer takes the place of the message. Lists have them for
// their pages.

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

// maxCustomID is the longest id of a button (Discord, Components: Custom ID).
const maxCustomID = 100

// customID is the id of a button that shows a page of a command's answer. A command line that does
// not fit is cached.
func (d *Discord) customID(line string, page int) string {
	if id := fmt.Sprintf("page %d %s", page, line); len(id) <= maxCustomID {
		return id
	}
	key := "#" + nonce(line)
	d.commandLines.Set(key, line)
	return fmt.Sprintf("page %d %s", page, key)
}

// readCustomID decodes the id of a button. ok is false if it is not ours, or the cached command
// line is gone.
func (d *Discord) readCustomID(id string) (line string, page int, ok bool) {
	rest, ours := strings.CutPrefix(id, "page ")
	n, line, more := strings.Cut(rest, " ")
	page, err := strconv.Atoi(n)
	if !ours || !more || err != nil {
		return "", 0, false
	}
	if !strings.HasPrefix(line, "#") {
		return line, page, true
	}
	line, ok = d.commandLines.Find(line)
	return line, page, ok
}

// page renders one page of a list, with buttons for the pages beside it.
func (d *Discord) page(line string, answer channel.Answer, n int) shown {
	n = min(max(n, 0), answer.Pages()-1)
	s := plain(d.shortenLines(answer.Page(n)))
	if answer.Pages() > 1 {
		s.Components = []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
			discordgo.Button{Style: discordgo.SecondaryButton, Label: "Previous", CustomID: d.customID(line, n-1), Disabled: n == 0},
			discordgo.Button{Style: discordgo.SecondaryButton, Label: "Next", CustomID: d.customID(line, n+1), Disabled: n == answer.Pages()-1},
		}}}
	}
	return s
}

// buttons are a row of buttons that run commands; nil if there are none.
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

// shortenLines shortens the longest lines of a page until it fits a message.
func (d *Discord) shortenLines(text string) string {
	for most := messages.Limit; messages.CostOf(text) > messages.Limit && most > 20; most = most * 3 / 4 {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = platform.Short(line, most)
		}
		text = strings.Join(lines, "\n")
	}
	return d.Split(text)[0]
}

// press runs the command of a button, for the person who pressed it, and shows a page of its answer.
func (d *Discord) press(ctx context.Context, i interaction) error {
	line, page, ok := d.readCustomID(i.Data.CustomID)
	if !ok {
		s := plain(forgotten)
		s.Flags = int(discordgo.MessageFlagsEphemeral)
		return d.callback(ctx, i, discordgo.InteractionResponseChannelMessageWithSource, s)
	}
	if err := d.callback(ctx, i, discordgo.InteractionResponseDeferredMessageUpdate, nil); err != nil {
		return err
	}
	answer, handled, err := d.hub.Run(ctx, d.conversationOf(ctx, i), i.person(), line)
	switch {
	case errors.Is(err, channel.ErrRefused):
		return d.followUp(ctx, i, notHere, int(discordgo.MessageFlagsEphemeral))
	case err != nil || !handled:
		return errors.Join(err, d.followUp(ctx, i, notNow, int(discordgo.MessageFlagsEphemeral)))
	}
	if answer.Private {
		return d.followUp(ctx, i, answer.String(), int(discordgo.MessageFlagsEphemeral))
	}
	return d.editAnswer(ctx, i, d.page(line, answer, page))
}
