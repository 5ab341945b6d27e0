// Embeddings: the vectors of texts, by POST /v1/embeddings, which many servers have.

package openai

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
	"cairn/llm/provider"
)

// Embedder is an llm.Embedder behind a server with OpenAI's interface.
type Embedder struct {
	*provider.Client
	dimensions int
}

var _ llm.Embedder = (*Embedder)(nil)

// NewEmbedder returns an embedder that has sent nothing yet. It asks for vectors of so many dimensions; servers that cannot shorten
// them send longer ones. It fails if BaseURL is not a web address.
func NewEmbedder(options Options, dimensions int) (*Embedder, error) {
	m, err := New(options)
	if err != nil {
		return nil, err
	}
	return &Embedder{Client: m.Client, dimensions: dimensions}, nil
}

// Space implements llm.Embedder.
func (e *Embedder) Space() string { return e.ModelAtServer() }

// aboutDimensions matches refusals of the field: OpenAI's, vLLM's, and those of servers that do not know it.
var aboutDimensions = regexp.MustCompile(`(?i)dimension|matryoshka|` + unnamedField)

// maxEmbeddings limits the bytes of an answer: 100 vectors of 4096 numbers in text have 9 MB.
const maxEmbeddings = 32 << 20

// embedded is the answer. Servers may send any order.
type embedded struct {
	Data []struct {
		Index     int
		Embedding json.RawMessage // a list of numbers, or base64 of 32-bit ones
	}
	Usage struct {
		Prompt provider.Tokens `json:"prompt_tokens"`
	}
}

// Embed implements llm.Embedder.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if len(texts) == 0 {
		return nil, llm.Usage{}, nil
	}
	req := api.EmbeddingRequest{Input: texts, Model: api.EmbeddingModel(e.Model()), EncodingFormat: api.EmbeddingEncodingFormatFloat}
	if !e.Demands().Refused["dimensions"] {
		req.Dimensions = e.dimensions
	}
	var answer embedded
	err := e.post(ctx, req, &answer)
	if llm.KindOf(err) == llm.KindBadRequest && req.Dimensions > 0 && aboutDimensions.MatchString(err.Error()) {
		e.Demand(func(d *provider.Demands) { d.Refused["dimensions"] = true })
		e.Options.Log.Info("field_refused", "model", e.Model(), "field", "dimensions", "error", err)
		req.Dimensions = 0
		err = e.post(ctx, req, &answer)
	}
	if err != nil {
		return nil, llm.Usage{}, err
	}
	used := llm.Usage{Prompt: int(answer.Usage.Prompt)}
	vectors, err := answer.vectors(len(texts))
	if err != nil {
		return nil, used, &llm.Error{Kind: llm.KindBadRequest, Status: http.StatusOK, Message: "embeddings: " + err.Error(), Err: err}
	}
	return vectors, used, nil
}

func (e *Embedder) post(ctx context.Context, req api.EmbeddingRequest, into *embedded) error {
	*into = embedded{}
	return e.Post(ctx, e.Options.BaseURL+"/embeddings", req, maxEmbeddings, into)
}

// vectors returns the vectors of n texts, in order.
func (a embedded) vectors(n int) ([][]float32, error) {
	if len(a.Data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(a.Data), n)
	}
	all := make([][]float32, n)
	for _, d := range a.Data {
		if d.Index < 0 || d.Index >= n || all[d.Index] != nil {
			return nil, fmt.Errorf("index %d is there twice, or beyond the %d texts", d.Index, n)
		}
		v, err := numbers(d.Embedding)
		if err != nil {
			return nil, fmt.Errorf("vector %d: %w", d.Index, err)
		}
		all[d.Index] = v
	}
	for i, v := range all {
		if len(v) != len(all[0]) {
			return nil, fmt.Errorf("vector %d has %d numbers, the first one %d", i, len(v), len(all[0]))
		}
	}
	return all, nil
}

// numbers returns the numbers of a vector, which are all finite, and not all 0.
func numbers(raw json.RawMessage) (v []float32, err error) {
	var text []byte
	switch {
	case bytes.HasPrefix(raw, []byte(`"`)):
		err = json.Unmarshal(raw, &text) // which decodes base64
		v = make([]float32, len(text)/4)
		if err == nil && len(text)%4 == 0 {
			_, err = binary.Decode(text, binary.LittleEndian, v)
		}
	case bytes.Contains(raw, []byte("null")): // what JSON makes of NaN
		return nil, errors.New("a number is missing")
	default:
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Abs(float64(x))
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("no direction in %d numbers", len(v))
	}
	return v, nil
}
