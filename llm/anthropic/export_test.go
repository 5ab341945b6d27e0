package anthropic

import "cairn/llm"

// Encode returns how many bytes req has on the wire.
func (m *Model) Encode(req llm.Request) (int, error) {
	raw, err := encode(m.compose("m", req, exceptions{}).body, req.Extra)
	return len(raw), err
}
