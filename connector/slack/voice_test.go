package slack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/chat"
	"cairn/connector/platform"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
	"cairn/testkit/wordstest"
)

// clip is a voice clip in which somebody says a text.
func clip(channelID, user, said string) slacktest.Post {
	return slacktest.Post{Channel: channelID, User: user, Files: []slacktest.File{
		{Name: "audio_message.m4a", Mimetype: "video/mp4", Content: llmtest.Recording(said), Seconds: 34},
	}}
}

// hearing has the connector transcribe voice, and wait for Slack's transcripts so long.
func (r *rig) hearing(wait time.Duration) {
	v := platform.NewTranscriber(300, false, r.Logger())
	v.May = func(context.Context, platform.Recording) bool { return true }
	v.Do = func(_ context.Context, of platform.Recording) (string, error) {
		if of.Name != "voice.m4a" {
			return "", errors.New("not an m4a: " + of.Name)
		}
		return "by the server: " + string(of.Audio[4:]), nil
	}
	r.opts.AttachmentTokens = 1000
	r.opts.Voice = v
	r.tune = func(s *Slack) { s.times.transcript = wait }
	r.begin()
}

func (r *rig) spoken(channelID string, message int) chat.Attachment {
	return r.Transcript(conversation(channelID))[message].Attachments[0]
}

func TestSlacksTranscriptComesFirst(t *testing.T) {
	r, _, ann := town(t, slacktest.Options{}, answerN)
	r.hearing(12 * time.Second)
	direct := r.w.DM(ann)
	ts := r.w.Say(clip(direct, ann, "hello"))
	r.eventually("the bot looks for the transcript", func() bool { return len(r.w.Calls("files.info")) > 0 })
	r.w.Transcribe(direct, ts, "Hello, by Slack.")
	r.awaitAnswers(direct, 1)
	got := r.spoken(direct, 0)
	check.Equal(t, "the text", got.Text, "Hello, by Slack.")
	check.Equal(t, "in words", got.Words(), "[voice message, 0:34, transcribed]")
	check.Equal(t, "recordings that were fetched", len(r.w.Calls("files.download")), 0)
}

func TestALongTranscriptOfSlackIsReadWhole(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.hearing(12 * time.Second)
	long := "First we go to the sea & the <harbour>. " + strings.Repeat("Then we eat. ", 20) + "The code is 4711."
	ts := r.w.Say(clip(general, ann, "x"))
	r.eventually("the bot looks for the transcript", func() bool { return len(r.w.Calls("files.info")) > 0 })
	r.w.Transcribe(general, ts, long)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "what does it say?"})
	r.awaitAnswers(general, 1)
	check.Equal(t, "the text of what is overheard", r.spoken(general, 0).Text, long)
}

func TestWithoutATranscriptOfSlackTheServerIsAsked(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.hearing(600 * time.Millisecond)
	direct := r.w.DM(ann)
	r.w.Say(clip(direct, ann, "hello")) // which Slack never finishes
	r.awaitAnswers(direct, 1)
	check.Equal(t, "the text", r.spoken(direct, 0).Text, "by the server: hello")
	r.w.Fail(slacktest.Fault{Of: "files.info", Error: "missing_scope", Times: -1})
	r.w.Say(clip(direct, ann, "again"))
	r.awaitAnswers(direct, 2)
	check.Equal(t, "the text", r.spoken(direct, 2).Text, "by the server: again")
	r.w.Say(clip(general, ann, "overheard"))
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "well?"})
	r.eventually("the answer", func() bool { return len(r.botTexts(general)) == 1 })
	check.Equal(t, "what is overheard", r.spoken(general, 0).Words(), "[voice message, 0:34, not transcribed]")
}

// Who asks does not wait for the transcript of what somebody said before.
func TestAQuestionDoesNotWaitForTheTranscriptOfWhatIsOverheard(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.hearing(time.Hour)
	r.w.Say(clip(general, ann, "overheard"))
	r.eventually("the bot looks for the transcript", func() bool { return len(r.w.Calls("files.info")) > 0 })
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "what is it?"})
	r.awaitAnswers(general, 1)
}

func TestAnEventWithATranscriptCostsNoRequest(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.hearing(time.Second)
	said := map[string]any{"status": "complete", "locale": "en-US", "preview": map[string]any{"content": "an old zeppelin", "has_more": false}}
	r.w.Emit(map[string]any{
		"type": "message", "subtype": "file_share", "channel": general, "channel_type": "channel", "user": ann, "ts": tsOf(time.Now()), "text": "",
		"files": []any{map[string]any{"id": "F9", "mimetype": "audio/mp4", "subtype": "slack_audio", "duration_ms": 61500, "url_private": "https://files.slack.com/x", "transcription": said}},
	})
	r.stored(conversation(general), "user: ")
	check.Equal(t, "the message", r.Transcript(conversation(general))[0].Body(), "[voice message, 1:02, transcribed]\nan old zeppelin\n[end of file]")
	check.Len(t, "requests", r.w.Calls("files.info"), 0)
}

func FuzzCaptions(f *testing.F) {
	f.Add("WEBVTT\n\nNOTE x\n\n1\n00:00.000 --> 00:02.500\n<v Ann>Hello &amp; bye,\n\n00:02.500 --> 00:04.000\r\nagain.\n")
	for _, text := range wordstest.Texts() {
		f.Add("WEBVTT\n\n00:00.000 --> 00:02.500\n" + text)
	}
	f.Fuzz(func(t *testing.T, vtt string) {
		text := captions(vtt)
		if len(text) > 8*len(vtt)+8 || utf8.ValidString(vtt) && !utf8.ValidString(text) {
			t.Fatalf("%q is read as %q", vtt, text)
		}
	})
}

func TestCaptions(t *testing.T) {
	const vtt = "WEBVTT - by Slack\nX: y\n\nNOTE made\nby hand\n\nSTYLE\n::cue {}\n\n1\n00:00.000 --> 00:02.500\n<v Ann>Hello &amp; bye,\nyou.\n\n00:02.500 --> 00:04.000 align:start\r\n<i>Again</i>.\n"
	check.Equal(t, "the text", captions(vtt), "Hello & bye, you. Again.")
	check.Equal(t, "of something else", captions("<html>sign in</html>"), "")
}
