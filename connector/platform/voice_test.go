package platform

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/testkit/check"
)

// listening returns files with a server that answers by do, and a voice message of 34 seconds to the bot.
func listening(do func(ctx context.Context, r Recording) (string, error)) (Files, channel.Inbound) {
	v := NewTranscriber(300, false, slog.New(slog.DiscardHandler))
	v.Do = do
	v.May = func(context.Context, Recording) bool { return true }
	f := Files{Tokens: 500, Voice: v, Fetch: func(context.Context, string) ([]byte, error) { return []byte("OggS"), nil }}
	voice := channel.Attachment{Kind: chat.Voice, Name: "voice-message.ogg", Type: "audio/ogg", URL: "x", Size: 4, Seconds: 34}
	return f, channel.Inbound{ID: "1", AuthorID: "7", Addressed: true, Attachments: []channel.Attachment{voice}}
}

func TestVoiceBecomesText(t *testing.T) {
	f, m := listening(func(_ context.Context, r Recording) (string, error) {
		check.Equal(t, "the recording", r.Conversation+" "+r.AuthorID+" "+r.Name+" "+string(r.Audio), "here 7 voice.ogg OggS")
		return " the ferry\x00 leaves\r\nat nine \n", nil
	})
	check.That(t, f.Wanted(m.Attachments[0]), "it is not wanted")
	got := f.Extract(t.Context(), "here", m)
	check.Equal(t, "the text", got[0].Text, "the ferry leaves\nat nine")
	check.Equal(t, "in words", got[0].Words(), "[voice message, 0:34, transcribed]")
	check.That(t, !f.Wanted(got[0]) && m.Attachments[0].Text == "", "it would be transcribed again, or the message was changed")
	f.Voice.Do = func(context.Context, Recording) (string, error) { return strings.Repeat("word ", 9000), nil }
	check.That(t, len(f.Extract(t.Context(), "", m)[0].Text) < 5000, "the text is not cut")
}

func TestVoiceThatIsNotTranscribed(t *testing.T) {
	none := func(context.Context, Recording) (string, error) { return "", nil }
	for what, c := range map[string]struct {
		change func(f *Files, m *channel.Inbound)
		want   string
	}{
		"switched off": {func(f *Files, _ *channel.Inbound) { f.Voice = nil }, noteVoiceOff},
		"without a budget": {func(f *Files, _ *channel.Inbound) {
			f.Voice.May = func(context.Context, Recording) bool { return false }
		}, noteVoiceBudget},
		"files are not read": {func(f *Files, _ *channel.Inbound) { f.Tokens = 0 }, noteVoiceUnread},
		"too long":           {func(_ *Files, m *channel.Inbound) { m.Attachments[0].Seconds = 301 }, noteVoiceLong},
		"of unknown length":  {func(_ *Files, m *channel.Inbound) { m.Attachments[0].Seconds, m.Attachments[0].Size = 0, 3<<20 }, noteVoiceLong},
		"too large":          {func(_ *Files, m *channel.Inbound) { m.Attachments[0].Size = MaxVoice + 1 }, noteVoiceLarge},
		"gone": {func(f *Files, _ *channel.Inbound) {
			f.Fetch = func(context.Context, string) ([]byte, error) { return nil, nil }
		}, noteVoiceGone},
		"a page instead": {func(f *Files, _ *channel.Inbound) {
			f.Fetch = func(context.Context, string) ([]byte, error) { return []byte("<html>"), nil }
		}, noteVoiceGone},
		"silent": {func(*Files, *channel.Inbound) {}, noteVoiceSilent},
		"the server fails": {func(f *Files, _ *channel.Inbound) {
			f.Voice.Do = func(context.Context, Recording) (string, error) { return "", errors.New("no") }
		}, noteVoiceFailed},
		"overheard": {func(_ *Files, m *channel.Inbound) { m.Addressed = false }, noteNotTranscribed},
		"overheard, and too long": {func(f *Files, m *channel.Inbound) {
			f.Voice.Overheard = true
			m.Addressed = false
			m.Attachments[0].Seconds = 301
		}, noteNotTranscribed},
	} {
		f, m := listening(none)
		c.change(&f, &m)
		got := f.Extract(t.Context(), "", m)[0]
		check.Equal(t, what, got.Note, c.want)
		check.Equal(t, what+": the text", got.Text, "")
		check.That(t, strings.HasPrefix(c.want, noteNotTranscribed), "%q does not begin as the others", c.want)
	}
	f, m := listening(none)
	m.Attachments[0].Note = noteNotTranscribed // it was overheard, and an edit addresses it to the bot
	check.That(t, f.Wanted(m.Attachments[0]), "it is never transcribed")
}

func TestOverheardVoiceIsTranscribedWhereTheOwnerWantsIt(t *testing.T) {
	asked := 0
	f, m := listening(func(context.Context, Recording) (string, error) {
		asked++
		return "hello", nil
	})
	m.Addressed = false
	f.Extract(t.Context(), "", m)
	check.Equal(t, "requests for what is overheard", asked, 0)
	m.Optional = true // in a thread that the bot follows
	check.Equal(t, "where the bot may answer", f.Extract(t.Context(), "", m)[0].Text, "hello")
	m.Optional = false
	f.Voice.Overheard = true
	check.Equal(t, "where the owner wants it", f.Extract(t.Context(), "", m)[0].Text, "hello")
}

func TestThePlatformsTranscriptComesFirst(t *testing.T) {
	f, m := listening(func(context.Context, Recording) (string, error) { return "", errors.New("the server is asked") })
	f.Transcript = func(context.Context, channel.Attachment) string { return "by Slack" }
	f.Voice = nil
	m.Addressed = false
	check.Equal(t, "the text", f.Extract(t.Context(), "", m)[0].Text, "by Slack")
	film := channel.Attachment{Kind: "video", Name: "a.mp4", Type: "video/mp4", URL: "x", ID: "F1"}
	m.Attachments = []channel.Attachment{film}
	check.Equal(t, "the text of a film", f.Extract(t.Context(), "", m)[0].Text, "by Slack")
	f.Transcript = func(context.Context, channel.Attachment) string { return "" }
	check.Equal(t, "a film without one", f.Extract(t.Context(), "", m)[0].Words(), film.Words())
}

func TestNoTurnWaitsForAServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := listening(func(ctx context.Context, _ Recording) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		m.Attachments = append(m.Attachments, m.Attachments[0], m.Attachments[0])
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // as in package channel
		defer cancel()
		start := time.Now()
		for _, a := range f.Extract(ctx, "", m) {
			check.Equal(t, "the note", a.Note, noteVoiceLate)
		}
		check.Equal(t, "it took", time.Since(start), 20*time.Second-extractMargin)
	})
}

func TestTheNameOfARecordingTellsItsFormatAlone(t *testing.T) {
	for want, a := range map[string]channel.Attachment{
		"voice.ogg": {Name: "Ada at the doctor's.ogg"}, "voice.mp3": {Name: "x", Type: "audio/mpeg"}, "voice.m4a": {Name: "x.aac", Type: "audio/aac"},
		"voice.webm": {Type: "audio/webm; codecs=opus"}, "voice.wav": {Type: "audio/x-wav"}, "voice.mp4": {Name: "audio_message.MP4", Type: "audio/mp4"},
	} {
		check.Equal(t, a.Name+a.Type, recordingName(a), want)
	}
	for seconds, want := range map[float64]int{0: 0, -1: 0, 0.2: 1, 33.6: 34, math.Inf(1): 1e6, 1e300: 1e6} {
		check.Equal(t, "a length", Length(seconds), want)
	}
	check.Equal(t, "a length that is no number", Length(math.NaN()), 0)
}
