package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"cairn/internal/check"

	"cairn/discord"
	"cairn/discord/discordtest"
)

func TestSetupForDiscord(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	const token = "discord-token-0815"
	d := discordtest.New(discordtest.Options{Token: token})
	t.Cleanup(d.Close)
	model := strictModel(t)
	p := newFolder(t)
	p.write("config.toml", "workers = 2\n")
	s := p.atScreen("setup", "--api-base", d.URL)
	s.answer("config.toml exists. Replace it?", "y")
	s.answer("Which model should answer?", "nobody")
	s.answer("Enter a number from 1 to 4: ", "3")
	s.answer("The server's address [http://localhost:11434/v1]: ", model)
	s.answer("(hidden; Enter: none): ", "wrong-key-1234")
	s.until("✗ ")
	s.answer("Which model should answer?", "server")
	s.answer("The server's address [http://localhost:11434/v1]: ", model)
	s.answer("(hidden; Enter: none): ", keyOfModel)
	s.answer("Which model? [", "")
	s.until("✓ test-model answered in ")
	s.answer("Where will people talk to the bot?", "1")
	s.answer("The token (hidden): ", "no token")
	s.answer("✗ DISCORD_TOKEN is not a bot token", "discord-wrong-1")
	s.until("✗ ")
	s.answer("The token (hidden): ", token)
	s.until("✓ The token works: the bot is " + d.Bot.Username)
	app := check.Must(discordOf(t, d, token).Application(t.Context()))(t)
	s.until(discord.InviteURL(app.ID))
	ann := d.User("Ann")
	square := d.Channel(d.Guild("Town", ann).ID, "square").ID
	s.until("Written: secrets/model-key")
	s.until("Written: secrets/discord-token")
	s.until("Kept: config.toml.2")
	s.until("Written: config.toml")
	s.until("@" + d.Bot.Username + " hello")
	eventually(t, "the bot is connected", s.shown, func() bool { return len(d.Connections()) > 0 && d.Connections()[0].Identify })
	d.Say(square, ann.ID, "<@"+d.Bot.ID+"> hello")
	eventually(t, "it has answered", s.shown, func() bool { return len(d.Sent(square)) > 0 && d.Sent(square)[0].Content == "Here I am." })
	code, text := s.stop(syscall.SIGINT)
	check.Equal(t, "exit code", code, 130)
	checkWidth(t, text)
	p.written(text, map[string]string{"model-key": keyOfModel, "discord-token": token})
	check.Contains(t, "docs/discord.md", read(t, checkout+"/docs/discord.md"), discord.InviteURL("APPLICATION_ID")+"\n")
}

// checkWidth checks that the instructions fit a terminal of 80 columns, which would cut words. Errors
// and links need not.
func checkWidth(t *testing.T, text string) {
	t.Helper()
	before, _, _ := strings.Cut(text, "Written: ")
	for line := range strings.Lines(before) {
		free := strings.HasPrefix(line, "✗ ") || strings.HasPrefix(line, "what to do: ") || strings.HasPrefix(line, "  https://") || strings.Contains(line, "/oauth2/")
		check.That(t, free || utf8.RuneCountInString(strings.TrimRight(line, "\r\n")) <= 80, "too wide: %q", line)
	}
}

// discordOf returns the connector with a token.
func discordOf(t *testing.T, d *discordtest.Server, token string) *discord.Discord {
	return check.Must(discord.New(discord.Options{Token: token, APIBase: d.URL}))(t)
}

func TestSetupForDiscordWithoutIntent(t *testing.T) {
	t.Parallel()
	d := discordtest.New(discordtest.Options{Forbidden: discordgo.IntentMessageContent})
	t.Cleanup(d.Close)
	d.Guild("Town", d.User("Ann"))
	p := newFolder(t, "DISCORD_TOKEN=token")
	args := []string{"setup", "--model", "none", "--platform", "discord", "--api-base", d.URL, "--no-run"}
	r := p.run("", args...)
	check.Equal(t, "exit code", r.code, exitFailed)
	check.Contains(t, "errors", r.err, "Message Content Intent", "--without-message-content")
	p.must("", append(args, "--without-message-content")...)
	check.Contains(t, "settings", read(t, filepath.Join(p.dir, "config.toml")), "message_content = false")
	t.Run("at a terminal it waits until the intent is on", func(t *testing.T) {
		s := newFolder(t, "DISCORD_TOKEN=token").atScreen(args...)
		s.until("switch on Message Content Intent")
		s.answer("Press Enter when it is on: ", "")
		s.until("✗ the bot may not read messages")
		d.EnableIntents(discordgo.IntentMessageContent)
		s.answer("Press Enter when it is on: ", "")
		s.until("Written: config.toml")
		check.NoError(t, s.cmd.Wait())
	})
}
