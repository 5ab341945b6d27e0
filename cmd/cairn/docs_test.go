// The documentation, compared with what the program has.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/channel/command"
	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/connector/discord"
	"cairn/store"
	"cairn/testkit/check"
)

func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		all[name] = read(t, checkout+"/"+name)
	}
	for _, file := range check.Must(filepath.Glob(checkout + "/docs/*.md"))(t) {
		all["docs/"+filepath.Base(file)] = read(t, file)
	}
	return all
}

func TestDocsAreShortAndLinkToWhatExists(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	all := pages(t)
	most := map[string]int{"README.md": 160, "ARCHITECTURE.md": 220}
	for name, text := range all {
		n := strings.Count(text, "\n")
		check.That(t, most[name] == 0 || n <= most[name], "%s has %d lines, want at most %d", name, n, most[name])
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
		check.That(t, !strings.HasPrefix(name, "docs/") || strings.Contains(all["README.md"], name), "README.md does not link to %s", name)
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

func TestDocsListEveryCommand(t *testing.T) {
	var want []string
	for _, c := range command.All {
		who := map[bool]string{true: "managers", false: "all"}[c.Restricted || c.Guarded]
		seen := map[bool]string{true: "all", false: "you"}[c.Public]
		want = append(want, fmt.Sprintf("| `/%s` | %s | %s | %s |", c.Usage(), c.Help, who, seen))
	}
	table, _, _ := strings.Cut(read(t, checkout+"/docs/commands.md"), "\n## ")
	got := regexp.MustCompile("(?m)^\\| `/.*$").FindAllString(table, -1)
	check.Equal(t, "docs/commands.md", strings.Join(got, "\n"), strings.Join(want, "\n"))
	page := read(t, checkout+"/docs/cli.md")
	for _, cmd := range newRoot(&app{}).Commands() {
		if name := cmd.Name(); !cmd.Hidden && name != "help" && name != "completion" {
			check.Contains(t, "docs/cli.md", page, "`cairn "+name)
		}
	}
	commands := regexp.MustCompile("`cairn ([a-z]+(?: [a-z]+)?)")
	flags := regexp.MustCompile("--([a-z-]+)")
	for row := range strings.Lines(page) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(row, `\|`, " "), "| "), " | ")
		named := commands.FindAllStringSubmatch(cell, -1)
		for _, flag := range flags.FindAllStringSubmatch(cell, -1) {
			check.That(t, len(named) == 0 || slices.ContainsFunc(named, func(name []string) bool {
				cmd, _, err := newRoot(&app{}).Find(strings.Fields(name[1]))
				return err == nil && cmd.InheritedFlags().Lookup(flag[1]) != nil || cmd.Flag(flag[1]) != nil
			}), "docs/cli.md shows --%s, which none of %q has", flag[1], named)
		}
	}
}

// TestDocsNameRealCommands looks at `cairn NAME` and "$ cairn NAME" in every page, and at
// `/name` in README and docs/commands.md.
func TestDocsNameRealCommands(t *testing.T) {
	shell := regexp.MustCompile("(?m)(?:`|^\\$ |^(?:\\./)?|\\./)cairn ([a-z]+)")
	slash := regexp.MustCompile("`/([a-z]+)[ `]")
	root := newRoot(&app{})
	for name, text := range pages(t) {
		for _, found := range shell.FindAllStringSubmatch(text, -1) {
			cmd, _, err := root.Find([]string{found[1]})
			check.That(t, err == nil && cmd != root, "%s names cairn %s, which does not exist", name, found[1])
		}
		if name != "README.md" && name != "docs/commands.md" {
			continue
		}
		for _, found := range slash.FindAllStringSubmatch(text, -1) {
			known := slices.ContainsFunc(command.All, func(c command.Command) bool { return c.Name == found[1] }) ||
				slices.Contains([]string{"word", "quit", "exit", "cairn"}, found[1])
			check.That(t, known, "%s names /%s, which does not exist", name, found[1])
		}
	}
}

func TestDocsOfPlatforms(t *testing.T) {
	text := strings.Join(strings.Fields(read(t, checkout+"/docs/discord.md")), " ")
	var want int64
	for name, bit := range map[string]int64{
		"View Channels": discordgo.PermissionViewChannel, "Send Messages": discordgo.PermissionSendMessages,
		"Send Messages in Threads": discordgo.PermissionSendMessagesInThreads, "Read Message History": discordgo.PermissionReadMessageHistory,
		"Add Reactions": discordgo.PermissionAddReactions,
	} {
		check.Contains(t, "docs/discord.md", text, name)
		want |= bit
	}
	check.Contains(t, "docs/discord.md", text, fmt.Sprintf("scope=bot%%20applications.commands&permissions=%d ", want), discord.InviteURL("APPLICATION_ID"))

	var manifest, linked any
	check.NoError(t, json.Unmarshal([]byte(read(t, checkout+"/deploy/slack-manifest.json")), &manifest))
	link := regexp.MustCompile(`https://api\.slack\.com/apps\?\S+`).FindString(read(t, checkout+"/docs/slack.md"))
	query := check.Must(url.Parse(link))(t).Query()
	err := json.Unmarshal([]byte(query.Get("manifest_json")), &linked)
	if err != nil || query.Get("new_app") != "1" || !reflect.DeepEqual(linked, manifest) {
		compact, _ := json.Marshal(manifest)
		t.Errorf("the link in docs/slack.md is not that of deploy/slack-manifest.json (%v); it should be\nhttps://api.slack.com/apps?new_app=1&manifest_json=%s",
			err, strings.ReplaceAll(url.QueryEscape(string(compact)), "+", "%20"))
	}
}

func TestTroubleshootingQuotesTheProgram(t *testing.T) {
	source := productSource(t)
	text, _, _ := strings.Cut(read(t, checkout+"/docs/troubleshooting.md"), "\n## What you notice")
	quoted := 0
	for line := range strings.Lines(text) {
		cell, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !row || !strings.HasPrefix(line, "| ") || cell == "message" || strings.HasPrefix(cell, "exit code") {
			continue
		}
		for part := range strings.SplitSeq(strings.ReplaceAll(cell, " / ", "…"), "…") {
			quoted++
			check.That(t, strings.Contains(source, strings.TrimSpace(part)), "the sources lack %q", part)
		}
	}
	check.That(t, quoted >= 20, "got only %d messages", quoted)
}

func productSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, s := range check.Must(sources())(t) {
		if !isTestFile(s.name) {
			all.WriteString(read(t, filepath.Join(checkout, s.name)))
		}
	}
	return all.String()
}

// TestDocsNameFilesThatExist looks at the Go files in the pages for contributors, which may leave out folders.
func TestDocsNameFilesThatExist(t *testing.T) {
	all := check.Must(sources())(t)
	for _, page := range []string{"ARCHITECTURE.md", "docs/internals.md", "docs/extending.md"} {
		for _, name := range regexp.MustCompile(`\w[\w/]*\.go\b`).FindAllString(read(t, checkout+"/"+page), -1) {
			check.That(t, slices.ContainsFunc(all, func(s goFile) bool { return strings.HasSuffix("/"+s.name, "/"+name) }),
				"%s names %s, which does not exist", page, name)
		}
	}
}

func TestDocsNameEveryStateAndKind(t *testing.T) {
	_, section, _ := strings.Cut(read(t, checkout+"/docs/internals.md"), "## States of a summary")
	diagram, _, _ := strings.Cut(section, "\n## ")
	check.Contains(t, "docs/internals.md", diagram, store.CompactionStates...)
	page := read(t, checkout+"/docs/json-lines.md")
	for _, state := range compactor.EventStates {
		check.Contains(t, "docs/json-lines.md", page, string(state))
	}
	page = read(t, checkout+"/docs/memories.md")
	for _, k := range summarize.MemoryKinds {
		check.Contains(t, "docs/memories.md", page, fmt.Sprintf("| %s | %.1f", k.Name, k.Importance))
	}
}

func fillGarden(t *testing.T) folder {
	t.Helper()
	p := newFolder(t).with("[[agents]]\ncontext_window = 3000\nmax_output_tokens = 200\n")
	p.write("talk.jsonl", read(t, checkout+"/bench/testdata/allotment.jsonl"))
	check.Contains(t, "docs/cli.md", read(t, checkout+"/docs/cli.md"), p.must("", "import", "--channel", "garden", "talk.jsonl"))
	return p
}

// TestDocsShowWhatCommandsPrint compares the documentation with what the commands print about the
// sample conversation, but for times, and runs the queries of docs/queries.md on it.
func TestDocsShowWhatCommandsPrint(t *testing.T) {
	p := fillGarden(t)
	times := regexp.MustCompile(`(saved at    |answered in )\S+( \d\d:\d\d)?`)
	for command, page := range map[string]string{
		"context": "quickstart.md", "recall who_keeps_bees? --limit 2": "quickstart.md", "memories show 7": "memories.md",
		"purge --user Ines --dry-run": "privacy.md", "doctor": "troubleshooting.md",
	} {
		out := p.run("", strings.Fields(strings.ReplaceAll(command, "_", " "))...).out
		check.Contains(t, page, times.ReplaceAllString(read(t, checkout+"/docs/"+page), "$1"), times.ReplaceAllString(out, "$1"))
	}
	documentedQueries(t, p)
}

// documentedQueries compares docs/queries.md with the views, and runs its queries on a conversation
// that has an answer to each.
func documentedQueries(t *testing.T, p folder) {
	page := read(t, checkout+"/docs/queries.md")
	p.must("/remember we meet at nine\n", "chat")
	db := database(t, filepath.Join(p.dir, "data"))
	lines := func(query string) (list []string) {
		rows, err := db.Query(query)
		check.Require(t, err == nil, "%s: %v", query, err)
		for rows.Next() {
			list = append(list, "")
			_ = rows.Scan(&list[len(list)-1]) // other results than texts are only counted
		}
		check.NoError(t, errors.Join(rows.Err(), rows.Close()))
		return list
	}
	views := lines("SELECT '| `' || v.name || '` | ' || group_concat(c.name, ', ') FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view' GROUP BY v.name")
	check.Len(t, "views", views, strings.Count(page, "_view` |"))
	for _, view := range views {
		name, columns, _ := strings.Cut(strings.TrimPrefix(view, "| "), " | ")
		found := regexp.MustCompile(`(?m)^\| ` + name + ` \| .* \| ` + regexp.QuoteMeta(columns) + ` \|$`).MatchString(page)
		check.That(t, found, "docs/queries.md lacks: %s has the columns %s", name, columns)
	}
	p.addWhatQueriesFind()
	for question, query := range queriesOf(t, page) {
		check.That(t, len(lines(query)) > 0, "%s got no rows", question)
	}
}

// addWhatQueriesFind adds what the sample lacks: a decision, a task, a superseded fact, an attribute, an emergency, and messages of
// this year.
func (p folder) addWhatQueriesFind() {
	p.execute(`UPDATE memories SET kind = 'decision', said_at = unixepoch() * 1000 WHERE id = 2; UPDATE memories SET kind = 'todo' WHERE id = 3;
UPDATE memories SET attribute = 'home' WHERE id = 5;
UPDATE memories SET state = 'superseded', superseded_by = 5 WHERE id = 4; UPDATE compactions SET trigger = 'emergency' WHERE id = 2;
UPDATE messages SET said_at = unixepoch() * 1000 WHERE seq = 80`)
}

// queriesOf returns the queries of docs/queries.md, by the question that each answers.
func queriesOf(t *testing.T, page string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, q := range regexp.MustCompile("(?s)\n([^\n]*\\?)\n\n```sql\n(.*?)```").FindAllStringSubmatch(page, -1) {
		all[q[1]] = q[2]
	}
	check.Require(t, len(all) == 11, "got %d queries, want 11", len(all))
	return all
}
