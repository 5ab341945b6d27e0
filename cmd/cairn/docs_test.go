// The documentation, compared with what the program has.

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/check"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/compactor"
)

// pages returns all pages for people, by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files := check.Must(filepath.Glob(checkout + "/docs/*.md"))(t)
	all := map[string]string{}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"} {
		all[name] = read(t, checkout+"/"+name)
	}
	for _, file := range files {
		all["docs/"+filepath.Base(file)] = read(t, file)
	}
	return all
}

// lengths are the largest line counts of pages that must stay short.
var lengths = map[string]int{"README.md": 160, "ARCHITECTURE.md": 200}

func TestPagesStayShort(t *testing.T) {
	for name, most := range lengths {
		if n := strings.Count(read(t, checkout+"/"+name), "\n"); n > most {
			t.Errorf("%s has %d lines, want at most %d", name, n, most)
		}
	}
}

func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	all := pages(t)
	for name, text := range all {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := name
			if target != "" {
				file = filepath.Join(filepath.Dir(name), target)
			}
			if _, err := os.Stat(checkout + "/" + file); err != nil {
				t.Errorf("%s links to %s: %v", name, found[1], err)
			} else if anchor != "" && !slices.Contains(anchors(all[file]), anchor) {
				t.Errorf("%s links to %s, %s has %q", name, found[1], file, anchors(all[file]))
			}
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !strings.Contains(all["README.md"], name) {
			t.Errorf("README.md does not link to %s", name)
		}
	}
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) (all []string) {
	dropped := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for line := range strings.Lines(text) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-"))
		}
	}
	return all
}

func TestCommandsPage(t *testing.T) {
	var want []string
	for _, c := range channel.Commands {
		who, seen := "all", "you"
		if c.Restricted || c.Guarded {
			who = "managers"
		}
		if c.Public {
			seen = "all"
		}
		want = append(want, fmt.Sprintf("| `/%s` | %s | %s | %s |", c.Usage(), c.Help, who, seen))
	}
	table, _, _ := strings.Cut(read(t, checkout+"/docs/commands.md"), "\n## ")
	var got []string
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| `/") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/commands.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestShellCommandsPage(t *testing.T) {
	page := read(t, checkout+"/docs/cli.md")
	for _, cmd := range newRoot(&app{}).Commands() {
		if name := cmd.Name(); !cmd.Hidden && name != "help" && name != "completion" && !strings.Contains(page, "`cairn "+name) {
			t.Errorf("docs/cli.md does not show cairn %s", name)
		}
	}
	commands, flags := regexp.MustCompile("`cairn ([a-z]+(?: [a-z]+)?)"), regexp.MustCompile("--([a-z-]+)")
	for row := range strings.Lines(page) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(row, `\|`, " "), "| "), " | ")
		for _, flag := range flags.FindAllStringSubmatch(cell, -1) {
			named := commands.FindAllStringSubmatch(cell, -1)
			if len(named) > 0 && !slices.ContainsFunc(named, func(name []string) bool {
				cmd, _, err := newRoot(&app{}).Find(strings.Fields(name[1]))
				return err == nil && cmd.InheritedFlags().Lookup(flag[1]) != nil || cmd.Flag(flag[1]) != nil
			}) {
				t.Errorf("docs/cli.md shows --%s, which none of %q has", flag[1], named)
			}
		}
	}
}

// TestPagesNameRealCommands looks at `cairn NAME` and "$ cairn NAME" in every page, and at
// `/name` in README and docs/commands.md.
func TestPagesNameRealCommands(t *testing.T) {
	shell := regexp.MustCompile("(?m)(?:`|^\\$ |^(?:\\./)?|\\./)cairn ([a-z]+)")
	slash := regexp.MustCompile("`/([a-z]+)[ `]")
	root := newRoot(&app{})
	for name, text := range pages(t) {
		for _, found := range shell.FindAllStringSubmatch(text, -1) {
			if cmd, _, err := root.Find([]string{found[1]}); err != nil || cmd == root {
				t.Errorf("%s names cairn %s, which does not exist", name, found[1])
			}
		}
		if name != "README.md" && name != "docs/commands.md" {
			continue
		}
		for _, found := range slash.FindAllStringSubmatch(text, -1) {
			known := slices.ContainsFunc(channel.Commands, func(c channel.Command) bool { return c.Name == found[1] })
			if typed := []string{"word", "quit", "exit", "cairn"}; !known && !slices.Contains(typed, found[1]) {
				t.Errorf("%s names /%s, which does not exist", name, found[1])
			}
		}
	}
}

func TestDiscordInvitePermissions(t *testing.T) {
	text := read(t, checkout+"/docs/discord.md")
	named := map[string]int64{
		"View Channels": discordgo.PermissionViewChannel, "Send Messages": discordgo.PermissionSendMessages,
		"Send Messages in Threads": discordgo.PermissionSendMessagesInThreads, "Read Message History": discordgo.PermissionReadMessageHistory,
		"Add Reactions": discordgo.PermissionAddReactions,
	}
	var want int64
	for name, bit := range named {
		check.Contains(t, "names", strings.Join(strings.Fields(text), " "), name)
		want |= bit
	}
	number := regexp.MustCompile(`scope=bot%20applications\.commands&permissions=(\d+)\n`).FindStringSubmatch(text)
	check.That(t, number != nil && number[1] == strconv.FormatInt(want, 10), "got permissions %q, want %d", number, want)
}

func TestSlackLinkContainsManifest(t *testing.T) {
	manifest := read(t, checkout+"/deploy/slack-manifest.json")
	var want, got any
	check.NoError(t, json.Unmarshal([]byte(manifest), &want))
	compact := check.Must(json.Marshal(want))(t)
	page := read(t, checkout+"/docs/slack.md")
	link := regexp.MustCompile(`https://api\.slack\.com/apps\?\S+`).FindString(page)
	address := check.Must(url.Parse(link))(t)
	query := address.Query()
	err := json.Unmarshal([]byte(query.Get("manifest_json")), &got)
	if err != nil || query.Get("new_app") != "1" || !reflect.DeepEqual(got, want) {
		t.Errorf("the link in docs/slack.md is not that of deploy/slack-manifest.json (%v); it should be\nhttps://api.slack.com/apps?new_app=1&manifest_json=%s",
			err, strings.ReplaceAll(url.QueryEscape(string(compact)), "+", "%20"))
	}
}

// TestTroubleshootingQuotesTheProgram looks for each quoted message in the sources.
func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	source := productSource(t)
	text, _, _ := strings.Cut(read(t, checkout+"/docs/troubleshooting.md"), "\n## What you notice")
	quoted := 0
	for line := range strings.Lines(text) {
		cell, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !row || !strings.HasPrefix(line, "| ") || cell == "message" || strings.HasPrefix(cell, "exit code") {
			continue
		}
		for part := range strings.FieldsFuncSeq(strings.ReplaceAll(cell, " / ", "…"), func(r rune) bool { return r == '…' }) {
			if quoted++; !strings.Contains(source, strings.TrimSpace(part)) {
				t.Errorf("the sources lack %q", part)
			}
		}
	}
	check.That(t, quoted >= 20, "got only %d messages", quoted)
}

// productSource returns the text of all Go files except tests.
func productSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	check.NoError(t, fs.WalkDir(os.DirFS(checkout), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			all.WriteString(read(t, checkout+"/"+name))
		}
		return err
	}))
	return all.String()
}

func TestStatesAreDocumented(t *testing.T) {
	_, section, _ := strings.Cut(read(t, checkout+"/ARCHITECTURE.md"), "## States of a summary")
	for _, state := range []compactor.RowState{
		compactor.Running, compactor.Prepared, compactor.Applied, compactor.RolledUp, compactor.Replaced, compactor.Undone, compactor.Failed, compactor.Stale,
	} {
		diagram, _, _ := strings.Cut(section, "\n## ")
		check.Contains(t, fmt.Sprintf("ARCHITECTURE.md does not show the state %s of a summary", state), diagram, string(state))
	}
	page := read(t, checkout+"/docs/json-lines.md")
	for _, state := range []compactor.EventState{
		compactor.EventScheduled, compactor.EventStarted, compactor.EventPrepared, compactor.EventApplied, compactor.EventFailed, compactor.EventNoop, compactor.EventUndone,
	} {
		check.Contains(t, fmt.Sprintf("docs/json-lines.md does not name the state %s of a compaction", state), page, string(state))
	}
}
