package main

import (
	"testing"

	"cairn/testkit/check"
)

// A dead proxy does not look like a failure of what is behind it.
func TestDeadProxy(t *testing.T) {
	p := newFolder(t, "HTTPS_PROXY=http://ada:secret@127.0.0.1:1", "DISCORD_TOKEN=token", "SLACK_BOT_TOKEN=xoxb-1", "SLACK_APP_TOKEN=xapp-1")
	p.with(noBackups + "[llm]\nbase_url = \"https://models.invalid/v1\"\nmodel = \"m\"\napi_key = \"k\"")
	const words = "the proxy http://127.0.0.1:1 of HTTPS_PROXY cannot be reached"
	out, err := p.command("doctor").Output() // a process of its own: the library reads the environment once
	check.That(t, err != nil, "doctor finds nothing wrong")
	const remedy = words + ": start it, or correct or unset the variable"
	check.Contains(t, "doctor", string(out), "WRONG  model     m, of agent cairn: "+remedy, "WRONG  discord   "+remedy, "WRONG  slack     "+remedy)
	check.Lacks(t, "doctor", string(out), "secret")

	r := p.start("run")
	r.logs(`"msg":"connection_failed","connector":"discord"`, `"msg":"connection_failed","connector":"slack"`, `"msg":"model_check_failed"`)
	for _, line := range []string{
		`"connector":"discord","error":"GET /gateway/bot: ` + words, `"connector":"slack","error":"Post \"https://slack.com/api/auth.test\": ` + words,
		words + `: dial tcp 127.0.0.1:1: connect: connection refused","model":"m"`, `"remedy":"start the proxy that the error names, or correct or unset its variable"`,
	} {
		check.Contains(t, "the log", r.errs.String(), line)
	}
	check.Lacks(t, "the log", r.errs.String(), "secret")
	r.stop()
}
