package channel

import (
	"maps"
	"slices"

	"cairn/llm"
)

// illustrated loads the pictures that a request shows, and tells which. What
// cannot be loaded, or would be refused, stays described in words.
func (c *conversation) illustrated(messages []llm.Message) (shown map[int64]bool) {
	shown, blind := make(map[int64]bool), c.window.learnt().Facts().RefusesImages
	for i, m := range messages {
		if len(m.Images) == 0 {
			continue
		}
		images := m.Images[:0:0]
		for _, image := range m.Images {
			if blind || c.unfit[image.File] {
				continue
			}
			kind, data, err := c.records.File(c.hub.ctx, image.File)
			if err != nil {
				c.log.Warn("load_image_failed", "error", err)
				continue
			}
			image.Type, image.Data = kind, data
			images = append(images, image)
			shown[image.File] = true
		}
		messages[i].Images = images
	}
	return shown
}

// refused has pictures described from now on: all of them, if the model takes none,
// or those it was shown, if it could not take these.
func (c *conversation) refused(shown map[int64]bool, err error) {
	if llm.TakesNoImages(err) {
		c.log.Info("model_without_images", "effect", "images are described in words", "model", c.agent.Model.Name())
		c.window.learnt().NoImages()
		return
	}
	c.log.Info("images_refused", "effect", "images are described in words", "model", c.agent.Model.Name(), "error", err)
	if c.unfit == nil {
		c.unfit = make(map[int64]bool)
	}
	maps.Copy(c.unfit, shown)
}

// blindfolded is a message without pictures that nobody will look at.
func (c *conversation) blindfolded(m Inbound) Inbound {
	if !c.window.learnt().Facts().RefusesImages {
		return m
	}
	m.Attachments = slices.Clone(m.Attachments)
	for i := range m.Attachments {
		m.Attachments[i].Data = nil
	}
	return m
}
