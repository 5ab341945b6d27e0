package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"cairn/internal/network"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func (s *screen) hold(steps [][]string) { // of a question and the answer to it; or what is shown
	s.t.Helper()
	for _, step := range steps {
		if len(step) == 1 {
			s.until(step[0])
		} else {
			s.answer(step[0], step[1])
		}
	}
}

func TestSetupGoesBackAndRepairsAddresses(t *testing.T) {
	check.SkipUnderRace(t)
	server := modelServer(t, saying("yes")).URL
	host := strings.TrimSuffix(strings.TrimPrefix(server, "http://"), "/v1")
	p := newFolder(t)
	p.write("config.local.toml", "[llm]\nmodel = \"old\" # mine\n")
	s := p.atScreen("setup", "--no-run")
	const kind, address, key, name, platform = "Which model should answer?", "The server's address [http://localhost:11434/v1]: ",
		"(hidden; Enter: none): ", "Which model? [test-model]: ", "Where will people talk to the bot?"
	s.hold([][]string{
		{kind, "b"},
		{"This is the first question."},
		{kind, "3"},
		{address, "ftp://" + host},
		{"✗ the server's address must look like \"http://localhost:11434/v1\""},
		{address, "127.0.0.1:1"},
		{"✗ nothing listens at http://127.0.0.1:1/v1: start the server, or correct the address"},
		{address, "back"},
		{kind, "none"},
		{platform, "Back"},
		{kind, "server"},
		{address, host},
		{"The address is " + server + "."},
		{key, "back"},
		{address, "https://" + host + "/v1/chat/completions"},
		{"The address is " + server + "."},
		{key, ""},
		{name, "back"},
		{key, "sk-4711-4711"},
		{name, ""},
		{"✓ test-model answered in "},
		{platform, "terminal"},
		{"config.local.toml has other values of\r\n  llm.model\r\n"},
		{"Change them? The old file is kept. [y/N] ", "back"},
		{platform, "3"},
		{"Change them? The old file is kept. [y/N] ", "y"},
		{"Written: secrets/model-key"},
		{"Kept: config.local.toml.2"},
		{"Written: config.local.toml"},
	})
	text := s.end(0)
	check.Lacks(t, "the screen", text, "dial tcp", "127.0.0.1:1:", "sk-4711", "llm.Error")
	check.Equal(t, "settings", p.read("config.local.toml"), "[llm]\napi_key = \"file:secrets/model-key\"\nbase_url = \""+server+"\"\nmodel = \"test-model\" # mine\n")
}

func TestSetupStopsUnconfirmed(t *testing.T) {
	p := newFolder(t)
	p.write("config.local.toml", "[llm]\nmodel = \"old\" # mine\n")
	s := p.atScreen("setup", "--model", "none", "--platform", "terminal")
	s.answer("Change them? The old file is kept. [y/N] ", "")
	check.Contains(t, "the screen", s.end(exitFailed), "stopped: nothing was written")
	check.Equal(t, "settings", p.read("config.local.toml"), "[llm]\nmodel = \"old\" # mine\n")
}

// A flag answers its question once: what is wrong with it, and the way back, ask the question.
func TestSetupForSlackGoesBack(t *testing.T) {
	on := newPlatforms(t)
	p := newFolder(t, "SLACK_BOT_TOKEN="+slacktest.BotToken)
	s := p.atScreen("setup", "--model", "none", "--platform", "slack", "--api-base", on.slack.APIURL, "--no-run")
	s.hold([][]string{
		{"Using SLACK_BOT_TOKEN."},
		{"The token xapp-… (hidden): ", "back"},
		{"The token xoxb-… (hidden): ", "back"},
		{"Where will people talk to the bot?", "slack"},
		{"The token xapp-… (hidden): ", "xapp-wrong"},
		{"✗ "},
		{"The token xapp-… (hidden): ", slacktest.AppToken},
		{"Written: config.local.toml"},
	})
	s.end(0)
}

func TestSetupAsksForTheKeyThatAServerRequires(t *testing.T) {
	check.SkipUnderRace(t)
	s := newFolder(t).atScreen("setup", "--model", serverWithKey(t, "hush-hush-4711"), "--model-key", "none", "--model-name", "test-model", "--platform", "terminal", "--no-run")
	s.hold([][]string{
		{"✗ the model's server requires an API key"},
		{"(hidden; Enter: none): ", "hush-hush-4711"},
		{"✓ test-model answered in "},
		{"Written: config.local.toml"},
	})
	s.end(0)
	refusing := modelServer(t, failing["a wrong key"].do).URL // it lists its models without one
	s = newFolder(t).atScreen("setup", "--model", refusing, "--model-name", "test-model")
	s.answer("(hidden; Enter: none): ", "wrong-key-1234")
	s.until("✗ the model's server rejected the API key")
	s.answer("\"back\" returns to the key", "back")
	s.until("(hidden; Enter: none): ")
}

func TestAddresses(t *testing.T) {
	for typed, want := range map[string]string{
		"localhost:28100":                  "http://localhost:28100/v1 http://localhost:28100 https://localhost:28100/v1 https://localhost:28100",
		"http://localhost:11434/v1":        "http://localhost:11434/v1 https://localhost:11434/v1",
		"https://10.0.0.5:8000/v1/":        "https://10.0.0.5:8000/v1 http://10.0.0.5:8000/v1",
		"[::1]:8080/v1":                    "http://[::1]:8080/v1 https://[::1]:8080/v1",
		"ollama:11434/v1/chat/completions": "http://ollama:11434/v1 https://ollama:11434/v1",
		"openrouter.ai/api/v1/models":      "https://openrouter.ai/api/v1 http://openrouter.ai/api/v1",
		"https://example.org/openai":       "https://example.org/openai/v1 https://example.org/openai",
		"HTTP://example.org/v1":            "http://example.org/v1 https://example.org/v1",
	} {
		check.Equal(t, typed, strings.Join(check.Must(addresses(typed))(t), " "), want)
	}
	for _, typed := range []string{"", "://", "ftp://x", "http://", "http://ada:pw@x/v1", "x?key=1", "x#y", "http://a b", ":8080"} {
		check.Error(t, check.ErrorOf(addresses(typed)), errNoAddress)
	}
}

func TestNetworkErrorsInWords(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	silent := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { silent.Close() })
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	for address, want := range map[string]string{
		"http://127.0.0.1:1": "nothing listens at http://127.0.0.1:1: start the server",
		secure.URL:           "the certificate of " + secure.URL + " is not valid for this machine",
		"https" + strings.TrimPrefix(plain.URL, "http"): "speaks HTTP, not HTTPS",
		"http://" + silent.Addr().String():              "cannot be read: check that the right server",
	} {
		check.Contains(t, address, inWords(t, address, tryAddress(t.Context(), address)), want)
	}
	for want, err := range map[string]error{
		"there is no host named x: correct the address": &net.DNSError{Name: "x", IsNotFound: true},
		"the address of x cannot be looked up now":      &net.DNSError{Name: "x"},
		"the proxy http://p:1 of HTTPS_PROXY cannot be reached: start it": &network.ProxyError{
			Proxy: "http://p:1", Variable: "HTTPS_PROXY", Err: &net.DNSError{Name: "p", IsNotFound: true},
		},
		"a does not answer in time": fmt.Errorf("x: %w", os.ErrDeadlineExceeded),
	} {
		check.HasPrefix(t, err.Error(), inWords(t, "a", err), want)
	}
	check.That(t, network.Explain("a", errors.New("the token is wrong")) == nil, "another error is one of the network")
}

func inWords(t *testing.T, address string, err error) string {
	t.Helper()
	words := network.Explain(address, err)
	check.Require(t, words != nil, "%v is no error of the network", err)
	return words.Error()
}
