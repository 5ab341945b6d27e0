package channel_test

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

var redSquare = []byte("\x89PNG\r\n\x1a\na")

const pictureLine = "[picture: image/png, 9 B]"

// withPicture gives the model a tool whose result has a picture.
func (r *rig) withPicture() *channeltest.Box {
	b := r.withTools("")
	b.Result = "a red square\n" + pictureLine
	b.Pictures = []llm.Image{{Type: "image/png", Data: redSquare}}
	return b
}

// shownFiles returns the pictures of tool results in a request, in order.
func shownFiles(req llm.Request) (files []llm.Image) {
	for _, m := range req.Messages {
		if m.Role == llm.RoleTool {
			files = append(files, m.Images...)
		}
	}
	return files
}

func (r *rig) storedFiles() int {
	r.t.Helper()
	return storetest.Number(r.t, r.store, "SELECT count(*) FROM files")
}

func TestPicturesOfResultsAreShownUntilDeleted(t *testing.T) {
	r := newRig(t, nil)
	r.withPicture()
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 { // what a model says of a result is its own
			return llmtest.Say("I see."), nil
		}
		return channeltest.Add(ctx, n, req)
	}
	asked := r.inbound("please add", true)
	r.post(asked)
	r.ask("what is on it?")
	r.restart()
	r.ask("and its colour?")

	requests := r.model.Requests()
	check.Require(t, len(requests) == 4, "got %d requests", len(requests))
	check.Len(t, "pictures before the call", shownFiles(requests[0]), 0)
	for _, req := range requests[1:] {
		files := shownFiles(req)
		check.Require(t, len(files) == 1, "got %d pictures", len(files))
		check.Equal(t, "label", files[0].Label, "image from calc_add")
		check.That(t, files[0].Type == "image/png" && bytes.Equal(files[0].Data, redSquare), "got %+v", files[0])
	}
	for i, req := range requests[2:] { // each request begins with the previous one, also after a restart
		before := requests[i+1].Messages
		check.That(t, reflect.DeepEqual(req.Messages[:len(before)], before), "request %d: got\n%+v\nwant it to begin with\n%+v", i+2, req.Messages, before)
	}
	result := storetest.Message(t, storetest.Find(t, r.store, place), 3)
	check.Equal(t, "tokens of the result", result.Tokens, chat.TokensOf(result))
	check.That(t, result.Tokens > chat.PictureTokens, "the result counts %d tokens", result.Tokens)
	check.Equal(t, "the line for people", strings.Count(chat.RecordOf(result).String(), "image/png"), 1)

	check.NoError(t, r.hub.Delete(t.Context(), place, asked.ID))
	check.Equal(t, "stored pictures after the deletion", r.storedFiles(), 0)
	check.Len(t, "attachments after the deletion", storetest.Message(t, storetest.Find(t, r.store, place), 3).Attachments, 0)
	r.ask("still there?")
	last := r.model.Requests()[len(r.model.Requests())-1]
	check.Len(t, "pictures after the deletion", shownFiles(last), 0)
	check.Lacks(t, "text after the deletion", r.lastRequestText(), "red square", pictureLine)
}

func TestPicturesOfAbandonedAttemptAreDeleted(t *testing.T) {
	for claim, again := range map[string]bool{"repeated with the call": true, "repeated without it": false} {
		r := newRig(t, nil)
		r.withPicture()
		stored := -1
		r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			switch {
			case n == 2:
				stored = r.storedFiles()
				return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}
			case n > 2 && !again:
				return llmtest.Say("no idea"), nil
			}
			return channeltest.Add(ctx, n, req)
		}
		r.ask("please add")
		check.Equal(t, claim+": stored during the first attempt", stored, 1)
		want := 0
		if again {
			want = 1
		}
		check.Equal(t, claim+": stored at the end", r.storedFiles(), want)
	}
}

func TestModelThatCannotSeeReadsThePicturesLine(t *testing.T) {
	r := newRig(t, nil)
	r.withPicture()
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(shownFiles(req)) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: "No endpoints found that support image input", Status: 404}
		}
		return channeltest.Add(ctx, n, req)
	}
	check.Contains(t, "answer", r.ask("please add"), pictureLine)
}

// A deletion during the turn reaches the pictures that its tools have returned so far, and those to come.
func TestDeletionDuringTurnReachesPictures(t *testing.T) {
	r := newRig(t, nil)
	r.withPicture()
	asked := r.inbound("please add", true)
	stored := -1
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 2 {
			check.NoError(t, r.hub.Delete(context.WithoutCancel(ctx), place, asked.ID))
			stored = r.storedFiles()
		}
		return channeltest.Add(ctx, n, req)
	}
	r.post(asked)
	r.waitForReplies()
	check.Equal(t, "stored after the deletion", stored, 0)
	check.Equal(t, "stored at the end", r.storedFiles(), 0)
}

var _ channel.Toolbox = (*channeltest.Box)(nil)
