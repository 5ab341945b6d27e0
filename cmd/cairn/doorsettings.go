// The settings of the doors: how to get in, and who may do what.
package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/channel"
	"cairn/slack"
)

// discordSettings are [discord].
type discordSettings struct {
	Token          string `toml:"token"`    // "file:PATH" only; empty: DISCORD_TOKEN
	APIBase        string `toml:"api_base"` // empty: Discord itself
	MessageContent bool   `toml:"message_content"`
	accessSettings
}

// slackSettings are [slack].
type slackSettings struct {
	BotToken string `toml:"bot_token"` // "file:PATH" only; empty: SLACK_BOT_TOKEN
	AppToken string `toml:"app_token"` // "file:PATH" only; empty: SLACK_APP_TOKEN
	APIBase  string `toml:"api_base"`  // empty: Slack itself
	Working  string `toml:"working"`   // one of slack.Workings
	ReplyIn  string `toml:"reply_in"`  // one of slack.ReplyPlaces
	accessSettings
}

// accessSettings are a door's channel.Access, field by field.
type accessSettings struct {
	Allow    []string `toml:"allow"`
	Deny     []string `toml:"deny"`
	Bots     []string `toml:"bots"`
	Owners   []string `toml:"owners"`
	Managers []string `toml:"managers"`
}

// doorNames are the doors a binding may name.
var doorNames = []string{"discord", "slack", "terminal"}

// rules are who may do what.
func (s *settings) rules() channel.Rules {
	return channel.Rules{
		Respond: s.respond,
		Access: map[string]channel.Access{
			"discord": channel.Access(s.Discord.accessSettings),
			"slack":   channel.Access(s.Slack.accessSettings),
		},
		TurnsPerMinute: s.TurnsPerMinute,
		CallsPerHour:   s.CallsPerHour,
		Money:          s.money(),
		Restricted:     append([]string{}, s.Restricted...), // an empty list restricts nothing, nil would
	}
}

// declaredRestricted are the commands that only managers run unless the settings say
// otherwise.
func declaredRestricted() []string {
	return commandNames(func(c channel.Command) bool { return c.Restricted })
}

// unrestricted are those of them that the settings leave out: on purpose, or because
// there was no such command when somebody wrote the list down.
func (s *settings) unrestricted() []string {
	return slices.DeleteFunc(declaredRestricted(), func(name string) bool { return slices.Contains(s.Restricted, name) })
}

func (d *decoder) checkDoors(s *settings) {
	d.checkURL("discord.api_base", s.Discord.APIBase, "http://localhost:8080")
	d.checkURL("slack.api_base", s.Slack.APIBase, "http://localhost:8080/api/")
	d.checkSecret(s, "discord.token", s.Discord.Token, discordTokenVariable)
	bot := d.checkSecret(s, "slack.bot_token", s.Slack.BotToken, slackBotVariable)
	app := d.checkSecret(s, "slack.app_token", s.Slack.AppToken, slackAppVariable)
	if err := checkSlackToken(bot, slackBotPrefix, s.Slack.APIBase != ""); err != nil {
		d.fault("slack.bot_token", "bot_token: "+err.Error())
	}
	if err := checkSlackToken(app, slackAppPrefix, s.Slack.APIBase != ""); err != nil {
		d.fault("slack.app_token", "app_token: "+err.Error())
	}
	d.checkChoice("slack.working", s.Slack.Working, slack.Workings)
	d.checkChoice("slack.reply_in", s.Slack.ReplyIn, slack.ReplyPlaces)
	d.checkAccess("discord", s.Discord.accessSettings)
	d.checkAccess("slack", s.Slack.accessSettings)
}

// checkChoice notes a value that is none of those there are.
func (d *decoder) checkChoice(path, value string, known []string) {
	if !slices.Contains(known, value) {
		d.fault(path, fmt.Sprintf(`%s = %q: must be one of "%s"%s`, base(path), value, strings.Join(known, `", "`), meant(value, known)))
	}
}

func (d *decoder) checkAccess(door string, a accessSettings) {
	for key, list := range map[string][]string{
		"allow": a.Allow, "deny": a.Deny, "bots": a.Bots, "owners": a.Owners, "managers": a.Managers,
	} {
		for _, id := range list {
			d.checkID(door+"."+key, door, id)
		}
	}
}

// idForm is how a platform's ids look. Discord's are snowflakes; Slack's begin with a
// letter that says what they name.
type idForm struct {
	*regexp.Regexp
	words string
}

var idForms = map[string]idForm{
	"discord": {regexp.MustCompile(`^[0-9]+$`), `an id of Discord, digits as "81384788862181376" (switch on Developer Mode, then Copy ID)`},
	"slack":   {regexp.MustCompile(`^[A-Z][A-Z0-9]+$`), `an id of Slack, as "U0123ABCD" (it stands in a profile's or a channel's details)`},
}

// checkID notes an id that is none of the door's platform.
func (d *decoder) checkID(path, door, id string) {
	if form, known := idForms[door]; known && !form.MatchString(id) {
		d.fault(path, fmt.Sprintf("%s: %q must be %s", base(path), id, form.words))
	}
}
