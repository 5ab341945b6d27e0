// How a conversation is compacted, and where each value is set.

package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// SettingsTable is before the key of a setting, as in the settings file.
const SettingsTable = "compaction."

// Setting is one value that controls how a conversation is compacted.
type Setting struct {
	Key      string `json:"key"`
	Value    any    `json:"value"`
	Origin   string `json:"origin"`   // where it is set: "built in", "config.toml:12", "set here by Ada"
	Here     bool   `json:"set_here"` // it is set for this conversation, and null removes it
	Settable bool   `json:"settable"` // false: only the settings file may set it

	text string // the value as in the settings file, without quotes
}

// Text formats a setting: "compaction.keep_first = 0 (set here by Ada)".
func (s Setting) Text(speaker sentences.Speaker) string {
	text := s.text
	switch s.Key {
	case "model", "strategy", "worker_reasoning", "prompt_file", "focus", "notify":
		text = fmt.Sprintf("%q", s.text)
	}
	return fmt.Sprintf("%s%s = %s (%s)", SettingsTable, s.Key, text, speaker.Translate(s.Origin))
}

// SetHere returns the value that is set for the conversation, as in the settings file, without quotes; "" if none is.
func (s Setting) SetHere() string {
	if !s.Here {
		return ""
	}
	return s.text
}

// IsDefault reports whether the value is the built-in one, wherever it is set.
func (s Setting) IsDefault() bool { return s.text == shown(compactor.DefaultPolicy()).Value(s.Key) }

// fileOnly are settings that cost the owner's money or read the owner's files.
var fileOnly = []string{"model", "worker_reasoning", "prompt_file"}

// Settable reports whether people may set a key for a conversation. Only the settings file may set the others.
func Settable(key string) bool { return !slices.Contains(fileOnly, key) }

// ReadSettings returns the values that a conversation is compacted by, in the order of compactor.Keys, and those set for it that
// conflict with the settings file and are ignored. file is the policy in the file, and origin says where the file sets a key,
// "" if it does not; a nil origin knows of none.
func ReadSettings(
	ctx context.Context, records *store.Conversation, file compactor.Policy, origin func(key string) string,
) (all []Setting, ignored []*compactor.FieldError, err error) {
	set, err := records.Settings().Set(ctx)
	if err != nil {
		return nil, nil, err
	}
	policy, ignored := compactor.Patch(store.PatchOf(set)).Fit(file)
	follows := policy.PrepareThreshold < 0
	policy = shown(policy)
	for _, key := range compactor.Keys() {
		s := Setting{Key: key, Value: policy.Get(key), Origin: "built in", Settable: Settable(key), text: policy.Value(key)}
		if origin != nil {
			s.Origin = cmp.Or(origin(key), s.Origin)
		}
		for _, o := range set {
			if o.Key != key || slices.ContainsFunc(ignored, func(e *compactor.FieldError) bool { return e.Key == key }) {
				continue
			}
			s.Here = !o.Above
			s.Origin = originOf(o)
		}
		if key == "prepare_threshold" && follows {
			s.Origin = "follows background_threshold"
		}
		all = append(all, s)
	}
	return all, ignored, nil
}

// originOf says who set a value, and where.
func originOf(o store.Override) string {
	origin := "set here"
	if o.Above {
		origin = "set in the channel"
	}
	if o.By != "" {
		origin += " by " + chat.OneLine(o.By)
	}
	return origin
}

// shown returns a policy with the share of the window in place of "follows background_threshold".
// It lacks the folder of its prompt file, which is not for people in a chat.
func shown(p compactor.Policy) compactor.Policy {
	p.PrepareThreshold = math.Round(p.Prepare()*1e4) / 1e4
	if p.PromptFile != "" {
		p.PromptFile = filepath.Base(p.PromptFile)
	}
	return p
}

// PatchOf reads settings that apply to one task, one message or one compaction, in JSON form. It
// refuses settings that only the settings file may have, and values that are never valid.
func PatchOf(settings map[string]any) (compactor.Patch, error) {
	patch := compactor.Patch{}
	for key, value := range settings {
		if !Settable(key) {
			return nil, sentences.NewProblem(fmt.Sprintf("compaction.%s is set in the settings file only.", key))
		}
		switch v := value.(type) {
		case string, bool:
			patch[key] = fmt.Sprint(v)
		case float64:
			patch[key] = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return nil, sentences.NewProblem(fmt.Sprintf("compaction.%s must be a text, a number, or true or false.", key))
		}
	}
	alone, wrong := patch.Over(compactor.DefaultPolicy())
	for _, e := range alone.Validate() {
		if _, given := patch[e.Key]; given && !strings.Contains(e.Want, "_threshold") { // with the other settings it may be valid
			wrong = append(wrong, e)
		}
	}
	if len(wrong) > 0 {
		return nil, sentences.NewProblem("compaction: " + wrong[0].Error())
	}
	return patch, nil
}
