// A strict server of embeddings on loopback: what OpenAI, vLLM, TEI and llama.cpp demand and refuse, and how servers fail.

package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Embeddings are the rules of a server of embeddings. Texts with the same words, or words for the same, have similar vectors.
type Embeddings struct {
	Length   int               // of its vectors; 0: 48
	Shortens bool              // it takes dimensions; else it refuses them, as vLLM does for most models
	Ignores  bool              // it ignores dimensions, as llama.cpp does
	MaxTexts int               // in a request, as in TEI; 0: 2048, as at OpenAI
	MaxBytes int               // of a text; a longer one is refused, as by llama.cpp; 0: 8192
	Same     map[string]string // words that mean the same as others
	Base64   bool              // it sends base64 whatever is asked for
	Model    string            // the only one it has; "": test-embedding
}

// EmbeddingServer is a server by these rules.
type EmbeddingServer struct {
	URL   string // the base URL, including /v1
	rules Embeddings

	mu       sync.Mutex // guards the fields below
	faults   []string
	requests [][]string
	keys     []string
}

// ServeEmbeddings starts a server, which is closed at the end of the test.
func ServeEmbeddings(t interface{ Cleanup(func()) }, rules Embeddings) *EmbeddingServer {
	s := &EmbeddingServer{rules: rules}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, ended) }))
	s.URL = server.URL + "/v1"
	t.Cleanup(func() {
		close(ended)
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// Fail makes the next requests fail, each in one way: "429", "500", "hang", "cut", "not JSON", "too few", "wrong length", "null", "huge",
// "zero", "twice", "reversed" (which is allowed), "error in 200"; "429*" and so on: from then on. No ways: it works again.
func (s *EmbeddingServer) Fail(ways ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = ways
}

// Change replaces the rules.
func (s *EmbeddingServer) Change(rules Embeddings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = rules
}

// Requests returns the texts of the requests that were accepted, oldest first.
func (s *EmbeddingServer) Requests() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Keys returns the keys of all requests.
func (s *EmbeddingServer) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

type embeddingRequest struct {
	Input      []string `json:"input"`
	Model      string   `json:"model"`
	Format     string   `json:"encoding_format"`
	Dimensions *int     `json:"dimensions"`
}

func (s *EmbeddingServer) serve(w http.ResponseWriter, r *http.Request, ended chan struct{}) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" {
		http.NotFound(w, r)
		return
	}
	var req embeddingRequest
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&req)
	s.mu.Lock()
	rules := s.rules
	s.keys = append(s.keys, r.Header.Get("Authorization"))
	fault := ""
	if len(s.faults) > 0 {
		fault = s.faults[0]
		if !strings.HasSuffix(fault, "*") {
			s.faults = s.faults[1:]
		}
		fault = strings.TrimSuffix(fault, "*")
	}
	refusal := rules.refusal(req, err)
	if (fault == "" || fault == "reversed") && refusal == "" {
		s.requests = append(s.requests, req.Input)
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case fault == "429":
		w.Header().Set("Retry-After", "0")
		http.Error(w, errorBody("rate_limit_exceeded", "slow down"), http.StatusTooManyRequests)
	case fault == "500":
		http.Error(w, errorBody("server_error", "out of memory"), http.StatusInternalServerError)
	case fault == "hang":
		select {
		case <-ended:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	case refusal != "":
		status := http.StatusBadRequest
		if strings.Contains(refusal, "does not exist") {
			status = http.StatusNotFound
		}
		http.Error(w, errorBody("invalid_request_error", refusal), status)
	default:
		text := rules.answer(req, fault)
		if fault == "cut" {
			text = text[:len(text)/2]
		}
		_, _ = w.Write(text) // the client may have disconnected
	}
}

// refusal returns what the server refuses in a request; "": nothing.
func (e Embeddings) refusal(req embeddingRequest, err error) string {
	most := orElse(e.MaxTexts, 2048)
	switch {
	case err != nil:
		return "the request is not valid: " + err.Error()
	case req.Model != orElse(e.Model, "test-embedding"):
		return "The model `" + req.Model + "` does not exist."
	case len(req.Input) == 0 || slices.Contains(req.Input, ""):
		return "'$.input' is invalid: an empty text" // https://platform.openai.com/docs/api-reference/embeddings/create
	case len(req.Input) > most:
		return fmt.Sprintf("batch size %d > maximum allowed batch size %d", len(req.Input), most) // TEI
	case req.Dimensions != nil && !e.Shortens && !e.Ignores:
		return "Model \"m\" does not support matryoshka representation, changing output dimensions will lead to poor results." // vLLM
	case req.Dimensions != nil && (*req.Dimensions < 1 || *req.Dimensions > e.length()) && !e.Ignores:
		return "Invalid value for 'dimensions'"
	case req.Format != "" && req.Format != "float" && req.Format != "base64":
		return "Invalid value for 'encoding_format'"
	}
	for _, text := range req.Input {
		if len(text) > orElse(e.MaxBytes, 8192) {
			return "input is too large to process. increase the physical batch size" // llama.cpp
		}
	}
	return ""
}

func orElse[T comparable](value, other T) T {
	var none T
	if value == none {
		return other
	}
	return value
}

func (e Embeddings) length() int { return orElse(e.Length, 48) }

func (e Embeddings) answer(req embeddingRequest, fault string) []byte {
	switch fault {
	case "not JSON":
		return []byte("<html>starting</html>")
	case "error in 200":
		return []byte(errorBody("server_error", "model is loading"))
	}
	length := e.length()
	if req.Dimensions != nil && e.Shortens {
		length = *req.Dimensions
	}
	var data []map[string]any
	tokens := 0
	for i, text := range req.Input {
		tokens += len(strings.Fields(text))
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": e.encode(e.vector(text, length), req.Format)})
	}
	last := data[len(data)-1]
	v := e.vector("x", length)
	switch fault {
	case "too few":
		data = data[1:]
	case "wrong length":
		last["embedding"] = v[1:]
	case "null":
		last["embedding"] = []any{nil, 1}
	case "huge":
		last["embedding"] = json.RawMessage("[1e400]")
	case "zero":
		last["embedding"] = make([]float32, length)
	case "twice":
		last["index"] = 0
	case "reversed":
		slices.Reverse(data)
	}
	return []byte(encode(map[string]any{
		"object": "list", "model": req.Model, "data": data, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens},
	}))
}

func (e Embeddings) encode(v []float32, format string) any {
	if format != "base64" && !e.Base64 {
		return v
	}
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, v) // a buffer takes everything
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// vector returns the sum of a direction for each different word, with a length of 1.
func (e Embeddings) vector(text string, length int) []float32 {
	v := make([]float32, length)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" .,:?!'\n", r) })
	slices.Sort(words)
	for _, word := range slices.Compact(append(words, "\x00")) { // all texts share something
		word = orElse(e.Same[word], word)
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(word))
		state := sum.Sum64()
		for i := range v {
			state = state*6364136223846793005 + 1442695040888963407
			v[i] += float32(int32(state>>32)) / math.MaxInt32
		}
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x * x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}
