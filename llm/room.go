package llm

// rooms are the tokens that reasoning may take in addition to the answer, by effort.
var rooms = map[string]int{"none": 0, "minimal": 2048, "low": 4096, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_768}

// ReasoningRoom returns by how many tokens the limit of an answer exceeds MaxTokens, for reasoning
// of this effort: providers count reasoning as answer, so without it a model that thinks for long
// would have no room to answer. "" is the effort of a model that thinks by default.
func (r Request) ReasoningRoom(effort string) int {
	if effort == "" {
		effort = "medium"
	}
	room := rooms[effort]
	if r.Spare != 0 {
		room = min(room, max(r.Spare, 0))
	}
	return room
}
