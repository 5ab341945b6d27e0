// A strict server for transcription on loopback: what OpenAI demands and refuses (platform.openai.com/docs/api-reference/audio/createTranscription,
// help.openai.com/en/articles/7031512-whisper-api-faq), and how servers fail.

package llmtest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxRecording  = 25 << 20 // "the maximum request size is 25 MiB"
	recordingMark = "OggS"   // begins each file of that format
)

// recordingFormats are those of the documentation, by the end of the file's name.
var recordingFormats = []string{".flac", ".m4a", ".mp3", ".mp4", ".mpeg", ".mpga", ".oga", ".ogg", ".wav", ".webm"}

// transcriptionFields are the fields of a form besides file and model.
var transcriptionFields = []string{
	"language", "prompt", "response_format", "temperature", "timestamp_granularities[]", "chunking_strategy", "include[]", "stream",
}

// Recording returns a recording in which somebody says a text, as far as TranscriptionServer understands it.
func Recording(said string) []byte { return []byte(recordingMark + said) }

// Transcribed is a request that was accepted.
type Transcribed struct {
	Name, Key string // of the file; the Authorization header
	Said      string
}

// TranscriptionServer transcribes what Recording returns.
type TranscriptionServer struct {
	URL   string // the base URL, including /v1
	Model string // the only one it has; set before the first request

	mu       sync.Mutex // guards the fields below
	faults   []string
	accepted []Transcribed
}

// ServeTranscription starts a server, which is closed at the end of the test.
func ServeTranscription(t interface{ Cleanup(func()) }) *TranscriptionServer {
	s := &TranscriptionServer{Model: "test-transcribe"}
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

// Fail makes the next requests fail, each in one way: "401", "429", "500", "hang", "not JSON", "error in 200", "no text", "silence", "huge";
// "500*" and so on: from then on. No ways: it works again.
func (s *TranscriptionServer) Fail(ways ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = ways
}

// Accepted returns the requests that were accepted, oldest first.
func (s *TranscriptionServer) Accepted() []Transcribed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.accepted)
}

func (s *TranscriptionServer) fault() (fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return ""
	}
	fault, lasts := strings.CutSuffix(s.faults[0], "*")
	if !lasts {
		s.faults = s.faults[1:]
	}
	return fault
}

func (s *TranscriptionServer) serve(w http.ResponseWriter, r *http.Request, ended chan struct{}) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/audio/transcriptions" {
		http.NotFound(w, r)
		return
	}
	said, name, status, refusal := s.read(r)
	w.Header().Set("Content-Type", "application/json")
	fault := s.fault()
	switch {
	case refusal != "":
		http.Error(w, errorBody("invalid_request_error", refusal), status)
		return
	case fault == "401":
		http.Error(w, errorBody("invalid_api_key", "Incorrect API key provided"), http.StatusUnauthorized)
	case fault == "429":
		w.Header().Set("Retry-After", "0")
		http.Error(w, errorBody("rate_limit_exceeded", "slow down"), http.StatusTooManyRequests)
	case fault == "500":
		http.Error(w, errorBody("server_error", "out of memory"), http.StatusInternalServerError)
	case fault == "not JSON":
		fmt.Fprint(w, "<html>starting</html>")
	case fault == "error in 200":
		fmt.Fprint(w, errorBody("server_error", "model is loading"))
	case fault == "no text":
		fmt.Fprint(w, `{"usage":{"type":"duration","seconds":1}}`)
	case fault == "huge":
		fmt.Fprintf(w, `{"text":%q}`, strings.Repeat("la ", 2<<20))
	case fault == "hang":
		select {
		case <-ended:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
	default:
		if fault == "silence" {
			said = " \n"
		}
		s.mu.Lock()
		s.accepted = append(s.accepted, Transcribed{Name: name, Key: r.Header.Get("Authorization"), Said: said})
		s.mu.Unlock()
		// The usage of models that count tokens.
		fmt.Fprintf(w, `{"text":%q,"usage":{"type":"tokens","input_tokens":%d,"output_tokens":%d,"total_tokens":%d}}`, said, 10, len(strings.Fields(said)), 10+len(strings.Fields(said)))
	}
}

// read reads the form of a request, or returns why it is refused.
func (s *TranscriptionServer) read(r *http.Request) (said, name string, status int, refusal string) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "multipart/form-data" {
		return "", "", http.StatusBadRequest, "Could not parse multipart form"
	}
	body := http.MaxBytesReader(nil, r.Body, maxRecording+1<<16)
	r.Body = body
	if err := r.ParseMultipartForm(maxRecording); err != nil {
		return "", "", http.StatusRequestEntityTooLarge, fmt.Sprintf("Maximum content size limit (%d) exceeded", maxRecording)
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }()
	for field, values := range r.MultipartForm.Value {
		if field != "model" && !slices.Contains(transcriptionFields, field) {
			return "", "", http.StatusBadRequest, "Unrecognized request argument supplied: " + field
		}
		if len(values) != 1 {
			return "", "", http.StatusBadRequest, field + ": given more than once"
		}
	}
	format := r.FormValue("response_format")
	switch model := r.FormValue("model"); {
	case model == "":
		return "", "", http.StatusBadRequest, "you must provide a model parameter"
	case model != s.Model:
		return "", "", http.StatusNotFound, "The model `" + model + "` does not exist or you do not have access to it."
	case format != "" && format != "json" && format != "text": // what all models take
		return "", "", http.StatusBadRequest, "response_format '" + format + "' is not compatible with this model"
	}
	file, header, err := r.FormFile("file")
	if err != nil || len(r.MultipartForm.File) != 1 {
		return "", "", http.StatusBadRequest, "[{'type': 'missing', 'loc': ('body', 'file'), 'msg': 'Field required'}]"
	}
	audio, _ := io.ReadAll(file) // it is in memory
	text, understood := strings.CutPrefix(string(audio), recordingMark)
	switch {
	case !slices.Contains(recordingFormats, strings.ToLower(path.Ext(header.Filename))):
		return "", "", http.StatusBadRequest, "Invalid file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']"
	case strings.HasPrefix(string(audio), "RIFF"): // nobody speaks
		return "", header.Filename, 0, ""
	case !understood:
		return "", "", http.StatusBadRequest, "The audio file could not be decoded or its format is not supported."
	}
	return text, header.Filename, 0, ""
}
