package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/compactor"
	"cairn/store"
)

// /settings: how this conversation is compacted, and why.

const (
	resetValue = "default" // as a value: restores what applies below this layer
	maxValue   = 1000      // characters of a value
)

// harmless are the settings that cannot cost anything: all that a stranger may set in a direct message, where everyone
// has management rights.
var harmless = []string{"notify", "focus"}

func runSettings(ctx context.Context, c *Call) (Answer, error) {
	setup, err := c.Conversation.Setup(ctx)
	if err != nil {
		return Answer{}, err
	}
	asked := settingsIn(c.Args)
	values := make(map[string]string) // the new ones, by key
	for _, one := range asked {
		key, value := cutSetting(one)
		if key != "" && !slices.Contains(compactor.Keys(), key) {
			return Answer{}, sentences.NewProblem(unknownSetting(key))
		}
		if value != "" {
			values[key] = value
		}
	}
	if len(values) > 0 {
		if err := set(ctx, c, setup.Policy, values); err != nil {
			return Answer{}, err
		}
	}
	all, ignored, err := report.ReadSettings(ctx, c.Records, setup.Policy, setup.Origin)
	var lines []string
	for _, one := range asked {
		key, value := cutSetting(one)
		i := slices.IndexFunc(all, func(s report.Setting) bool { return s.Key == key })
		switch {
		case i < 0:
		case value != "":
			lines = append(lines, c.Speaker.Sayf("From now on: %s", all[i].Text(c.Speaker)))
		default:
			lines = append(lines, all[i].Text(c.Speaker))
		}
	}
	if len(lines) > 0 {
		return Answer{Text: strings.Join(lines, "\n")}, err
	}
	answer := Answer{Text: c.Speaker.Sayf("How this conversation is compacted, and where each value comes from. `/settings %sKEY VALUE` changes one here, `/settings %sKEY %s` resets it.", report.SettingsTable, report.SettingsTable, resetValue)}
	for _, e := range ignored {
		answer.Text += "\n" + c.Speaker.Sayf("Ignored, because it conflicts with the settings file: %s", c.Speaker.Translate(e.Error()))
	}
	for _, s := range all {
		answer.Items = append(answer.Items, s.Text(c.Speaker))
	}
	return answer, err
}

// Assignment returns a line of arguments of /settings that sets a value, or resets it if it is empty. There may be several such lines, of
// which all take effect or none.
func Assignment(key, value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if value == "" {
		return report.SettingsTable + key + " = " + resetValue
	}
	return report.SettingsTable + key + ` = "` + value + `"`
}

// settingsIn splits the arguments into one text for each setting: each but the first begins a line.
func settingsIn(args string) (all []string) {
	for line := range strings.SplitSeq(args, "\n") {
		if len(all) == 0 || strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), report.SettingsTable) {
			all = append(all, strings.TrimSpace(line))
			continue
		}
		all[len(all)-1] += "\n" + line
	}
	return all
}

// cutSetting splits "compaction.KEY VALUE"; "KEY = VALUE" is how the settings file has it, and how lists show it.
func cutSetting(args string) (key, value string) {
	setting := args
	if end := strings.IndexAny(args, " \t\n="); end >= 0 {
		setting = args[:end]
	}
	key = strings.TrimPrefix(strings.ToLower(setting), report.SettingsTable)
	value = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(args[len(setting):]), "="))
	return key, value
}

// set sets values for the conversation, or resets them: all or, if one is invalid, none.
func set(ctx context.Context, c *Call, file compactor.Policy, values map[string]string) error {
	to := make(map[string]*string, len(values))
	for key, value := range values {
		if !c.Rules.Trusts(c.Records.Name(), c.Who) && !slices.Contains(harmless, key) {
			return sentences.NewProblem(fmt.Sprintf("In a direct message you may set %s. Only the owners and managers named in my settings file may change other settings.", strings.Join(harmless, " and ")))
		}
		text := value
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			text = value[1 : n-1]
		}
		to[key] = &text
		if strings.EqualFold(value, resetValue) {
			to[key] = nil
		}
	}
	if err := Override(ctx, c.Records, file, to, c.Who); err != nil {
		return err
	}
	c.Conversation.SettingsChanged()
	for _, key := range slices.Sorted(maps.Keys(to)) {
		c.Log.Info("channel_setting_changed", "setting", report.SettingsTable+key, "taken_back", to[key] == nil, "by", c.Who.ID)
	}
	return nil
}

func unknownSetting(key string) string {
	return (&compactor.FieldError{Key: strings.ToValidUTF8(key, "?"), Hint: compactor.DidYouMean(key, compactor.Keys())}).Error()
}

// Override sets values for a conversation above the policy in the settings file, and removes those that are nil: all of them or,
// if the policy became invalid, none. Its error is a sentences.Problem if the values are at fault. The conversation does not
// notice the change by itself.
func Override(ctx context.Context, records *store.Conversation, file compactor.Policy, values map[string]*string, by access.Person) error {
	for key, value := range values {
		switch {
		case !slices.Contains(compactor.Keys(), key):
			return sentences.NewProblem(unknownSetting(key))
		case !report.Settable(key):
			return sentences.NewProblem(fmt.Sprintf("Only the bot's operator can set %s, in the settings file.", key))
		case value != nil && len([]rune(*value)) > maxValue:
			return sentences.Problem{Text: fmt.Sprintf("%s: must be at most %d characters", key, maxValue), Setting: key}
		}
	}
	return records.Settings().OverrideAll(ctx, values, by.Typist(), func(set map[string]string) error {
		others := maps.Clone(set)
		maps.DeleteFunc(others, func(key, _ string) bool { _, changes := values[key]; return changes })
		_, ignored := compactor.Patch(others).Fit(file) // these must not block the change
		for _, e := range ignored {
			delete(set, e.Key)
		}
		policy, wrong := compactor.Patch(set).Over(file)
		wrong = append(wrong, policy.Validate()...)
		if len(wrong) > 0 {
			return sentences.Problem{Text: fmt.Sprintf("Nothing was changed. %s", wrong[0]), Setting: wrong[0].Key}
		}
		return nil
	})
}

func suggestSettings(_ context.Context, typing Typing) (all []Choice, err error) {
	for _, key := range compactor.Keys() {
		name := report.SettingsTable + key
		if strings.Contains(name, strings.ToLower(typing.Text)) && report.Settable(key) {
			all = append(all, Choice{Label: name, Value: name})
		}
	}
	return all[:min(len(all), maxChoices)], nil
}
