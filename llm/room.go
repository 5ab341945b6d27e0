package llm

// rooms are how many tokens reasoning may take beside the answer, by its effort.
var rooms = map[string]int{"none": 0, "minimal": 2048, "low": 4096, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_768}

// ReasoningRoom is how many tokens the bound of an answer gets beyond MaxTokens for
// reasoning of this effort, which providers count as answer: without it a model that
// thinks for long says nothing. "" is the effort of a model that thinks unasked.
func (r Request) ReasoningRoom(effort string) int {
	if effort == "" {
		effort = "medium"
	}
	room := rooms[effort]
	if r.Spare > 0 {
		room = min(room, r.Spare)
	}
	return room
}
