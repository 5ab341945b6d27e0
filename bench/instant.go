package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
)

// instantName is the name of the model.
const instantName = "bench-instant"

// instantModel is a chat completions server that answers every request immediately with the same
// text, and does as little work as possible.
type instantModel struct {
	answer  string
	largest atomic.Int64 // size of a request, in bytes
}

func (m *instantModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model","context_length":%d}]}`, instantName, fullWindow) // a client may have disconnected
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		n, _ := io.Copy(io.Discard, r.Body) // as above
		for old := m.largest.Load(); n > old && !m.largest.CompareAndSwap(old, n); old = m.largest.Load() {
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}

data: [DONE]

`, m.answer, n/4, len(m.answer)/4, (int(n)+len(m.answer))/4)
	default:
		http.NotFound(w, r)
	}
}

// largestResident returns the maximum resident memory of a process that has ended, in MiB; 0 if
// unknown.
func largestResident(state *os.ProcessState) float64 {
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024 // Maxrss is in KiB on Linux
	}
	return 0
}
