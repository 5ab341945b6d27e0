package channel_test

import (
	"fmt"
	"strings"
	"testing"
)

// The log's warning and /context count the same tools.
func TestATightWindowIsMeasuredWithAllTools(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 1000
	_, line, _ := strings.Cut(r.run("/context"), "\nof which  ")
	var frame int
	must(fmt.Sscan(line, &frame))(t)
	if problem := r.agent.Tight(t.Context()); !strings.Contains(problem, fmt.Sprintf(" %d are needed for system prompt and tools", frame)) {
		t.Errorf("/context counts %d: %s", frame, problem)
	}
}
