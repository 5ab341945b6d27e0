// How much of the window a prompt leaves: thinking gets room beyond what the caller asks
// for, and the server refuses a bound that does not fit beside the prompt.

package anthropic

import "cairn/llm"

const (
	denseText     = 0.33    // tokens for a byte of most texts at the most
	imageTokens   = 1600    // of a picture at the most
	estimateSlack = 1.03    // prompts differ in density
	leastPrompt   = 1 << 12 // bytes of a prompt to learn the density from
)

// sizeOf is how many bytes of text and how many pictures a request shows.
func sizeOf(req llm.Request) (bytes, images int) {
	for _, t := range req.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for _, m := range req.Messages {
		bytes += len(m.Text) + len(m.Native)
		for _, c := range m.Calls {
			bytes += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
		images += len(m.Images)
	}
	return bytes, images
}

// counted learns how dense prompts are from the server's count of one; 0: it did not count.
// The densest one counts, and a less dense one lowers it slowly.
func (m *Model) counted(req llm.Request, prompt int) {
	bytes, images := sizeOf(req)
	if prompt == 0 || images > 0 || bytes < leastPrompt {
		return
	}
	density := float64(prompt) / float64(bytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.density == 0 || density > m.density {
		m.density = density
		return
	}
	m.density += (density - m.density) / 8
}

// roomLocked is how many tokens a request leaves of the window; negative: it is not known.
func (m *Model) roomLocked(req llm.Request) int {
	if m.window == 0 {
		return -1
	}
	density := m.density
	if density == 0 {
		density = denseText
	}
	bytes, images := sizeOf(req)
	return max(m.window-int(estimateSlack*density*float64(bytes))-images*imageTokens, 0)
}
