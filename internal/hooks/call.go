package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// vetoCode is the exit code with which a program vetoes; over HTTP it is status 409.
const vetoCode = 10

// endTime is how long a program's children may keep its output open after it has ended. Tests shorten it.
var endTime = time.Second

// run runs a program with the event on its standard input, and returns its output. Of the bot's
// environment it gets only what programs need to run, so no API keys.
func run(ctx context.Context, command []string, body []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the process group, with what it started
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out := &bounded{most: maxOutput}
	errs := &bounded{most: maxReason}
	cmd.Stdin = bytes.NewReader(body)
	cmd.Stdout = out
	cmd.Stderr = errs
	cmd.WaitDelay = endTime
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it succeeded and left something running
		return out.Bytes(), nil
	case errors.As(err, &exit) && exit.ExitCode() == vetoCode:
		return out.Bytes(), errVeto
	case err != nil && errs.Len() > 0:
		err = fmt.Errorf("%w: %s", err, clip(errs.String(), maxReason))
	}
	return out.Bytes(), err
}

// bounded keeps the first most bytes and discards the rest without an error.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}

// client does not follow redirects: a signed event is for one address.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post sends the event to an address, and returns the body of the answer.
func post(ctx context.Context, address, secret, hook string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Cairn-Hook", hook)
	if secret != "" {
		r.Header.Set("X-Cairn-Signature", "sha256="+Signature(secret, body))
	}
	resp, err := client.Do(r)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, failed.Err // without the address, which may contain a key
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusConflict:
		return said, errVeto
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	return said, nil
}

// Signature returns the HMAC-SHA256 of a body, in hexadecimal, for the receiver to verify.
func Signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
