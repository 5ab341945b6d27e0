package discord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/chat"
	"cairn/connector/platform"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// spoken is a voice message in which somebody says a text.
func spoken(said string) discordtest.Post {
	return discordtest.Post{Voice: 33.6, Files: []discordtest.File{{Name: "voice-message.ogg", ContentType: "audio/ogg", Data: llmtest.Recording(said)}}}
}

// hearing has the connector transcribe voice.
func (r *rig) hearing(overheard bool) *rig {
	v := platform.NewTranscriber(300, overheard, r.Logger())
	v.May = func(context.Context, platform.Recording) bool { return true }
	v.Do = func(_ context.Context, of platform.Recording) (string, error) {
		said := string(of.Audio[4:])
		if said == "mumble" {
			return "", errors.New("HTTP 500")
		}
		return said, nil
	}
	r.opts.AttachmentTokens = 1000
	r.opts.Voice = v
	return r.start()
}

func TestAVoiceMessageIsAnsweredAndFoundAndDeleted(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.Model.Func = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}
	r.hearing(false)
	r.ask(r.square, "hello")
	r.answersLast(r.square, 1, "answer 1")
	overheard := r.Post(r.square, r.ann.ID, spoken("an overheard secret"))
	asked := spoken("which zeppelin leaves at nine?")
	asked.ReplyTo = r.sent(r.square)[0].ID
	question := r.Post(r.square, r.ann.ID, asked)
	r.answersLast(r.square, 2, "answer 2")
	last := r.Model.Requests()[1].Messages
	check.Contains(t, "what the model reads", last[len(last)-1].Text, "ann, replying to #2] [voice message, 0:34, transcribed]\nwhich zeppelin leaves at nine?\n[end of file]")
	name := r.place(r.square)
	check.Equal(t, "what is overheard", r.heard(name, 3)[1].Body(), "[voice message, 0:34, not transcribed]")
	check.Equal(t, "recordings that were fetched", r.count("GET /attachments/*/*/*"), 1)
	c := check.Must(r.Store.Conversation(t.Context(), name))(t)
	check.EqualAll(t, "found by its words", storetest.Recalled(t, c, "zeppelin"), []int64{4})
	r.Delete(r.square, question.ID, overheard.ID)
	r.until("the deletion", func() bool { return len(r.Transcript(name)) == 3 })
	check.Len(t, "found after the deletion", storetest.Recalled(t, c, "zeppelin"), 0)
	check.Lacks(t, "what is stored", storetest.Dump(t, r.Store), "zeppelin", "voice-message.ogg")
}

func TestVoiceThatCannotBeTranscribedIsDescribedWithTheReason(t *testing.T) {
	r := newRig(t, discordtest.Options{}).hearing(false)
	direct := r.Direct(r.ann.ID).ID
	r.Post(direct, r.ann.ID, spoken("mumble"))
	r.answersLast(direct, 1, "echo: [voice message, 0:34, not transcribed: the server for transcription failed]")
	r.Post(direct, r.ann.ID, discordtest.Post{Files: []discordtest.File{{Name: "a.pdf", ContentType: "application/pdf", Data: []byte("%PDF-1.4")}}})
	r.answersLast(direct, 2, "echo: [file: a.pdf, application/pdf, 8 B, not read: the program pdftotext is missing on the bot's machine; its owner can install poppler-utils]")
	check.Equal(t, "incidents in the log", strings.Count(r.Log.String(), "level=WARN msg=transcription_failed"), 1)
}

func TestAPDFIsReadByTheProgram(t *testing.T) {
	r := newRig(t, discordtest.Options{})
	r.opts.PDF = platform.FindPDFReader()
	if r.opts.PDF == nil {
		t.Skip("pdftotext is not installed")
	}
	r.hearing(false)
	const content = "BT /F1 12 Tf 50 700 Td (The ferry leaves at nine.) Tj ET"
	pdf := fmt.Sprintf("%%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"+
		"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>\nendobj\n"+
		"4 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\ntrailer << /Root 1 0 R >>\n", len(content), content)
	direct := r.Direct(r.ann.ID).ID
	r.Post(direct, r.ann.ID, discordtest.Post{Content: "when?", Files: []discordtest.File{{Name: "a.pdf", ContentType: "application/pdf", Data: []byte(pdf)}}})
	r.answersLast(direct, 1, fmt.Sprintf("echo: when?\n[file: a.pdf, %d B]\nThe ferry leaves at nine.\n[end of file]", len(pdf)))
}

func TestAForwardedVoiceMessageIsOne(t *testing.T) {
	inner := message{Flags: discordgo.MessageFlagsIsVoiceMessage, Attachments: []attachment{{Filename: "v.ogg", ContentType: "audio/ogg", URL: "x", Seconds: 61}}}
	m := message{Snapshots: []struct{ Message message }{{inner}}, Attachments: []attachment{{Filename: "song.ogg", ContentType: "audio/ogg; codecs=opus"}}}
	files := m.files()
	check.Equal(t, "the first", files[0].Words(), "[audio: song.ogg, audio/ogg]")
	check.That(t, files[1].Kind == chat.Voice && files[1].Seconds == 61, "the second: %+v", files[1])
}
