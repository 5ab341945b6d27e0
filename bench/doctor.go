// What cairn doctor says after a run.

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// askDoctor runs `cairn doctor --json`, and returns what is wrong. That a scripted model does not summarize well enough is not.
func askDoctor(doctor *exec.Cmd) (wrong []string) {
	said, err := doctor.Output()
	poor := false
	for line := range strings.Lines(string(said)) {
		var d struct {
			Check, Said string
			OK          bool
		}
		switch {
		case json.Unmarshal([]byte(line), &d) != nil:
			wrong = append(wrong, "cairn doctor says "+line)
		case d.OK:
		case d.Check == "worker":
			poor = true
		default:
			wrong = append(wrong, fmt.Sprintf("cairn doctor says of %s: %s", d.Check, d.Said))
		}
	}
	if err != nil && !poor && len(wrong) == 0 {
		wrong = append(wrong, "cairn doctor fails: "+err.Error())
	}
	return wrong
}
