package channel_test

import (
	"strings"
	"testing"

	"cairn/channel"
)

func TestNothingInAnAlignedTextEndsItsCodeBlock(t *testing.T) {
	got := channel.Answer{Text: "a ``` b", Aligned: true}.Fenced().String()
	if strings.Count(got, "```") != 2 {
		t.Errorf("%q", got)
	}
}
