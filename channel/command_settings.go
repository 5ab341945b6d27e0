package channel

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// /settings: how this conversation is compacted, and why.

const (
	settingsTable = "compaction." // before each key, as in the file
	resetValue    = "default"     // as a value: restores what applies below this layer
	maxValue      = 1000          // characters of a value
)

// fileOnly are the settings that cost the owner's money or read the owner's files: only the
// settings file may set them.
var fileOnly = []string{"model", "worker_reasoning", "prompt_file"}

// harmless are the settings that cannot cost anything. In a direct message everyone has management
// rights: there a stranger may set these and no others.
var harmless = []string{"notify", "focus"}

func runSettings(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	setting := args
	if end := strings.IndexAny(args, " \t\n="); end >= 0 { // "KEY = VALUE" is how the file has it, and how lists show it
		setting = args[:end]
	}
	key := strings.TrimPrefix(strings.ToLower(setting), settingsTable)
	value := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(args[len(setting):]), "="))
	if key != "" && !slices.Contains(compactor.Keys(), key) {
		return Answer{}, errPeople(unknownSetting(key))
	}
	if value != "" {
		if place := ParsePlace(c.name); place.Direct() && !c.hub.access(place).names(who) && !slices.Contains(harmless, key) {
			return Answer{}, errPeople(fmt.Sprintf("In a direct message you may set %s. Only the owners and managers named in my settings file may change the rest.", strings.Join(harmless, " and ")))
		}
		if err := c.override(ctx, agent, who, key, value); err != nil {
			return Answer{}, err
		}
	}
	shown, err := effective(ctx, c.records, agent)
	if err != nil {
		return Answer{}, err
	}
	switch {
	case value != "":
		return Answer{Text: c.sayf("From now on: %s", shown.line(key))}, nil
	case key != "":
		return Answer{Text: shown.line(key)}, nil
	}
	answer := Answer{Text: c.sayf("How this conversation is compacted, and where each value comes from. `/settings %sKEY VALUE` changes one here, `/settings %sKEY %s` resets it.", settingsTable, settingsTable, resetValue)}
	for _, e := range shown.left {
		answer.Text += "\nIgnored, because it conflicts with the settings file: " + e.Error()
	}
	for _, key := range compactor.Keys() {
		answer.Items = append(answer.Items, shown.line(key))
	}
	return answer, nil
}

func unknownSetting(key string) string {
	return (&compactor.FieldError{Key: strings.ToValidUTF8(key, "?"), Hint: compactor.DidYouMean(key, compactor.Keys())}).Error()
}

// override sets a value for the conversation or removes it, if the resulting settings make a valid
// policy; otherwise nothing changes.
func (c *conversation) override(ctx context.Context, agent Agent, who Person, key, value string) error {
	to := &value
	if strings.EqualFold(value, resetValue) {
		to = nil
	}
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	err := c.hub.override(ctx, c.records, agent.Policy(), map[string]*string{key: to}, who.Name)
	if err == nil {
		c.log.Info("channel_setting_changed", "setting", settingsTable+key, "taken_back", to == nil, "by", who.ID)
	}
	return err
}

// override sets values for a conversation or removes them, if the resulting settings make a valid
// policy; otherwise nothing changes.
func (h *Hub) override(ctx context.Context, records *store.Conversation, file compactor.Policy, values map[string]*string, by string) error {
	for key, value := range values {
		if !slices.Contains(compactor.Keys(), key) {
			return errPeople(unknownSetting(key))
		}
		if slices.Contains(fileOnly, key) {
			return errPeople(fmt.Sprintf("Only the bot's operator can set %s, in the settings file.", key))
		}
		if value != nil && len([]rune(*value)) > maxValue {
			return errPeople(fmt.Sprintf("%s: must be at most %d characters", key, maxValue))
		}
	}
	err := records.Settings().OverrideAll(ctx, values, by, func(set map[string]string) error {
		others := maps.Clone(set)
		maps.DeleteFunc(others, func(key, _ string) bool { _, changes := values[key]; return changes })
		_, left := compactor.Patch(others).Fit(file) // these are ignored at the moment, and must not block the change
		for _, e := range left {
			delete(set, e.Key)
		}
		policy, wrong := compactor.Patch(set).Over(file)
		if wrong = append(wrong, policy.Validate()...); len(wrong) > 0 {
			return errPeople(fmt.Sprintf("Nothing was changed. %s", wrong[0]))
		}
		return nil
	})
	if err == nil {
		h.post(records.Name(), (*conversation).settingsChanged)
		h.postThreads(records.Name(), (*conversation).settingsChanged)
	}
	return err
}

// shownSettings is a conversation's policy as people see it, and where its values are set.
type shownSettings struct {
	agent   Agent
	policy  compactor.Policy
	follows bool                      // nothing sets prepare_threshold
	set     map[string]store.Override // here or in the channel above
	left    []*compactor.FieldError
}

func effective(ctx context.Context, records *store.Conversation, agent Agent) (s shownSettings, err error) {
	set, err := records.Settings().Set(ctx)
	if err != nil {
		return s, err
	}
	s = shownSettings{agent: agent, set: make(map[string]store.Override)}
	s.policy, s.left = compactor.Patch(store.PatchOf(set)).Fit(agent.Policy())
	for _, o := range set {
		s.set[o.Key] = o
	}
	for _, e := range s.left {
		delete(s.set, e.Key)
	}
	s.follows = s.policy.PrepareThreshold < 0
	s.policy = shownPolicy(s.policy)
	return s, nil
}

// shownPolicy returns a policy with the share of the window in place of "follows
// background_threshold", and without the folder of its prompt file, which is not for people in a chat.
func shownPolicy(p compactor.Policy) compactor.Policy {
	p.PrepareThreshold = math.Round(p.Prepare()*1e4) / 1e4
	if p.PromptFile != "" {
		p.PromptFile = filepath.Base(p.PromptFile)
	}
	return p
}

// line formats a setting for people: "compaction.keep_first = 0 (set here by Ada)".
func (s shownSettings) line(key string) string {
	value := s.policy.Value(key)
	switch key {
	case "model", "strategy", "worker_reasoning", "prompt_file", "focus", "notify":
		value = fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%s%s = %s (%s)", settingsTable, key, value, s.origin(key))
}

// origin describes where a value is set.
func (s shownSettings) origin(key string) string {
	if key == "prepare_threshold" && s.follows {
		return "follows background_threshold"
	}
	o, here := s.set[key]
	switch {
	case !here && s.agent.Origin != nil && s.agent.Origin(key) != "":
		return s.agent.Origin(key)
	case !here:
		return "built in"
	}
	origin := "set here"
	if o.Above {
		origin = "set in the channel"
	}
	if o.By != "" {
		origin += " by " + chat.OneLine(o.By)
	}
	return origin
}

// suggestSettings offers the keys that contain what was typed.
func suggestSettings(_ context.Context, _ *store.Conversation, typed string) (all []Choice, err error) {
	for _, key := range compactor.Keys() {
		if key = settingsTable + key; strings.Contains(key, strings.ToLower(typed)) && !slices.Contains(fileOnly, strings.TrimPrefix(key, settingsTable)) {
			all = append(all, Choice{Label: key, Value: key})
		}
	}
	return all[:min(len(all), maxChoices)], nil
}
