package web

import (
	"slices"
	"testing"

	"cairn/testkit/check"
)

// Each setting is in one group, so that the page shows it once.
func TestSettingGroups(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.say(garden, "Hello")
	var known, grouped []string
	for _, s := range get[settingsAnswer](r, at(garden, "/settings")).Settings {
		known = append(known, s.Key)
	}
	for _, group := range settingGroups {
		grouped = append(grouped, group.keys...)
	}
	check.EqualAll(t, "the settings in groups", slices.Sorted(slices.Values(grouped)), slices.Sorted(slices.Values(known)))
}
