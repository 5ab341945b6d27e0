package discord

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/channel"
	"cairn/internal/platform"
)

// TestWhatComesIsReadUpToItsLimit: a small body that is large when it is decompressed.
func TestWhatComesIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	megabyte := bytes.Repeat([]byte(" "), 1<<20)
	for range channel.MaxAnswer/len(megabyte) + 1 {
		if _, err := z.Write(megabyte); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(small.Bytes()) // the client hangs up
	}))
	defer server.Close()
	d := &Discord{rest: newREST(server.URL, "token")}
	defer d.rest.client.CloseIdleConnections()
	t.Run("a file", func(t *testing.T) {
		if data, err := d.fetch(t.Context(), server.URL+"/attachments/1/2/a.txt", platform.MaxText); len(data) != platform.MaxText || err != nil {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	})
	t.Run("an answer", func(t *testing.T) {
		var into json.RawMessage
		err := d.rest.do(t.Context(), call{method: http.MethodGet, path: "/gateway", into: &into, once: true})
		if !errors.Is(err, channel.ErrTooLong) {
			t.Errorf("%d bytes, %v", len(into), err)
		}
	})
}
