// Secrets: keys and tokens, from environment variables and files; other files that the settings name.

package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// The environment variables of secrets for which the settings name no file.
const (
	discordTokenVariable = "DISCORD_TOKEN"
	slackBotVariable     = "SLACK_BOT_TOKEN"
	slackAppVariable     = "SLACK_APP_TOKEN"
)

// secret returns a token: the content of the file that setting, "file:PATH", names, or else of the
// environment variable; "" if there is neither.
func (s *Settings) secret(setting, variable string) (string, error) {
	text, plain, err := s.Resolve(setting)
	if plain || strings.HasPrefix(setting, "env:") {
		return "", fmt.Errorf(`must be "file:PATH", a file that contains nothing else; or leave it out and set %s`, variable)
	}
	if text == "" && err == nil {
		text = fromEnvironment(variable)
	}
	return text, err
}

// variableName is the form of an environment variable's name.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Resolve returns the secret that a setting refers to: "file:PATH", "env:NAME", or the secret itself,
// then plain is true; "" if it is empty. Errors never show a value that may be a secret.
func (s *Settings) Resolve(setting string) (secret string, plain bool, err error) {
	kind, name, _ := strings.Cut(setting, ":")
	switch kind {
	case "file":
		secret, err = s.secretFile(name)
	case "env":
		secret = fromEnvironment(name)
		if !variableName.MatchString(name) {
			err = errors.New(`must be "env:NAME" with the name of an environment variable`)
		} else if secret == "" {
			err = fmt.Errorf("the environment variable %s is not set", name)
		}
	default:
		return strings.TrimSpace(setting), setting != "", nil
	}
	return secret, false, err
}

func (s *Settings) secretFile(name string) (string, error) {
	text, err := ReadFile(s.Path(name))
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // without the path: it may be the secret itself, in the wrong place
	}
	beside := ""
	if s.file != "" {
		beside = ", relative to this one"
	}
	if err != nil {
		return "", fmt.Errorf("must be a file that can be read%s: %w", beside, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", errors.New("the file it names is empty")
	}
	return secret, nil
}

// DiscordToken returns the bot's token; "" if there is none.
func (s *Settings) DiscordToken() (string, error) {
	return s.secret(s.Discord.Token, discordTokenVariable)
}

// SlackTokens returns the two tokens of the Slack app; "" if both are missing, an error if one is.
func (s *Settings) SlackTokens() (bot, app string, err error) {
	bot, errBot := s.secret(s.Slack.BotToken, slackBotVariable)
	app, errApp := s.secret(s.Slack.AppToken, slackAppVariable)
	if err := errors.Join(errBot, errApp); err != nil || bot == "" && app == "" {
		return "", "", err
	}
	if bot == "" || app == "" {
		return "", "", fmt.Errorf("slack needs two tokens and has one: set %s and %s, or both under [slack]", slackBotVariable, slackAppVariable)
	}
	return bot, app, nil
}

// Secrets returns every readable secret of the settings and the environment.
func (s *Settings) Secrets() (all []string) {
	for _, variable := range []string{discordTokenVariable, slackBotVariable, slackAppVariable, webTokenVariable, passwordVariable, OpenAI.Key, Anthropic.Key} {
		all = append(all, fromEnvironment(variable))
	}
	settings := flatten(s)
	if s.Store != "" {
		all = append(all, s.storePassword())
		delete(settings, "store") // the rest of the address is no secret
	}
	settings["environment"] = []string{os.Getenv(OpenAI.URL), os.Getenv(Anthropic.URL)}
	for key, value := range settings {
		texts, _ := value.([]string)
		if one, is := value.(string); is {
			texts = []string{one}
		}
		for _, text := range texts {
			plain := base(key) == "api_key" || key == "hooks.secret" || strings.HasPrefix(key, "tools.") && strings.Contains(key, ".headers.")
			if plain || strings.HasPrefix(text, "file:") || strings.HasPrefix(text, "env:") {
				secret, _, _ := s.Resolve(text) // the error is reported where the secret is used
				all = append(all, secret)
			}
			if u, err := url.Parse(text); err == nil && u.User != nil {
				password, _ := u.User.Password()
				all = append(all, cmp.Or(password, u.User.Username()))
			}
		}
	}
	return all
}

// maxFile is the size limit of such a file, in bytes.
const maxFile = 1 << 20

// MaxPrompt is the size limit of a prompt_file, in bytes: about 4 000 tokens.
const MaxPrompt = 16 << 10

// ReadFile reads a regular file of at most 1 MB. It refuses anything else before opening it,
// because reading a pipe would block and a device might never end.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than 1 MB", path)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err // which editors on Windows write
}

// ReadPrompt reads a prompt_file. It returns an error if the file is empty or too large.
func ReadPrompt(path string) (string, error) {
	text, err := ReadFile(path)
	switch {
	case err != nil:
		return "", err
	case len(text) > MaxPrompt:
		return "", fmt.Errorf("it has %d bytes; the limit is %d", len(text), MaxPrompt)
	case strings.TrimSpace(string(text)) == "":
		return "", errors.New("it is empty")
	}
	return string(text), nil
}
