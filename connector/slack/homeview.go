// How the Home tab looks: a pure function of what is kept about a person.

package slack

import (
	"encoding/json"
	"fmt"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/connector/platform"
)

const (
	homeMemories = 10           // on a page
	homePrefix   = "cairn_home" // prefix of the action ids in the Home tab
	homePlace    = "cairn_home_place"

	homePlaceBlock = "place-" // begins the id of the block with the menu of channels

	maxNotice = 3_000 // characters of a notice

	untranslated = "untranslated" // as Answer.Language: the text is in English, and is translated when it is shown
)

// Sentences about what was not done.
const (
	textUnreadable = "You cannot read that place now, so nothing was done."
	textUnasked    = "Slack did not say whether you may read that place, so nothing was done. Try again later."
)

// homeView is all that a Home tab shows.
type homeView struct {
	homePage
	speaker sentences.Speaker // of the person's language
	kept    channel.Kept
	manages bool // the person may change settings of channels
}

// listed returns the memories that the view lists.
func (v homeView) listed() (ids []int64) {
	for _, m := range v.kept.Memories {
		ids = append(ids, m.ID)
	}
	return ids
}

// answered returns the memories that its notice may quote.
func (v homeView) answered() []int64 {
	if v.notice == nil {
		return nil
	}
	return v.notice.memories
}

// homeValue is what a button in the Home tab does.
type homeValue struct {
	Line    string `json:"line,omitempty"`    // the command that it runs; "": it shows another page
	Channel string `json:"channel,omitempty"` // where
	Thread  string `json:"thread,omitempty"`
	Page    int    `json:"page,omitempty"`
}

// homeTab renders the view.
func homeTab(v homeView) slackgo.HomeTabViewRequest {
	metadata, _ := json.Marshal(v.homeMetadata) // it can always be encoded
	blocks := v.noticeBlocks()
	blocks = append(blocks, header(v.speaker.Translate("What I keep about you")))
	if v.blank {
		blocks = append(blocks, paragraph(v.speaker.Translate("I have removed what was shown here. Open this page again to see what I keep now.")))
	} else {
		blocks = append(blocks, v.memories()...)
	}
	if v.kept.Heard != "" {
		blocks = append(blocks, v.optOut()...)
		blocks = append(blocks, v.forgetAll()...)
	}
	if v.manages {
		blocks = append(blocks, v.settings()...)
	}
	return slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, Blocks: slackgo.Blocks{BlockSet: blocks}, PrivateMetadata: string(metadata)}
}

// noticeBlocks show what a press has come to.
func (v homeView) noticeBlocks() (all []slackgo.Block) {
	if v.notice == nil {
		return nil
	}
	a := v.notice.answer.Fenced()
	text := a.Page(0)
	if a.Language == untranslated {
		text = v.speaker.Translate(text)
	}
	_, all = sections(platform.Splitter{Limit: maxNotice}.Fit(text))
	var buttons []slackgo.BlockElement
	for i, b := range a.Buttons {
		buttons = append(buttons, button(fmt.Sprint("answer_", i), b.Label, valueIn(v.notice.place, b.Line)))
	}
	if len(buttons) > 0 {
		all = append(all, slackgo.NewActionBlock("notice", buttons...))
	}
	return append(all, slackgo.NewDividerBlock())
}

// memories show a page of them.
func (v homeView) memories() (all []slackgo.Block) {
	if v.kept.Total == 0 && !v.kept.Unasked {
		all = append(all, paragraph(v.speaker.Translate("I have no memories about you from places that you may read.")))
	}
	for _, m := range v.kept.Memories {
		all = append(all, v.memory(m)...)
	}
	pages := (v.kept.Total + homeMemories - 1) / homeMemories
	var buttons []slackgo.BlockElement
	if v.Page > 0 {
		buttons = append(buttons, button("previous", v.speaker.Translate(command.TextPrevious), homeValue{Page: v.Page - 1}))
	}
	if v.Page+1 < pages {
		buttons = append(buttons, button("next", v.speaker.Translate(command.TextNext), homeValue{Page: v.Page + 1}))
	}
	if len(buttons) > 0 {
		page := slackgo.NewContextBlock("", plain(v.speaker.Translate(fmt.Sprintf("(page %d of %d)", v.Page+1, pages))))
		all = append(all, page, slackgo.NewActionBlock("pages", buttons...))
	}
	if v.kept.Unasked {
		all = append(all, paragraph(v.speaker.Translate("Slack did not say which places you may read, so memories may be missing here. Open this page again later.")))
	}
	return all
}

// memory shows one memory, where it is from, and what the person can do about it.
func (v homeView) memory(m channel.Memory) []slackgo.Block {
	place := chat.ParsePlace(m.Conversation)
	text := section.Fit(escape(command.MemoryWords(v.speaker, m)))
	pin := homeButton{"pin", "Pin", "/memories pin"}
	if m.Pinned {
		pin = homeButton{"unpin", "Unpin", "/memories unpin"}
	}
	var buttons []slackgo.BlockElement
	for _, b := range []homeButton{{"forget", "Forget", "/forget"}, pin} {
		buttons = append(buttons, button(b.id, v.speaker.Translate(b.label), valueIn(place, fmt.Sprint(b.line, " ", m.ID))))
	}
	return []slackgo.Block{
		slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.MarkdownType, text, false, false), nil, nil),
		slackgo.NewContextBlock("", slackgo.NewTextBlockObject(slackgo.MarkdownType, v.origin(place), false, false)),
		slackgo.NewActionBlock(fmt.Sprint("memory-", m.ID), buttons...),
	}
}

type homeButton struct{ id, label, line string }

// origin says where a memory is from; Slack shows the name of a channel.
func (v homeView) origin(place chat.Place) string {
	channel := "<#" + escape(place.Channel) + ">"
	switch {
	case place.Direct():
		return escape(v.speaker.Translate("our direct messages"))
	case place.Thread != "":
		return v.speaker.Sayf("a thread in %s", channel)
	}
	return channel
}

// optOut is the switch "keep nothing of me".
func (v homeView) optOut() []slackgo.Block {
	text := v.speaker.Translate("I may save memories of what you write, and about you.")
	b := button("optout", v.speaker.Translate("Save no memories about me"), v.everywhere("/optout"))
	if v.kept.Out {
		text = v.speaker.Translate("I save no memories of what you write, and none about you.")
		b = button("optout", v.speaker.Translate("Allow memories about me"), v.everywhere("/optout off"))
	}
	return []slackgo.Block{slackgo.NewDividerBlock(), beside("optout", text, b)}
}

// forgetAll has the button that deletes all that the person has written.
func (v homeView) forgetAll() []slackgo.Block {
	have := v.kept.Holding
	if have.Messages+have.Memories == 0 {
		return []slackgo.Block{paragraph(v.speaker.Translate("I have nothing from you across all our conversations."))}
	}
	count := v.speaker.Translate(have.String())
	b := button("forget_me", v.speaker.Translate("Forget all I said"), v.everywhere("/forget me everywhere yes"))
	b.Style = slackgo.StyleDanger
	b.Confirm = slackgo.NewConfirmationBlockObject(
		plain(v.speaker.Translate("Forget all you said?")),
		plain(v.speaker.Sayf("This permanently deletes %s of yours, in all our conversations. My own answers stay, and may repeat you.", count)),
		plain(v.speaker.Translate("Delete")), plain(v.speaker.Translate("Cancel"))).WithStyle(slackgo.StyleDanger)
	return []slackgo.Block{beside("forget_me", v.speaker.Sayf("I have %s of yours, in all our conversations.", count), b)}
}

// settings has the menu of channels for those who may change their settings. Slack shows what was chosen in a block as long as the block has
// the same id (slackapi/bolt-js#1920), and the same channel could not be chosen again: each view has another one.
func (v homeView) settings() []slackgo.Block {
	menu := slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeConversations, plain(v.speaker.Translate("Choose a channel")), homePlace)
	menu.Filter = &slackgo.SelectBlockElementFilter{Include: []string{"public", "private"}, ExcludeBotUsers: true}
	return []slackgo.Block{
		slackgo.NewDividerBlock(),
		beside(homePlaceBlock+v.hash, v.speaker.Translate("You may change how the conversation of a channel is summarized."), menu),
	}
}

// everywhere is what a button does that is about all conversations.
func (v homeView) everywhere(line string) homeValue {
	return valueIn(chat.ParsePlace(v.kept.Heard), line)
}

// valueIn is what a button about a place does.
func valueIn(place chat.Place, line string) homeValue {
	return homeValue{Line: line, Channel: place.Channel, Thread: place.Thread}
}

func button(id, label string, value homeValue) *slackgo.ButtonBlockElement {
	encoded, _ := json.Marshal(value) // it can always be encoded
	return slackgo.NewButtonBlockElement(homePrefix+"_"+id, string(encoded), plain(label))
}

func header(text string) slackgo.Block { return slackgo.NewHeaderBlock(plain(text)) }

func paragraph(text string) slackgo.Block { return slackgo.NewSectionBlock(plain(text), nil, nil) }

// beside is a text with a button or a menu at its side.
func beside(id, text string, element slackgo.BlockElement) slackgo.Block {
	return slackgo.NewSectionBlock(plain(text), nil, slackgo.NewAccessory(element), slackgo.SectionBlockOptionBlockID(id))
}

func plain(text string) *slackgo.TextBlockObject {
	return slackgo.NewTextBlockObject(slackgo.PlainTextType, text, false, false)
}
