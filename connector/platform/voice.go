// Voice: what is said in a recording, by the platform's own transcript or a server's.

package platform

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"cairn/channel"
	"cairn/chat"
	"cairn/internal/observe"
)

const (
	// MaxVoice is how many bytes of a recording are fetched; OpenAI's server takes no more.
	MaxVoice = 25 << 20

	extractMargin = time.Second  // before the deadline of Extract's context: what was found by then is kept
	voiceMemory   = 2 * MaxVoice // bytes of recordings that are fetched and transcribed at the same time
	voiceLeast    = MaxVoice / 8 // how many bytes a recording counts at least

	// unknownRate is how many bytes count as a second of a recording whose length is not known: 64 kbit/s, as phones record.
	unknownRate = 8000
)

// Why the text of a recording is missing. People see a translation.
const (
	noteNotTranscribed = "not transcribed"
	noteVoiceOff       = "not transcribed: transcription is switched off"
	noteVoiceUnread    = "not transcribed: the contents of files are not read here"
	noteVoiceLong      = "not transcribed: it is longer than the bot's owner allows"
	noteVoiceLarge     = "not transcribed: it is larger than 25 MB"
	noteVoiceGone      = "not transcribed: it could not be downloaded"
	noteVoiceLate      = "not transcribed: it took too long"
	noteVoiceSilent    = "not transcribed: no speech was found"
	noteVoiceFailed    = "not transcribed: the server for transcription failed"
	noteVoiceBudget    = "not transcribed: the budget is used up"
)

// Transcriber has a server transcribe recordings. Both connectors share it.
type Transcriber struct {
	MaxSeconds int  // a longer recording is not transcribed
	Overheard  bool // also what nobody says to the bot

	// Do has a server transcribe a recording.
	Do func(ctx context.Context, r Recording) (text string, err error)
	// May reports whether that is allowed now, before the recording is fetched.
	May func(ctx context.Context, r Recording) bool

	log      *slog.Logger
	memory   *semaphore.Weighted
	incident observe.Incident
}

// Recording is a recording that somebody posted.
type Recording struct {
	Conversation, AuthorID string

	Asked bool   // the author expects an answer
	Name  string // tells the format, and nothing else
	Audio []byte
}

// NewTranscriber returns a Transcriber whose Do and May are set before it is used.
func NewTranscriber(maxSeconds int, overheard bool, log *slog.Logger) *Transcriber {
	return &Transcriber{MaxSeconds: maxSeconds, Overheard: overheard, log: log, memory: semaphore.NewWeighted(voiceMemory)}
}

// isVoice reports whether an attachment is a recording.
func isVoice(a channel.Attachment) bool {
	return a.Kind == chat.Voice || strings.HasPrefix(a.Type, "audio/") && !isText(a)
}

// isExtracted reports whether a server or a program gets the text of an attachment.
func isExtracted(a channel.Attachment) bool { return isVoice(a) || isPDF(a) || a.ID != "" }

// Extract returns a copy of the attachments of a message with the texts of its voice and its PDFs. Where there is none, a Note says
// why: of voice in full only to those who expect an answer.
func (f Files) Extract(ctx context.Context, conversation string, m channel.Inbound) []channel.Attachment {
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-extractMargin))
		defer cancel()
	}
	all := slices.Clone(m.Attachments)
	share := f.share(all)
	for i := range all {
		a := &all[i]
		if !isExtracted(*a) || !f.Wanted(*a) {
			continue
		}
		var text string
		if isPDF(*a) {
			text, a.Note = f.readPDF(ctx, *a)
		} else {
			asked := m.Addressed || m.Optional
			text, a.Note = f.hear(ctx, *a, Recording{Conversation: conversation, AuthorID: m.AuthorID, Asked: asked, Name: recordingName(*a)})
		}
		a.Text = channel.Clip(cleanText(text), share)
	}
	return all
}

// LimitTexts limits texts that came with the attachments themselves.
func (f Files) LimitTexts(all []channel.Attachment) {
	for i := range all {
		a := &all[i]
		text := a.Text
		a.Text = ""
		if f.Tokens > 0 && text != "" {
			a.Text = channel.Clip(cleanText(text), f.share(all))
		}
	}
}

// cleanText removes from a text what is none.
func cleanText(text string) string {
	text = strings.NewReplacer("\x00", "", "\f", "\n", "\r\n", "\n").Replace(strings.ToValidUTF8(text, ""))
	return strings.TrimSpace(text)
}

// hear returns what is said in a recording, or a note that says why that is not known.
func (f Files) hear(ctx context.Context, a channel.Attachment, r Recording) (text, note string) {
	if f.Transcript != nil && f.Tokens > 0 {
		text = f.Transcript(ctx, a)
		if text != "" {
			return text, ""
		}
	}
	text, note = f.transcribe(ctx, a, r)
	switch {
	case !isVoice(a): // a film
		return text, ""
	case !r.Asked && note != "":
		return "", noteNotTranscribed
	}
	return text, note
}

// transcribe has the server transcribe a recording.
func (f Files) transcribe(ctx context.Context, a channel.Attachment, r Recording) (text, note string) {
	v := f.Voice
	length := cmp.Or(a.Seconds, int(a.Size/unknownRate))
	switch {
	case !isVoice(a):
		return "", noteNotTranscribed
	case f.Tokens == 0:
		return "", noteVoiceUnread
	case v == nil:
		return "", noteVoiceOff
	case !r.Asked && !v.Overheard:
		return "", noteNotTranscribed
	case length > v.MaxSeconds:
		return "", noteVoiceLong
	case a.Size > MaxVoice:
		return "", noteVoiceLarge
	case !v.May(ctx, r):
		return "", noteVoiceBudget
	}
	size := max(cmp.Or(a.Size, MaxVoice), voiceLeast)
	if v.memory.Acquire(ctx, size) != nil {
		return "", noteVoiceLate
	}
	defer v.memory.Release(size)
	audio, err := f.Fetch(WithLimit(ctx, MaxVoice), a.URL)
	switch {
	case TooLong(err):
		return "", noteVoiceLarge
	case err != nil || len(audio) == 0 || isPage(audio):
		return "", noteVoiceGone
	}
	r.Audio = audio
	return v.ask(ctx, r)
}

// isPage reports whether a platform sent a page instead of a file: to sign in, say.
func isPage(data []byte) bool { return strings.HasPrefix(http.DetectContentType(data), "text/html") }

func (v *Transcriber) ask(ctx context.Context, r Recording) (text, note string) {
	text, err := v.Do(ctx, r)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the bot stops
		return "", noteVoiceFailed
	case err != nil:
		v.log.Log(ctx, v.incident.Begin(), "transcription_failed", "effect", "voice is not transcribed", "error", err)
		if ctx.Err() != nil {
			return "", noteVoiceLate
		}
		return "", noteVoiceFailed
	}
	if v.incident.End() {
		v.log.Info("transcription_recovered")
	}
	if cleanText(text) == "" {
		return "", noteVoiceSilent
	}
	return text, ""
}

// recordingTypes are the formats that OpenAI's server takes, which recognizes them by the name of the file.
var recordingTypes = []string{".flac", ".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".ogg", ".wav", ".webm"}

// recordingName returns a name for a recording that tells its format, and nothing else.
func recordingName(a channel.Attachment) string {
	end := strings.ToLower(path.Ext(a.Name))
	if slices.Contains(recordingTypes, end) {
		return "voice" + end
	}
	media, _, _ := mime.ParseMediaType(a.Type)
	switch _, format, _ := strings.Cut(media, "/"); format {
	case "mpeg", "mp3":
		return "voice.mp3"
	case "mp4", "x-m4a", "m4a", "aac":
		return "voice.m4a"
	case "wav", "x-wav", "wave", "vnd.wave":
		return "voice.wav"
	case "webm", "flac":
		return "voice." + format
	}
	return "voice.ogg"
}

// Length returns the length of a recording as attachments have it; 0: not known.
func Length(seconds float64) int {
	const most = 1e6 // whatever a platform sends
	if !(seconds > 0) {
		return 0
	}
	return int(math.Round(min(max(seconds, 1), most)))
}
