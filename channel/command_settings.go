package channel

import (
	"cmp"
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

// fileOnly are settings that cost the owner's money or read the owner's files: only the file may set them.
var fileOnly = []string{"model", "worker_reasoning", "prompt_file"}

// harmless are the settings that cannot cost anything: all that a stranger may set in a direct message, where everyone
// has management rights.
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
		if !c.hub.access.Rules().Trusts(c.name, who) && !slices.Contains(harmless, key) {
			return Answer{}, errPeople(fmt.Sprintf("In a direct message you may set %s. Only the owners and managers named in my settings file may change other settings.", strings.Join(harmless, " and ")))
		}
		text := value
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			text = value[1 : n-1]
		}
		to := &text
		if strings.EqualFold(value, resetValue) {
			to = nil
		}
		if err := c.hub.override(ctx, c.records, agent.Policy(), map[string]*string{key: to}, who); err != nil {
			return Answer{}, err
		}
		c.log.Info("channel_setting_changed", "setting", settingsTable+key, "taken_back", to == nil, "by", who.ID)
	}
	all, left, err := settingsOf(ctx, c.records, agent)
	answer := Answer{Text: c.sayf("How this conversation is compacted, and where each value comes from. `/settings %sKEY VALUE` changes one here, `/settings %sKEY %s` resets it.", settingsTable, settingsTable, resetValue)}
	for _, e := range left {
		answer.Text += "\n" + c.sayf("Ignored, because it conflicts with the settings file: %s", c.translated(e.Error()))
	}
	for _, s := range all {
		switch {
		case s.Key == key && value != "":
			return Answer{Text: c.sayf("From now on: %s", s.in(c.language()))}, err
		case s.Key == key:
			return Answer{Text: s.in(c.language())}, err
		}
		answer.Items = append(answer.Items, s.in(c.language()))
	}
	return answer, err
}

func unknownSetting(key string) string {
	return (&compactor.FieldError{Key: strings.ToValidUTF8(key, "?"), Hint: compactor.DidYouMean(key, compactor.Keys())}).Error()
}

// override sets or removes values for a conversation: all of them or, if the policy became invalid, none.
func (h *Hub) override(ctx context.Context, records *store.Conversation, file compactor.Policy, values map[string]*string, by Person) error {
	for key, value := range values {
		switch {
		case !slices.Contains(compactor.Keys(), key):
			return errPeople(unknownSetting(key))
		case slices.Contains(fileOnly, key):
			return errPeople(fmt.Sprintf("Only the bot's operator can set %s, in the settings file.", key))
		case value != nil && len([]rune(*value)) > maxValue:
			return errPeople(fmt.Sprintf("%s: must be at most %d characters", key, maxValue))
		}
	}
	err := records.Settings().OverrideAll(ctx, values, by.Typist(), func(set map[string]string) error {
		others := maps.Clone(set)
		maps.DeleteFunc(others, func(key, _ string) bool { _, changes := values[key]; return changes })
		_, left := compactor.Patch(others).Fit(file) // these are ignored at the moment, and must not block the change
		for _, e := range left {
			delete(set, e.Key)
		}
		policy, wrong := compactor.Patch(set).Over(file)
		wrong = append(wrong, policy.Validate()...)
		if len(wrong) > 0 {
			return errPeople(fmt.Sprintf("Nothing was changed. %s", wrong[0]))
		}
		return nil
	})
	if err == nil {
		h.rereadSettings(records)
	}
	return err
}

// rereadSettings has a conversation and its threads read what people set for it.
func (h *Hub) rereadSettings(records *store.Conversation) {
	h.post(records.Name(), (*conversation).settingsChanged)
	h.postThreads(records.Name(), (*conversation).settingsChanged)
}

// Setting is one value that controls how a conversation is compacted.
type Setting struct {
	Key      string `json:"key"`
	Value    any    `json:"value"`
	Origin   string `json:"origin"`   // where it is set: "built in", "config.toml:12", "set here by Ada"
	Here     bool   `json:"set_here"` // it is set for this conversation, and null removes it
	Settable bool   `json:"settable"` // false: only the settings file may set it

	text string // the value as in the settings file, without quotes
}

// in formats a setting for people, in a language: "compaction.keep_first = 0 (set here by Ada)".
func (s Setting) in(language string) string {
	switch s.Key {
	case "model", "strategy", "worker_reasoning", "prompt_file", "focus", "notify":
		s.text = fmt.Sprintf("%q", s.text)
	}
	return fmt.Sprintf("%s%s = %s (%s)", settingsTable, s.Key, s.text, Translated(language, s.Origin))
}

// settingsOf returns the values a conversation is compacted by, in the order of compactor.Keys, and those set
// for it that conflict with the settings file and are ignored.
func settingsOf(ctx context.Context, records *store.Conversation, agent Agent) (all []Setting, left []*compactor.FieldError, err error) {
	set, err := records.Settings().Set(ctx)
	if err != nil {
		return nil, nil, err
	}
	policy, left := compactor.Patch(store.PatchOf(set)).Fit(agent.Policy())
	follows := policy.PrepareThreshold < 0
	policy = shownPolicy(policy)
	for _, key := range compactor.Keys() {
		s := Setting{Key: key, Value: policy.Get(key), Origin: "built in", Settable: !slices.Contains(fileOnly, key), text: policy.Value(key)}
		if agent.Origin != nil {
			s.Origin = cmp.Or(agent.Origin(key), s.Origin)
		}
		for _, o := range set {
			if o.Key != key || slices.ContainsFunc(left, func(e *compactor.FieldError) bool { return e.Key == key }) {
				continue
			}
			s.Here = !o.Above
			s.Origin = "set here"
			if o.Above {
				s.Origin = "set in the channel"
			}
			if o.By != "" {
				s.Origin += " by " + chat.OneLine(o.By)
			}
		}
		if key == "prepare_threshold" && follows {
			s.Origin = "follows background_threshold"
		}
		all = append(all, s)
	}
	return all, left, nil
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

func suggestSettings(_ context.Context, _ *store.Conversation, typed string) (all []Choice, err error) {
	for _, key := range compactor.Keys() {
		key = settingsTable + key
		if strings.Contains(key, strings.ToLower(typed)) && !slices.Contains(fileOnly, strings.TrimPrefix(key, settingsTable)) {
			all = append(all, Choice{Label: key, Value: key})
		}
	}
	return all[:min(len(all), maxChoices)], nil
}

// runTools lists the tools of other programs, or gives the conversation those of a server.
func runTools(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	agent, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	rules, err := c.records.Settings().Tools(ctx)
	if err != nil {
		return Answer{}, err
	}
	var servers []ToolServer
	if agent.Toolbox != nil {
		servers = agent.Toolbox.Servers()
	}
	if verb, id, _ := strings.Cut(args, " "); verb != "" {
		if !c.hub.access.Rules().Trusts(c.name, who) {
			return Answer{}, errDenied("In a direct message, the owners and managers named in my settings file decide which tools I have.")
		}
		if err := c.changeTools(ctx, servers, &rules, who, strings.ToLower(verb), strings.TrimSpace(id)); err != nil {
			return Answer{}, err
		}
	}
	if len(servers) == 0 {
		return Answer{Text: "There are no external tools: my settings file lists none."}, nil
	}
	answer := Answer{Text: c.spell("External tools. `/tools add NAME` adds them to this conversation, `/tools remove NAME` removes them.")}
	for _, s := range servers {
		state := c.sayf("not here")
		if slices.Contains(agent.ToolServers, s.ID) {
			state = c.sayf("by the settings file")
		} else if slices.Contains(rules.Added, s.ID) {
			state = c.sayf("added here")
		}
		if s.Problem != "" {
			s.Problem = c.sayf("; it cannot be reached: %s", s.Problem)
		}
		answer.Items = append(answer.Items, fmt.Sprintf("%s (%s): %s%s", s.ID, state, strings.Join(s.Tools, ", "), s.Problem))
	}
	return answer, nil
}

// changeTools adds a server to the conversation's servers, or removes one.
func (c *conversation) changeTools(ctx context.Context, servers []ToolServer, rules *store.ToolRules, who Person, verb, id string) error {
	known := slices.ContainsFunc(servers, func(s ToolServer) bool { return s.ID == id })
	added := slices.Index(rules.Added, id)
	switch {
	case verb == "add" && !known:
		return errPeople(c.translated(fmt.Sprintf("There are no tools named %q.", id)) + c.sayf(" /tools lists them."))
	case verb == "add" && added < 0:
		rules.Added = append(rules.Added, id)
	case verb == "remove" && added >= 0:
		rules.Added = slices.Delete(rules.Added, added, added+1)
	case verb == "remove":
		return errPeople(fmt.Sprintf("%q was not added here.", id))
	case verb != "add":
		return errPeople(c.spell("Use /tools add NAME or /tools remove NAME."))
	}
	if err := c.records.Settings().SetTools(ctx, *rules, who.Typist()); err != nil {
		return err
	}
	c.log.Info("channel_tools_changed", "server", id, "change", verb, "by", who.ID)
	c.inbox.post(c.reread)
	c.hub.postThreads(c.name, (*conversation).reread)
	return nil
}
