// The limits of the Web API, and that people do not wait for what the bot reads in the background.

package slack

import (
	"errors"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestTheDoubleRefusesRequestsBeyondTheDocumentedLimits(t *testing.T) {
	d := newDouble(t, slacktest.Options{})
	list := func() error { return check.ErrorOf(d.api.GetUsersContext(t.Context(), slackgo.GetUsersOptionLimit(200))) }
	for range 20 { // users.list is of tier 2
		check.NoError(t, list())
	}
	limited, is := errors.AsType[*slackgo.RateLimitedError](list())
	check.Require(t, is, "a request beyond the limit is served")
	check.That(t, limited.RetryAfter > 0 && limited.RetryAfter <= time.Minute, "retry after %s", limited.RetryAfter)
	check.Equal(t, "refused requests", d.Limited("users.list"), 1)
	_, err := d.api.GetUserInfoContext(t.Context(), d.ann)
	check.NoError(t, err) // each method has a limit of its own
}
