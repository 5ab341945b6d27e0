package slack

import (
	"testing"

	"cairn/testkit/check"
)

func TestAccount(t *testing.T) {
	for token, want := range map[string]string{
		"xapp-1-A0123456789-9876543210-abcdef": "A0123456789", "xapp-1-X-9-a": "", "xapp-test": "", "": "",
	} {
		check.Equal(t, token, (&Slack{o: Options{AppToken: token}}).Account(), want)
	}
}
