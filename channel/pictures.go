package channel

import (
	"slices"

	"cairn/llm"
)

// illustrated loads the pictures that a request shows, and tells how many. What
// cannot be loaded, or would be refused, stays described in words.
func (c *conversation) illustrated(messages []llm.Message) (shown int) {
	for i, m := range messages {
		if len(m.Images) == 0 {
			continue
		}
		images := m.Images[:0:0]
		for _, image := range m.Images {
			if c.blind {
				break
			}
			kind, data, err := c.records.File(c.hub.ctx, image.File)
			if err != nil {
				c.log.Warn("a picture cannot be shown to the model", "error", err)
				continue
			}
			image.Type, image.Data = kind, data
			images = append(images, image)
		}
		messages[i].Images = images
		shown += len(images)
	}
	return shown
}

// blindfolded is a message without pictures that nobody will look at.
func (c *conversation) blindfolded(m Inbound) Inbound {
	if !c.blind {
		return m
	}
	m.Attachments = slices.Clone(m.Attachments)
	for i := range m.Attachments {
		m.Attachments[i].Data = nil
	}
	return m
}
