package builtin

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"cairn/testkit/check"
)

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestOnlyPublicAddressesAreConnectedTo(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1:80", "0.0.0.0:80", "10.1.2.3:80", "172.16.0.1:443", "192.168.1.1:80", "169.254.169.254:80", "100.64.0.1:80", "168.63.129.16:80",
		"192.0.0.1:80", "198.18.0.1:80", "224.0.0.1:80", "240.0.0.1:80", "255.255.255.255:80",
		"[::1]:80", "[::]:80", "[fe80::1]:80", "[fc00::1]:80", "[fd12::1]:443", "[ff02::1]:80",
		"[::ffff:127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[2001:db8::1]:80", "[2002:7f00:1::]:80", "[2001::1]:80",
		"93.184.216.34:22", "93.184.216.34:8080", // public, at ports of other services
	} {
		network := map[bool]string{true: "tcp6", false: "tcp4"}[address[0] == '[']
		check.That(t, publicOnly(network, address, nil) != nil, "%s was accepted", address)
	}
	check.NoError(t, publicOnly("tcp4", "93.184.216.34:443", nil))
	check.NoError(t, publicOnly("tcp6", "[2606:2800:220:1:248:1893:25c8:1946]:80", nil))
}

func TestFetchRefusesLocalAddresses(t *testing.T) {
	address := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a local server was contacted") })
	client := newClient(publicOnly)
	port := address[strings.LastIndex(address, ":"):]
	for _, a := range []string{
		address, "http://localhost" + port, "http://2130706433" + port, "http://[::ffff:127.0.0.1]" + port, "http://127.1" + port,
		"http://0177.0.0.1" + port, "http://017700000001" + port, "http://0x7f000001" + port, "http://0" + port, "http://localhost." + port, "http://①②⑦.⓪.⓪.①" + port,
		"http://[::127.0.0.1]" + port, "http://[fe80::1%25lo]" + port, "http://127.0.0.1" + port + "#@example.com/",
	} {
		err := check.ErrorOf(fetch(t.Context(), client, a))
		check.That(t, err != nil && !strings.Contains(err.Error(), "dial"), "%s: %v", a, err)
	}
	for _, a := range []string{"file:///etc/passwd", "gopher://example.com", "example.com", "http://", "http://ada:secret@example.com/", "\x00"} {
		check.That(t, check.ErrorOf(fetch(t.Context(), client, a)) != nil, "%q was accepted", a)
	}
}

func TestRedirectsAreCheckedAgain(t *testing.T) {
	inner := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the inner server was contacted") })
	to := map[string]string{"/inner": inner, "/file": "file:///etc/passwd", "/loop": "/loop"}
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to[r.URL.Path], http.StatusFound) })
	first := strings.TrimPrefix(outer, "http://")
	client := newClient(func(network, address string, c syscall.RawConn) error { // only outer passes for public
		if address == first {
			return nil
		}
		return publicOnly(network, address, c)
	})
	for path, want := range map[string]string{"/inner": "only public addresses", "/file": "must begin with http", "/loop": "more than 5 redirects"} {
		check.ErrorContains(t, path, check.ErrorOf(fetch(t.Context(), client, outer+path)), want)
	}
}

func TestFetchReturnsReadableText(t *testing.T) {
	var megabyte bytes.Buffer // compressed; a stream may consist of many
	z := gzip.NewWriter(&megabyte)
	check.Must(z.Write(make([]byte, 1<<20)))(t)
	check.NoError(t, z.Close())
	paragraph := "<p>" + strings.Repeat("The garden has roses, and the gate was painted green in May. ", 12) + "</p>"
	late := `"` + strings.Repeat("many roses ", 200) + `in a café"` // what is not ASCII comes late, and nobody says the encoding
	pages := map[string][2]string{
		"/article": {"text/html; charset=utf-8", `<html><head><title>The garden</title><script>alert("no")</script></head><body><nav>Home Shop Login</nav>` +
			`<article><h1>The garden</h1>` + strings.Repeat(paragraph, 4) + `</article></body></html>`},
		"/latin":     {"text/plain; charset=iso-8859-1", "caf\xe9"},
		"/json":      {"application/json", `{"roses": 12}`},
		"/late.json": {"application/json", late},
		"/late.txt":  {"text/plain", late},
		"/late.html": {"text/html", late},
		"/picture":   {"image/png", "\x89PNG"},
		"/huge":      {"text/plain", strings.Repeat("x", maxPage+10)},
		"/bomb":      {"text/plain", strings.Repeat(megabyte.String(), 1000)},
	}
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		page, found := pages[r.URL.Path]
		w.Header().Set("Content-Type", page[0])
		if !found {
			w.WriteHeader(http.StatusNotFound)
		} else if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = io.WriteString(w, page[1])
	})
	client := newClient(nil) // reaches servers on loopback, too
	for path, want := range map[string]string{
		"/article": "painted green", "/latin": "café", "/late.json": "café", "/late.txt": "café", "/late.html": "café", "/json": `"roses": 12`,
	} {
		text := check.Must(fetch(t.Context(), client, address+path))(t)
		check.Contains(t, path+": text", text, want)
		check.Lacks(t, path+": text", text, "alert", "Shop")
	}
	for path, want := range map[string]string{"/picture": "no text but image/png", "/huge": "larger than 4 MiB", "/bomb": "larger than 4 MiB", "/none": "404"} {
		check.ErrorContains(t, path, check.ErrorOf(fetch(t.Context(), client, address+path)), want)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	check.Error(t, check.ErrorOf(fetch(gone, client, address+"/json")), context.Canceled)
}

func FuzzReadable(f *testing.F) {
	f.Add("<html><body><p>text</p>", "text/html")
	f.Add("{}", "application/json; charset=x")
	f.Add("\xff\xfe<", "text/html; charset=utf-16")
	f.Fuzz(func(t *testing.T, body, contentType string) {
		text, err := readable([]byte(body), contentType, nil)
		check.That(t, err != nil || !strings.HasPrefix(contentType, "text/html") || strings.TrimSpace(text) != "", "got neither text nor an error")
	})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	check.NoError(t, os.CopyFS(dir, fstest.MapFS{
		"secret.txt":              {Data: []byte("the key is under the pot")},
		"shared/plan.md":          {Data: []byte("Plan\nPaint the GATE in May\n")},
		"shared/notes/roses.txt":  {Data: []byte("Twelve roses by the gate.")},
		"shared/picture.png":      {Data: []byte("\x89PNG\x00\x00")},
		"shared/notes/empty.txt":  {},
		"shared/notes/latin1.txt": {Data: []byte("caf\xe9")},
	}))
	for from, to := range map[string]string{"shared/out": "../secret.txt", "shared/up": "..", "shared/etc": "/etc"} {
		check.NoError(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	f := files{check.Must(os.OpenRoot(filepath.Join(dir, "shared")))(t)}
	defer func() { _ = f.root.Close() }() // the folder is removed with the test
	// They list, read and search.
	list := check.Must(f.list(t.Context(), listArguments{}))(t)
	check.Contains(t, "list", list, "notes/\n", "plan.md  27 bytes\n")
	check.Lacks(t, "list", list, "out")
	check.Equal(t, "list of /", check.Must(f.list(t.Context(), listArguments{Folder: "/"}))(t), list)
	check.Equal(t, "read", check.Must(f.read(t.Context(), readArguments{Path: "/notes/roses.txt"}))(t), "Twelve roses by the gate.")
	check.Equal(t, "search", check.Must(f.search(t.Context(), searchArguments{Text: "gate"}))(t), "notes/roses.txt:1: Twelve roses by the gate.\nplan.md:2: Paint the GATE in May\n")
	check.NoError(t, syscall.Mkfifo(filepath.Join(f.root.Name(), "pipe"), 0o600))
	for _, name := range []string{"picture.png", "notes/latin1.txt", "notes", "none.txt", "pipe"} { // opening a pipe would wait for its writer
		check.That(t, check.ErrorOf(f.read(t.Context(), readArguments{Path: name})) != nil, "%s is read", name)
	}
	// They stay in the folder.
	for _, name := range []string{"../secret.txt", "/etc/passwd", "out", "up/secret.txt", "notes/../../secret.txt", "etc/passwd", "..", "\x00", ""} {
		text, err := f.read(t.Context(), readArguments{Path: name})
		check.That(t, err != nil && !strings.Contains(text+err.Error(), filepath.Dir(f.root.Name())), "read %q: %q, %v", name, text, err)
		check.That(t, name == "" || check.ErrorOf(f.list(t.Context(), listArguments{Folder: name})) != nil, "%q is listed", name)
	}
	check.Equal(t, "search outside the folder", check.Must(f.search(t.Context(), searchArguments{Text: "pot"}))(t), "No shared file contains this.")
}
