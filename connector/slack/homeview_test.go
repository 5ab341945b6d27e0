package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/connector/platform"
	"cairn/memory"
	"cairn/privacy"
	"cairn/prompts"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

var update = flag.Bool("update", false, "write testdata/*.json anew")

// fullHome is a Home tab with all that there may be, in a language.
func fullHome(language string) homeView {
	v := homeView{homePage: homePage{homeMetadata: homeMetadata{Direct: "D1", Page: 1}}, speaker: sentences.In(language), manages: true}
	v.notice = &notice{
		command.Answer{Text: "Memory 7 is forgotten: tea & <cake>", Buttons: []command.Button{{Label: "Undo", Line: "/memories restore 7"}}},
		chat.Place{Connector: Name, Server: "T1", Channel: "C1", Thread: "1700000000.000100"},
		[]int64{7},
	}
	v.kept = channel.Kept{Total: 13, Unasked: true, Out: true, Holding: privacy.Holding{Messages: 21, Memories: 13}, Heard: "slack:T1/D1"}
	for i, place := range []string{"C1", "C1/1700000000.000100", "D1"} {
		v.kept.Memories = append(v.kept.Memories, memory.Memory{Memory: store.Memory{
			ID: int64(i + 1), Conversation: "slack:T1/" + place, Kind: "fact", Content: fmt.Sprintf("<tea> no. %d", i), Speaker: "Ada", About: "Ada",
			SaidAt: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC), State: "active", Pinned: i == 1,
		}})
	}
	return v
}

func TestTheHomeTabIsRendered(t *testing.T) {
	v := fullHome("en")
	blank := v
	blank.blank = true
	blank.notice = nil
	checkGolden(t, "testdata/home.json", []any{homeTab(v), homeTab(blank)})
	check.Lacks(t, "a view without texts", string(check.Must(json.Marshal(homeTab(blank)))(t)), "tea", "forget 1")
}

// checkGolden compares a value with a file of JSON.
func checkGolden(t *testing.T, path string, value any) {
	t.Helper()
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check.NoError(t, encoder.Encode(value))
	if *update {
		check.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	check.Equal(t, path, got.String(), string(check.Must(os.ReadFile(path))(t)))
}

// Slack refuses a view of which one text is too long.
func TestTheHomeTabFitsInEachLanguage(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{TriggerTime: time.Minute}, answerN)
	r.remember(general, ann, "ann", "the launch is on Friday")
	settings, _, err := r.Hub.Operator().Settings(t.Context(), conversation(general))
	check.NoError(t, err)
	check.That(t, len(settings) > 30, "settings: %d", len(settings))
	for _, language := range prompts.Languages {
		v := fullHome(language)
		v.kept.Holding = privacy.Holding{Messages: 1_000_000, Memories: 100_000}
		v.notice.answer.Text = strings.Repeat("a long answer <&> ", 1000)
		v.kept.Memories[0].Content = strings.Repeat("& ", 2000)
		for i := range homeMemories - 3 {
			m := v.kept.Memories[1]
			m.ID = int64(100 + i)
			v.kept.Memories = append(v.kept.Memories, m)
		}
		_, err := r.connector.api.read.PublishView(ann, homeTab(v), "")
		check.NoError(t, err)
		checkModal(t, language, settings)
	}
}

// checkModal checks the limits of a modal's title and buttons: 24 characters each (reference/views/modal-views).
func checkModal(t *testing.T, language string, settings []report.Setting) {
	t.Helper()
	m := settingsModal(sentences.In(language), homeMetadata{}, settings)
	for _, text := range []string{m.Title.Text, m.Submit.Text, m.Close.Text} {
		check.That(t, text != "" && len([]rune(text)) <= 24, "%s: %q is too long", language, text)
	}
	check.That(t, len(m.Blocks.BlockSet) <= 100, "%s: %d blocks", language, len(m.Blocks.BlockSet))
}

func TestTheHomeTabSpeaksThePersonsLanguage(t *testing.T) {
	r, _, ann := homeRig(t, slacktest.Options{})
	r.w.Locale(ann, "de-DE")
	r.opened(ann, "Was ich über dich behalte")
	r.w.Locale(ann, "cy-GB") // the bot does not speak it
	r.opened(ann, "What I keep about you")
}

// TestTheHomeTabOffersActions finds each action that the table offers there, in what the Home tab of a manager shows.
func TestTheHomeTabOffersActions(t *testing.T) {
	in := fullHome("en")
	in.kept.Out = false
	text := string(check.Must(json.Marshal([]any{homeTab(fullHome("en")), homeTab(in)}))(t))
	var lines []string
	for _, found := range regexp.MustCompile(`\\"line\\":\\"([^"\\]*)`).FindAllStringSubmatch(text, -1) {
		lines = append(lines, found[1])
	}
	if strings.Contains(text, `"action_id":"`+homePlace+`"`) { // which opens the modal of a channel's settings
		lines = append(lines, "/settings")
	}
	channeltest.Offers(t, command.AtHome, lines)
}

// A button that was pressed runs its command, whatever it is about.
func TestEachButtonIsKnown(t *testing.T) {
	for _, a := range command.Actions {
		line := "/" + a.Command + " 123456789"
		check.That(t, platform.KnowsButton(line), "%s is no command", line)
		encoded := check.Must(json.Marshal(buttonOf(a.Command, buttonValue{Line: line})))(t)
		check.Contains(t, a.Command, string(encoded), strings.ReplaceAll(line, `"`, `\"`))
	}
}
