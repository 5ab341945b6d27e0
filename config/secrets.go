// Secrets: keys and tokens, out of files that the settings name or out of the environment.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// The variables that hold a secret where the settings name no file.
const (
	discordTokenVariable = "DISCORD_TOKEN"
	slackBotVariable     = "SLACK_BOT_TOKEN"
	slackAppVariable     = "SLACK_APP_TOKEN"
)

// secret is what setting, "file:PATH", refers to, or else what the environment holds;
// "" if there is neither. No error shows it, nor anything else that may be one.
func (s *Settings) secret(setting, variable string) (string, error) {
	text, err := s.secretFile(setting, variable)
	return cmp.Or(text, strings.TrimSpace(os.Getenv(variable))), err
}

// secretFile is what the file holds that setting names; "" if it names none.
func (s *Settings) secretFile(setting, variable string) (string, error) {
	if setting == "" {
		return "", nil
	}
	name, ok := strings.CutPrefix(setting, "file:")
	if !ok {
		return "", fmt.Errorf(`must be "file:PATH", a file that holds nothing else; or leave it out and set %s`, variable)
	}
	text, err := ReadFile(s.Path(name))
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // without the path: it may be the secret itself, put in the wrong place
	}
	if err != nil {
		return "", fmt.Errorf("must be a file that can be read, relative to this one: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", errors.New("the file it names is empty")
	}
	return secret, nil
}

// variableName is how the name of an environment variable looks.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// modelKey is the key that an api_key means: "file:PATH", "env:NAME", or the key itself,
// which is plain then; "" if it means none. No error shows it.
func (s *Settings) modelKey(setting string) (key string, plain bool, err error) {
	if strings.HasPrefix(setting, "file:") {
		key, err = s.secretFile(setting, "")
		return key, false, err
	}
	name, named := strings.CutPrefix(setting, "env:")
	switch {
	case !named:
		return strings.TrimSpace(setting), setting != "", nil
	case !variableName.MatchString(name):
		return "", false, errors.New(`must be "env:NAME" with the name of an environment variable`)
	case fromEnvironment(name) == "":
		return "", false, fmt.Errorf("the environment variable %s is not set", name)
	}
	return fromEnvironment(name), false, nil
}

// refersToSecret reports whether an api_key only names the place of the key.
func refersToSecret(setting string) bool {
	return strings.HasPrefix(setting, "file:") || strings.HasPrefix(setting, "env:")
}

// DiscordToken returns the bot's token; "" if there is none.
func (s *Settings) DiscordToken() (string, error) {
	return s.secret(s.Discord.Token, discordTokenVariable)
}

// SlackTokens returns the two tokens of the Slack app; "" if there is neither. One without the
// other is an error.
func (s *Settings) SlackTokens() (bot, app string, err error) {
	bot, errBot := s.secret(s.Slack.BotToken, slackBotVariable)
	app, errApp := s.secret(s.Slack.AppToken, slackAppVariable)
	if err := errors.Join(errBot, errApp); err != nil || bot == "" && app == "" {
		return "", "", err
	}
	for _, token := range []struct{ value, variable, key, prefix string }{
		{bot, slackBotVariable, "bot_token", slackBotPrefix},
		{app, slackAppVariable, "app_token", slackAppPrefix},
	} {
		if token.value == "" {
			return "", "", fmt.Errorf("slack needs two tokens and has one: set %s too, or %s under [slack]; it is %s", token.variable, token.key, slackPlaces[token.prefix])
		}
	}
	return bot, app, nil
}

// Secrets returns every secret that the settings and the environment hold and that can be read.
func (s *Settings) Secrets() (all []string) {
	for _, named := range [][2]string{
		{s.Discord.Token, discordTokenVariable},
		{s.Slack.BotToken, slackBotVariable},
		{s.Slack.AppToken, slackAppVariable},
		{s.Web.Token, webTokenVariable},
	} {
		text, _ := s.secret(named[0], named[1]) // who needs it reports the error
		all = append(all, text)
	}
	keys := []string{s.LLM.APIKey}
	addresses := []string{os.Getenv(OpenAI.URL), os.Getenv(Anthropic.URL), s.LLM.BaseURL, s.Discord.APIBase, s.Slack.APIBase}
	for _, p := range s.Providers {
		keys, addresses = append(keys, p.APIKey), append(addresses, p.BaseURL)
	}
	keys = append(keys, s.Hooks.Secret)
	for _, t := range s.Tools {
		for _, values := range []map[string]string{t.Env, t.Headers} {
			for _, setting := range values {
				if refersToSecret(setting) {
					keys = append(keys, setting)
				}
			}
		}
		keys = append(keys, slices.Collect(maps.Values(t.Headers))...)
	}
	for _, setting := range keys {
		key, _, _ := s.modelKey(setting) // likewise
		all = append(all, key)
	}
	all = append(all, fromEnvironment(OpenAI.Key), fromEnvironment(Anthropic.Key))
	for _, agent := range s.Agents {
		addresses = append(addresses, agent.BaseURL)
	}
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			password, _ := u.User.Password()
			all = append(all, password)
		}
	}
	return all
}

// How the tokens of a Slack app begin, and where people find them.
const (
	slackBotPrefix = "xoxb-"
	slackAppPrefix = "xapp-"
)

var slackPlaces = map[string]string{
	slackBotPrefix: `the Bot User OAuth Token, which is under "OAuth & Permissions"`,
	slackAppPrefix: `the app-level token, which is under "Basic Information"`,
}

// checkSlackToken returns an error for a token that does not begin with prefix,
// without showing it. A compatible server may have tokens of its own, but not the
// other one of Slack.
func checkSlackToken(token, prefix string, compatible bool) error {
	if token == "" || strings.HasPrefix(token, prefix) {
		return nil
	}
	for other, place := range slackPlaces {
		if strings.HasPrefix(token, other) {
			return fmt.Errorf("this is %s; the one that begins with %s is wanted: %s", place, prefix, slackPlaces[prefix])
		}
	}
	if compatible {
		return nil
	}
	return fmt.Errorf("must begin with %s: it is %s", prefix, slackPlaces[prefix])
}
