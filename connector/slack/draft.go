// What people see of a reply while it is written: a draft of it.

package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
)

// draft is the message that shows a reply while it is written: a Slack stream where possible, else a message that is
// edited. A stream can only be appended to; if the final text differs, the last edit corrects it.
type draft struct {
	ts        string // empty: nothing has been posted
	text      string // text of the message, as it was sent
	streaming bool   // the stream accepts more text
	unsure    bool   // the message may have a text other than text
	lost      bool   // it may have been posted with an unknown ts
	kept      func() // releases its last edit, see keepEdit; nil: none is kept
}

// show updates the draft to show text, as far as a stream allows.
func (d *draft) show(ctx context.Context, w *writer, text string) error {
	ctx = background(ctx, nil) // people wait for the finished text
	if d.ts == "" {
		return d.start(ctx, w, text)
	}
	sent := defuseMentions(text)
	if sent == d.text {
		return nil
	}
	if d.streaming {
		more, grows := strings.CutPrefix(sent, d.text)
		if !grows || d.unsure {
			return nil // the last edit corrects it
		}
		_, _, err := w.api.once.AppendStreamContext(ctx, w.place.Channel, d.ts, slackgo.MsgOptionMarkdownText(more))
		if err == nil {
			d.text = sent
			return nil
		}
		d.unsure = mayHaveTakenEffect(err)
		if !isPermanent(err) {
			return err
		}
		d.streaming = false
		if codeOf(err) == codeStopped {
			w.stopped()
			return err // no more text is sent
		}
	}
	_, err := w.poster.write(ctx, w.api.once, w.place.Channel, d.ts, text, nil)
	if err == nil {
		d.text = sent
	}
	return err
}

// start shows the first text: in the draft of an earlier process, in a stream, or in a new message.
func (d *draft) start(ctx context.Context, w *writer, text string) (err error) {
	if w.mayHaveStarted() && !w.looked {
		looking, done := context.WithCancel(ctx)
		defer context.AfterFunc(w.Live, done)() // the finished text looks itself, before others
		defer done()
		sent, err := w.findSent(looking, false)
		if err != nil {
			return err
		}
		w.adopt(ctx, sent)
		if len(w.full) > 0 {
			return nil // text is that of the first of them
		}
		if d.ts != "" {
			return d.show(ctx, w, text)
		}
	}
	started, err := d.startStream(ctx, w, text)
	if !started && err == nil {
		err = d.keepEdit(w)
	}
	if !started && err == nil {
		d.ts, err = w.poster.post(ctx, w.api.once, w.place, text, mark{Answers: w.answers}, nil, nil)
	}
	if err != nil {
		d.lost = mayHaveTakenEffect(err)
		return err
	}
	d.text = defuseMentions(text)
	return nil
}

// keepEdit keeps the edit that finishes a draft. Without one left, the answer is posted when it is complete, and does not have to wait for
// an edit: Slack allows four times as many posts.
func (d *draft) keepEdit(w *writer) error {
	if d.kept != nil {
		return nil
	}
	done, wait := w.api.gates.of("chat.update").keep()
	if wait > 0 {
		return &slackgo.RateLimitedError{RetryAfter: min(wait, keepPause)}
	}
	release := sync.OnceFunc(done)
	d.kept = release
	context.AfterFunc(w.Live, func() { time.AfterFunc(callTimeout, release) }) // there may be no edit
	return nil
}

// releaseEdit gives up the edit that is kept: it is about to be made.
func (d *draft) releaseEdit() {
	if d.kept != nil {
		d.kept()
	}
}

const keepPause = 2 * time.Second // until a draft tries again to keep its last edit

// startStream starts a stream where Slack allows it: in a thread, for the author of the answered message.
func (d *draft) startStream(ctx context.Context, w *writer, text string) (started bool, err error) {
	person, team, known := w.recent.author(w.place.Channel, w.answers)
	if w.place.Thread == "" || text == placeholder || !known || w.poster.plain.Load() {
		return false, nil
	}
	_, d.ts, err = w.api.once.StartStreamContext(ctx, w.place.Channel,
		slackgo.MsgOptionTS(w.place.Thread), slackgo.MsgOptionRecipientUserID(person), slackgo.MsgOptionRecipientTeamID(team),
		slackgo.MsgOptionMarkdownText(defuseMentions(text)))
	_, limited := rateLimit(err)
	if err == nil || mayHaveTakenEffect(err) {
		w.busy.Store(true)
	}
	switch {
	case err == nil:
		w.recent.noteFromBot(w.place.Channel, d.ts)
		w.poster.notePost(w.place, nil)
		d.streaming = d.ts != "" && w.recent.claim(w.place.Channel, d.ts, w.answers)
		if !d.streaming {
			d.ts = "" // another answer found it before this one knew its ts
		}
		return d.streaming, nil
	case isRefused(err), limited: // a message can be edited instead
		return false, nil
	}
	return false, err
}

// end ends a stream whose message has all of its piece: Slack limits the text of a stream, and so does an edit.
func (d *draft) end(ctx context.Context, w *writer) error {
	_, _, err := w.api.once.StopStreamContext(background(ctx, nil), w.place.Channel, d.ts, mark{Answers: w.answers}.option())
	if err == nil || isPermanent(err) {
		d.streaming = false
		d.unsure = d.unsure || err != nil
		w.busy.Store(err != nil)
	}
	if codeOf(err) == codeStopped {
		w.stopped()
		return err
	}
	if isPermanent(err) {
		return nil
	}
	return err
}

// finish turns the draft into the first message of the reply, with buttons under it.
func (d *draft) finish(ctx context.Context, w *writer, text string, m mark, under []slackgo.BlockElement) error {
	metadata := m.option()
	if more, grows := strings.CutPrefix(defuseMentions(text), d.text); d.streaming && grows && !d.unsure {
		options := []slackgo.MsgOption{metadata}
		if more != "" {
			options = append(options, slackgo.MsgOptionMarkdownText(more))
		}
		if len(under) > 0 {
			options = append(options, slackgo.MsgOptionBlocks(slackgo.NewActionBlock("", under...)))
		}
		_, _, err := w.api.write.StopStreamContext(ctx, w.place.Channel, d.ts, options...)
		d.unsure = true
		if err == nil {
			w.busy.Store(false)
			return nil
		}
		if codeOf(err) == codeStopped { // its event may have come to another process
			w.recent.noteStopped(w.place.Channel, d.ts)
		}
		w.base.Log.Debug("stop_stream_failed", "error", err)
	}
	d.releaseEdit()
	_, err := w.poster.write(ctx, w.api.write, w.place.Channel, d.ts, text, under, metadata)
	if codeOf(err) == "streaming_state_conflict" { // it is a stream that was not stopped, maybe of an earlier process
		if err := d.stopStream(ctx, w); err != nil {
			return err
		}
		_, err = w.poster.write(ctx, w.api.write, w.place.Channel, d.ts, text, under, metadata)
	}
	return err
}

func (d *draft) stopStream(ctx context.Context, w *writer) error {
	_, _, err := w.api.write.StopStreamContext(ctx, w.place.Channel, d.ts)
	if err == nil {
		w.busy.Store(false)
	}
	if err == nil || isPermanent(err) || unknownMethod(err) { // it has stopped already, or the edit will fail
		d.streaming = false
		return nil
	}
	return err
}
