package web

import (
	"bufio"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"cairn/testkit/check"
)

func TestAnswersAreCompressed(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(garden, 3)
	for _, path := range []string{"/static/style.css", "/api/openapi.json", at(garden, "/messages")} {
		plain := r.do(200, nil, "GET "+path, "", "Accept: text/html")
		packed := r.request("GET", path, "", "Accept: text/html", "Accept-Encoding: gzip")
		check.Equal(t, path+": encoding", packed.Header.Get("Content-Encoding"), "gzip")
		check.Equal(t, path+": varies by", packed.Header.Get("Vary"), "Accept-Encoding")
		text := must(io.ReadAll(must(gzip.NewReader(packed.Body))))
		check.Equal(t, path+": text", string(text), plain)
	}
	check.Equal(t, "encoding of a page", r.request("GET", "/", "", "Accept: text/html", "Accept-Encoding: gzip").Header.Get("Content-Encoding"), "gzip")
	events := r.request("GET", "/api/events", "", "Accept-Encoding: gzip")
	check.Equal(t, "encoding of events", events.Header.Get("Content-Encoding"), "")
	lines := bufio.NewScanner(events.Body)
	check.That(t, lines.Scan(), "the first line of the events does not arrive while the stream is open")
	r.say(garden, "They are red.")
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: turn") {
	}
	check.HasPrefix(t, "an event that has just happened", lines.Text(), "event: turn")
}
