package openai_test

import (
	"context"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func transcriber(t *testing.T, at, model string) *openai.Transcriber {
	return check.Must(openai.NewTranscriber(openai.Options{BaseURL: at, APIKey: "sk-1", Model: model, MaxRetries: 1, RetryDelay: time.Millisecond}))(t)
}

func TestTranscriptionOfARecording(t *testing.T) {
	server := llmtest.ServeTranscription(t)
	v := transcriber(t, server.URL, server.Model)
	server.Fail("429") // which is tried again
	text, used, err := v.Transcribe(t.Context(), "voice.ogg", llmtest.Recording("the ferry leaves at nine"))
	check.NoError(t, err)
	check.Equal(t, "the text", text, "the ferry leaves at nine")
	check.Equal(t, "the usage", used, llm.Usage{Prompt: 10, Completion: 5})
	check.Equal(t, "the request", server.Accepted()[0], llmtest.Transcribed{Name: "voice.ogg", Key: "Bearer sk-1", Said: text})
	_, err = openai.NewTranscriber(openai.Options{BaseURL: "localhost"})
	check.That(t, err != nil, "an address without a scheme is taken")
}

func TestFailuresOfTranscription(t *testing.T) {
	server := llmtest.ServeTranscription(t)
	said := llmtest.Recording("hello")
	for fault, want := range map[string]llm.Kind{
		"401": llm.KindAuth, "500*": llm.KindOverloaded, "error in 200": llm.KindBadRequest, "no text": llm.KindBadRequest, "huge": llm.KindBadRequest,
	} {
		server.Fail(fault)
		text, _, err := transcriber(t, server.URL, server.Model).Transcribe(t.Context(), "voice.ogg", said)
		check.That(t, llm.KindOf(err) == want && text == "", "%s: %q, %v, want %s", fault, text, err, want)
	}
	server.Fail()
	for problem, recording := range map[string][]byte{"could not be decoded": []byte("noise"), "Maximum content size": make([]byte, 26<<20)} {
		_, _, err := transcriber(t, server.URL, server.Model).Transcribe(t.Context(), "voice.ogg", recording)
		check.ErrorContains(t, "a recording", err, problem)
	}
	_, _, err := transcriber(t, server.URL, server.Model).Transcribe(t.Context(), "voice.aiff", said)
	check.ErrorContains(t, "another format", err, "Invalid file format")
	_, _, err = transcriber(t, server.URL, "whisper-0").Transcribe(t.Context(), "voice.ogg", said)
	check.Equal(t, "another model", llm.KindOf(err), llm.KindUnknownModel)
	server.Fail("hang")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = transcriber(t, server.URL, server.Model).Transcribe(ctx, "voice.ogg", said)
	check.Error(t, err, context.DeadlineExceeded)
}
