package discord

import (
	"testing"

	"cairn/testkit/check"
)

func TestAccount(t *testing.T) {
	for token, want := range map[string]string{
		"MTE5ODYyMjQ4MzQ3MTkyNTI0OA.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs": "1198622483471925248",
		"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs":   "198622483471925248",
		"token": "", "": "", "aGVsbG8.x.y": "",
	} {
		check.Equal(t, token, (&Discord{o: Options{Token: token}}).Account(), want)
	}
}
