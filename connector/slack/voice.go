// Voice: Slack transcribes recordings itself, some seconds after they were posted (reference/objects/file-object).

package slack

import (
	"context"
	"html"
	"log/slog"
	"regexp"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/chat"
	"cairn/connector/platform"
)

const (
	voiceClip = "slack_audio" // the subtype of what a person has recorded in Slack, whatever its media type

	transcribed  = "complete"   // the status of a transcript
	transcribing = "processing" // Slack does not document others, such as those of failures
)

// transcription is Slack's transcript of a recording, as far as an event has it.
type transcription struct {
	Status  string
	Preview struct {
		Content string
		HasMore bool `json:"has_more"`
	}
}

// describeVoice describes a recording: one that Slack may transcribe has an ID.
func (f file) describeVoice(a *channel.Attachment) {
	a.Seconds = platform.Length(f.Milliseconds / 1000)
	if f.Subtype == voiceClip {
		a.Kind = chat.Voice
		if !strings.HasPrefix(a.Type, "audio/") {
			a.Type = "audio/mp4" // some are said to be films
		}
	}
	if a.Kind != chat.Voice && f.Transcription.Status == "" {
		return
	}
	a.ID = f.ID
	if t := f.Transcription; t.Status == transcribed && !t.Preview.HasMore {
		a.Text = t.Preview.Content
	}
}

// transcripts finds Slack's transcripts.
type transcripts struct {
	api   *api
	times *times
	log   *slog.Logger
}

// find returns Slack's transcript of a recording, or nothing if there is none soon. For one that nobody waits for it stops waiting once
// somebody waits for something else.
func (t *transcripts) find(ctx context.Context, a channel.Attachment) string {
	if a.ID == "" {
		return ""
	}
	awaited, overheard := ctx.Value(backgroundKey{}).(<-chan struct{})
	if !overheard {
		awaited = nil
	}
	pause := t.times.transcript / 6
	last := false // nobody waits for another look
	start := time.Now()
	for looks := 1; ; looks++ {
		f, _, _, err := t.api.read.GetFileInfoContext(ctx, a.ID, 1, 1) // its comments are not needed
		if err != nil {
			t.log.Debug("read_file_failed", "error", err)
			return ""
		}
		made := f.Transcription
		waited := time.Since(start)
		switch {
		case made != nil && made.Status == transcribed:
			return t.whole(ctx, f)
		case made != nil && made.Status != transcribing, made == nil && looks > 1, waited+pause > t.times.transcript, last:
			return ""
		}
		select {
		case <-ctx.Done():
			return ""
		case <-awaited:
			last = true
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// whole returns a finished transcript: of a long one, the file object has only the beginning.
func (t *transcripts) whole(ctx context.Context, f *slackgo.File) string {
	preview := f.Transcription.Preview
	beginning := ""
	more := preview == nil || preview.HasMore != nil && *preview.HasMore
	if preview != nil {
		beginning = preview.Content
	}
	if !more || f.VTT == "" {
		return beginning
	}
	data, err := t.api.fetch(platform.WithLimit(ctx, platform.MaxText), f.VTT)
	if err != nil {
		t.log.Debug("read_file_failed", "error", platform.WithoutURL(err))
	}
	text := captions(string(data))
	if len(text) < len(beginning) { // it is no transcript
		return beginning + " …"
	}
	return text
}

var (
	captionBlocks = regexp.MustCompile(`\r?\n[ \t]*\r?\n`)
	captionTag    = regexp.MustCompile(`<[^<>]*>`)
)

// captions returns the text of a WebVTT file (W3C, WebVTT: Syntax) without its times, notes and marks.
func captions(vtt string) string {
	var said []string
	for _, block := range captionBlocks.Split(vtt, -1) {
		cue := false
		for line := range strings.Lines(block) {
			text := strings.TrimSpace(html.UnescapeString(captionTag.ReplaceAllString(line, "")))
			switch {
			case strings.Contains(line, "-->"):
				cue = true
			case cue && text != "":
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, " ")
}
