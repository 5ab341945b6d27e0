package channel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestTruncatedArgumentsMaskSecret(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	const part = "aB3dE5gH7jK9"
	key := "sk-proj-" + strings.Repeat(part, 4)
	for n := 0; n < 300; n += 5 { // wherever the cut is
		text := strings.Repeat("word ", n) + key + strings.Repeat(" word", 600)
		if shown := shownArguments(json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))); strings.Contains(shown, part) {
			t.Fatalf("%d words before it: %s", n, shown)
		}
	}
}
