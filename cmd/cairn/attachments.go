// What becomes of attachments that are not text: a server transcribes voice, and pdftotext reads PDFs.

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"cairn/config"
	"cairn/connector/platform"
	"cairn/llm/openai"
	"cairn/store"
)

// readers turn attachments into text, for all connectors.
type readers struct {
	voice  *platform.Transcriber // nil: off
	pdf    *platform.PDFReader   // nil: pdftotext is missing
	server *openai.Transcriber   // behind voice
	bot    atomic.Pointer[bot]   // set once it runs
}

// openReaders makes the readers of the settings.
func openReaders(s *config.Settings, log *slog.Logger) (*readers, error) {
	r := &readers{pdf: platform.FindPDFReader()}
	t, on, err := config.TranscriptionServer(s)
	if err != nil || !on {
		return r, err
	}
	r.server, err = openai.NewTranscriber(openai.Options{
		BaseURL: t.BaseURL, APIKey: t.Key, Model: t.Model, MaxRetries: 1, IdleTimeout: time.Minute, MaxTime: time.Minute, Log: log,
	})
	if err != nil {
		return nil, err
	}
	r.voice = platform.NewTranscriber(s.Transcription.MaxSeconds, s.Transcription.Overheard, log)
	r.voice.May = r.may
	r.voice.Do = r.transcribe
	return r, nil
}

// files reads what people hand to the bot itself, by the current settings.
func (b *bot) files() platform.Files {
	s := b.settings()
	f := platform.Files{Tokens: s.AttachmentTokens, Pictures: s.Pictures}
	if b.readers != nil {
		f.Voice = b.readers.voice
		f.PDF = b.readers.pdf
	}
	return f
}

// may reports whether a budget allows to transcribe a recording, and its author: what is overheard of somebody who has opted out of
// memories goes to no other server.
func (r *readers) may(ctx context.Context, of platform.Recording) bool {
	b := r.bot.Load()
	if b == nil { // it starts; who asks has waited long enough
		return of.Asked
	}
	if !b.hasBudget() {
		return false
	}
	if of.Asked {
		return true
	}
	c, err := b.store.Find(ctx, of.Conversation)
	if err != nil {
		return false
	}
	out, err := store.View(ctx, c, "look who has opted out", func(tx *store.Tx) []string { return c.People(tx).Out() })
	return err == nil && !slices.Contains(out, of.AuthorID)
}

func (r *readers) transcribe(ctx context.Context, of platform.Recording) (string, error) {
	text, used, err := r.server.Transcribe(ctx, of.Name, of.Audio)
	if b := r.bot.Load(); b != nil && err == nil {
		b.spent(store.ForTurn, r.server.Name(), of.Conversation, used)
	}
	return text, err
}

// attachments says how PDFs are read, and has the server transcribe a second of silence.
func (d *doctor) attachments(ctx context.Context) {
	s := &d.app.settings
	r, err := openReaders(s, slog.New(slog.DiscardHandler))
	switch {
	case err != nil:
		d.report("files", err)
		return
	case s.AttachmentTokens == 0:
		d.report("files", nil, "attachment_tokens = 0: text files, PDFs and voice are not read")
		return
	case r.pdf == nil:
		d.report("files", nil, "PDFs are not read: pdftotext is missing; install poppler-utils")
	default:
		d.report("files", nil, "PDFs are read by "+r.pdf.Program())
	}
	if r.server == nil {
		d.report("files", nil, "voice is not transcribed, except by Slack itself: [transcription] is off")
		return
	}
	limited, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	began := time.Now()
	_, _, err = r.server.Transcribe(limited, "silence.wav", silence())
	at := fmt.Sprintf("transcription by %s at %s", r.server.Name(), config.MaskAddress(s.Transcription.BaseURL))
	if err != nil {
		d.report("files", fmt.Errorf("%s: %w", at, err))
		return
	}
	d.report("files", nil, fmt.Sprintf("%s: %v for a second of silence; voice is sent there", at, time.Since(began).Round(time.Millisecond)))
}

// silence returns a second of silence as a WAV file.
func silence() []byte {
	const rate, bytesOfSample = 16000, 2
	var wav bytes.Buffer
	for _, part := range []any{
		[]byte("RIFF"), uint32(36 + rate*bytesOfSample), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate * bytesOfSample),
		uint16(bytesOfSample), uint16(8 * bytesOfSample), []byte("data"), uint32(rate * bytesOfSample), make([]byte, rate*bytesOfSample),
	} {
		_ = binary.Write(&wav, binary.LittleEndian, part) // a buffer takes everything
	}
	return wav.Bytes()
}
