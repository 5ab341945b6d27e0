// Transcription: what is said in a recording, by POST /v1/audio/transcriptions, which many servers have.

package openai

import (
	"bytes"
	"cmp"
	"context"
	"mime/multipart"
	"net/http"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
	"cairn/llm/provider"
)

// Transcriber transcribes recordings on a server with OpenAI's interface.
type Transcriber struct{ *provider.Client }

// NewTranscriber returns a transcriber that has sent nothing yet. It fails if BaseURL is not a web address.
func NewTranscriber(options Options) (*Transcriber, error) {
	m, err := New(options)
	if err != nil {
		return nil, err
	}
	return &Transcriber{Client: m.Client}, nil
}

// maxTranscript limits the bytes of an answer: an hour of speech has about 60 kB.
const maxTranscript = 4 << 20

// transcript is the answer. Some models count tokens, others seconds, and some servers nothing.
type transcript struct {
	Text  *string
	Usage struct {
		Input  provider.Tokens `json:"input_tokens"`
		Output provider.Tokens `json:"output_tokens"`
	}
}

// Transcribe returns what is said in a recording, in the language of the speaker. The end of name tells the server the format.
// Errors are *llm.Error, or ctx's.
func (t *Transcriber) Transcribe(ctx context.Context, name string, audio []byte) (text string, used llm.Usage, err error) {
	body, mediaType, err := t.form(name, audio)
	if err != nil {
		return "", llm.Usage{}, err
	}
	var answer transcript
	err = t.PostAs(ctx, mediaType, t.Options.BaseURL+"/audio/transcriptions", body, maxTranscript, &answer)
	if err != nil {
		return "", llm.Usage{}, err
	}
	used = llm.Usage{Prompt: int(answer.Usage.Input), Completion: int(answer.Usage.Output)}
	if answer.Text == nil {
		return "", used, &llm.Error{Kind: llm.KindBadRequest, Status: http.StatusOK, Message: "transcription: the answer has no text"}
	}
	return *answer.Text, used, nil
}

// form writes the form of a request.
func (t *Transcriber) form(name string, audio []byte) (body []byte, mediaType string, err error) {
	var form bytes.Buffer
	form.Grow(len(audio) + 1<<10)
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = file.Write(audio)
	}
	err = cmp.Or(err, w.WriteField("model", t.Model()), w.WriteField("response_format", string(api.AudioResponseFormatJSON)), w.Close())
	return form.Bytes(), w.FormDataContentType(), err
}
