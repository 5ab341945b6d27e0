// The stream of events, as its clients read it.

package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	firstAnswer = 10 * time.Second // of a bot that works
	silence     = 3 * heartbeat    // of a stream of events, whose bot then does not work any more
)

// Follow calls event with each event of a conversation until the stream ends, which is an error, or ctx does. It is first called with
// kind "" once the stream has started.
func (c Client) Follow(ctx context.Context, conversation string, event func(kind string, data []byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.events(ctx, cancel, url.Values{"conversation": {conversation}}, "")
	if err != nil {
		return err
	}
	defer stream.Close()
	readEvents(stream, func(kind string, data []byte, _ string) { event(kind, data) })
	return ErrLost
}

// events opens the stream of events after the one with an id. cancel ends ctx.
func (c Client) events(ctx context.Context, cancel func(), query url.Values, last string) (io.ReadCloser, error) {
	late := time.AfterFunc(firstAnswer, cancel)
	defer late.Stop()
	resp, err := c.send(ctx, http.MethodGet, "/api/events", query, nil, "Last-Event-ID", last)
	switch p, refused := errors.AsType[*Problem](err); {
	case err == nil:
		return resp.Body, nil
	case refused && p.Status < http.StatusInternalServerError:
		return nil, fmt.Errorf("the bot that runs there refuses this version of cairn, so it may be of another one: %w", p)
	case !late.Stop():
		return nil, fmt.Errorf("the bot that runs there did not answer within %v: it may be stopped or hang: %w", firstAnswer, ErrLost)
	}
	return nil, lostBy(err)
}

// lostBy returns a failure of the connection as ErrLost.
func lostBy(err error) error { return fmt.Errorf("%w: %w", ErrLost, err) }

// readEvents calls event with each event until the stream ends, or is silent. One without data says where the stream begins.
func readEvents(stream io.ReadCloser, event func(kind string, data []byte, id string)) {
	quiet := time.AfterFunc(silence, func() { _ = stream.Close() })
	defer quiet.Stop()
	lines := bufio.NewReader(stream)
	var id, kind, data string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		quiet.Reset(silence)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = value
		case "": // the end of an event, or a sign of life
			if id != "" || data != "" {
				event(kind, []byte(data), id)
			}
			id = ""
			kind = ""
			data = ""
		}
	}
}
