// Drafts: the messages that show replies while they are written.

package slack

import (
	"context"
	"strings"

	slackgo "github.com/slack-go/slack"
)

// draft is the message that shows a reply while it is written: a Slack stream where possible, else
// a message that is edited. A stream can only be appended to; if the final text differs, the last
// edit corrects it.
type draft struct {
	ts        string // empty: nothing has been posted
	text      string // text of the message, as it was sent
	streaming bool   // the stream accepts more text
	unsure    bool   // the message may have a text other than text
	lost      bool   // it may have been posted with an unknown ts
}

// show updates the draft to show text, as far as a stream allows.
func (d *draft) show(ctx context.Context, w *writer, text string) error {
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
		_, _, err := w.s.api.once.AppendStreamContext(ctx, w.place.Channel, d.ts, slackgo.MsgOptionMarkdownText(more))
		if err == nil {
			d.text = sent
			return nil
		}
		d.unsure = mayHaveTakenEffect(err)
		if !isPermanent(err) {
			return err
		}
		d.streaming = false
		if codeOf(err) == "stopped_by_user" {
			return err // the reader stopped the stream, so nothing more is shown before the final text
		}
	}
	_, err := w.s.write(ctx, w.s.api.once, w.place.Channel, d.ts, text)
	if err == nil {
		d.text = sent
	}
	return err
}

// start shows the first text: in the draft of an earlier process, in a stream, or in a new message.
func (d *draft) start(ctx context.Context, w *writer, text string) (err error) {
	if w.mayHaveStarted() {
		own, err := w.findSent(ctx, false)
		if err != nil {
			return err
		}
		if d.adopt(own, w); d.ts != "" {
			return d.show(ctx, w, text)
		}
	}
	started, err := d.startStream(ctx, w, text)
	if !started && err == nil {
		d.ts, err = w.s.post(ctx, w.s.api.once, w.place, text, mark{answers: w.answers})
	}
	if err != nil {
		d.lost = mayHaveTakenEffect(err)
		return err
	}
	d.text = defuseMentions(text)
	return nil
}

// startStream starts a stream where Slack allows it: in threads, for the author of the answered
// message. Otherwise started is false.
func (d *draft) startStream(ctx context.Context, w *writer, text string) (started bool, err error) {
	author, known := w.s.authors.Find(w.place.Channel + "/" + w.answers)
	person, team, _ := strings.Cut(author, "/")
	if w.place.Thread == "" || text == placeholder || !known || w.s.plain.Load() {
		return false, nil
	}
	_, d.ts, err = w.s.api.once.StartStreamContext(ctx, w.place.Channel,
		slackgo.MsgOptionTS(w.place.Thread), slackgo.MsgOptionRecipientUserID(person), slackgo.MsgOptionRecipientTeamID(team),
		slackgo.MsgOptionMarkdownText(defuseMentions(text)))
	switch {
	case err == nil:
		w.s.noteOwnMessage(w.place, d.ts)
		if d.streaming = d.ts != "" && w.claim(d.ts); !d.streaming {
			d.ts = "" // another answer found it before this one knew its ts
		}
		return d.streaming, nil
	case isRefused(err):
		return false, nil
	}
	return false, err
}

// finished is the claim on a message that is no draft any more.
const finished = "finished"

// claim reports whether a draft belongs to this answer. A stream has no mark until it is stopped, and
// two answers may be written in one thread: the first of them to claim a draft has it.
func (w *writer) claim(ts string) bool {
	owner, _ := w.s.claims.First(w.place.Channel+"/"+ts, w.answers)
	return owner == w.answers
}

// adopt takes over the unfinished draft that an earlier process left for the same message.
func (d *draft) adopt(own []slackgo.Message, w *writer) {
	for _, o := range own {
		m, marked := markOf(o)
		unfinished := marked && m.reply == "" && m.answers == w.answers
		unmarked := !marked && o.Metadata.EventType == "" && w.place.Thread != "" && isTS(w.answers)
		if (unfinished || unmarked) && w.claim(o.Timestamp) {
			*d = draft{ts: o.Timestamp, unsure: true}
			return
		}
	}
}

// finish turns the draft into the first message of the reply.
func (d *draft) finish(ctx context.Context, w *writer, text string, m mark) error {
	if more, grows := strings.CutPrefix(defuseMentions(text), d.text); d.streaming && grows && !d.unsure {
		options := []slackgo.MsgOption{slackgo.MsgOptionMetadata(m.metadata())}
		if more != "" {
			options = append(options, slackgo.MsgOptionMarkdownText(more))
		}
		_, _, err := w.s.api.write.StopStreamContext(ctx, w.place.Channel, d.ts, options...)
		d.unsure = true
		if err == nil {
			return nil
		}
		w.s.Log.Debug("stop_stream_failed", "error", err)
	}
	err := w.s.edit(ctx, w.place, d.ts, text, m)
	if codeOf(err) == "streaming_state_conflict" { // it is a stream that was not stopped, maybe of an earlier process
		if err := d.stopStream(ctx, w); err != nil {
			return err
		}
		err = w.s.edit(ctx, w.place, d.ts, text, m)
	}
	return err
}

// stopStream stops the stream without adding text.
func (d *draft) stopStream(ctx context.Context, w *writer) error {
	_, _, err := w.s.api.write.StopStreamContext(ctx, w.place.Channel, d.ts)
	if err == nil || isPermanent(err) || unknownMethod(err) { // it has stopped already, or the edit will fail
		d.streaming = false
		return nil
	}
	return err
}
