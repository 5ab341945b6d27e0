package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/compactor"
)

// TestReadme holds what README.md shows against what the program has.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(readme)
	t.Run("its commands are those that are declared, in their order and words", func(t *testing.T) {
		var want []string
		for _, c := range channel.Commands {
			usage, who, seen := c.Name, "all", "you"
			for _, a := range c.Args {
				if a.Required {
					usage += " " + a.Name
				} else {
					usage += " [" + a.Name + "]"
				}
			}
			if c.Restricted {
				who = "managers"
			}
			if c.Public {
				seen = "all"
			}
			want = append(want, fmt.Sprintf("| `/%s` | %s | %s | %s |", usage, c.Help, who, seen))
		}
		var got []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "| `/") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("it shows\n%s\nthere are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	t.Run("its Slack manifest is the one that was tried", func(t *testing.T) {
		manifest, err := os.ReadFile("../../slack/manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, indented("```json\n"+strings.TrimSpace(string(manifest))+"\n```")) {
			t.Error("it shows another one than slack/manifest.json")
		}
	})
	t.Run("its invitation to Discord asks for the permissions that it names", func(t *testing.T) {
		named := map[string]int64{
			"View Channels": discordgo.PermissionViewChannel, "Send Messages": discordgo.PermissionSendMessages,
			"Send Messages in Threads": discordgo.PermissionSendMessagesInThreads, "Read Message History": discordgo.PermissionReadMessageHistory,
			"Add Reactions": discordgo.PermissionAddReactions,
		}
		var want int64
		for name, bit := range named {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), name) {
				t.Errorf("it does not name %s", name)
			}
			want |= bit
		}
		number := regexp.MustCompile(`scope=bot%20applications\.commands&permissions=(\d+)\n`).FindStringSubmatch(text)
		if number == nil || number[1] != strconv.FormatInt(want, 10) {
			t.Errorf("it asks for %q, want %d", number, want)
		}
	})
}

// indented is text as it stands under an item of a list.
func indented(text string) string {
	return "   " + strings.ReplaceAll(text, "\n", "\n   ")
}

// TestReadmeShowsThePolicy holds README.md's table to the fields of the policy, their
// defaults, and the words with which Validate refuses what cannot be.
func TestReadmeShowsThePolicy(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	usual := compactor.DefaultPolicy()
	for _, key := range compactor.Keys() {
		shown := strings.TrimSuffix(usual.Value(key), "0s") // of 5m0s
		must := "a text"
		switch key {
		case "enabled", "economy", "extract_memories":
			must = "true or false"
		case "prepare_threshold":
			shown = "0.6, or 0.75 × background_threshold if that is less"
		case "model", "focus", "prompt_file":
			shown = "(empty)"
		}
		for _, impossible := range []string{"-3", "-1s", "nonsense"} {
			p, unread := compactor.Patch{key: impossible}.Over(usual)
			if faults := p.Validate(); len(unread) == 0 && len(faults) > 0 {
				must = strings.ReplaceAll(faults[0].Want, " (0.8)", "")
				break
			}
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", key, shown, must))
	}
	var got []string
	for line := range strings.Lines(string(readme)) {
		if slices.ContainsFunc(compactor.Keys(), func(key string) bool { return strings.HasPrefix(line, "| `"+key+"` |") }) {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("it shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
