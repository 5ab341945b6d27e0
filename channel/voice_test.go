package channel_test

import (
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/testkit/check"
)

// What somebody asks in a voice message brings what was said of it, as a written question does.
func TestAVoiceMessageTriggersRecall(t *testing.T) {
	r := withRecall(t, func(*rig) {})
	asked := r.inbound("", true)
	asked.Attachments = []channel.Attachment{{Kind: chat.Voice, Seconds: 4, Text: "What does Ophelia keep behind the lighthouse?"}}
	r.post(asked)
	all := r.model.Requests()
	check.Contains(t, "the request", lastText(all[len(all)-1]), "[voice message, 0:04, transcribed]\nWhat does Ophelia keep", "\n<now>\n",
		`"My sister Ophelia keeps bees behind the lighthouse."`)
}

func TestPeopleReadWhatAVoiceMessageSays(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Language = "de"
	m := r.inbound("", false)
	m.Attachments = []channel.Attachment{{Kind: chat.Voice, Seconds: 64, Text: "the vault opens with 7461"}, {Kind: chat.Voice, Seconds: 5, Note: "not transcribed: it took too long"}}
	r.post(m)
	r.wantAnswer("/recall vault", "the vault opens with 7461")
	r.wantAnswer("/pin #1", "[Sprachnachricht, 1:04, verschriftlicht] the vault opens")
}
