// Pictures in the view: which ones a request shows.

package transcript

import (
	"cairn/chat"
	"cairn/llm"
)

const (
	// maxPictures is the number of pictures in a request. Mistral accepts 8, Scaleway 12, Claude
	// 100, but smaller ones above 20.
	maxPictures = 8

	// maxPictureBytes is their total size; base64 makes a request larger by a third. Claude accepts
	// requests of 32 MB.
	maxPictureBytes = 20_000_000
)

// newestPictures returns the newest pictures of messages, by the seq of their message; older ones are
// represented by text alone. If there are too many, the older half is dropped in one step: each dropped
// picture changes an old message and invalidates the provider's cache from there on, so this
// happens once in several pictures. Which ones are dropped follows from the messages alone, so it
// stays the same until the head changes.
func newestPictures(messages []Verbatim) map[int64][]llm.Image {
	type picture struct {
		of *chat.Message
		chat.Attachment
	}
	var newest []picture
	bytes := int64(0)
	for _, m := range messages {
		if m.As.Pictures == 0 {
			continue
		}
		for _, a := range m.Message.Pictures()[:m.As.Pictures] {
			newest = append(newest, picture{m.Message, a})
			bytes += a.Size
			if len(newest) <= maxPictures && bytes <= maxPictureBytes {
				continue
			}
			for len(newest) > maxPictures/2 || bytes > maxPictureBytes/2 {
				bytes -= newest[0].Size
				newest = newest[1:]
			}
		}
	}
	bySeq := make(map[int64][]llm.Image, len(newest))
	for _, p := range newest {
		bySeq[p.of.Seq] = append(bySeq[p.of.Seq], llm.Image{File: p.File, Type: p.Type, Label: p.of.Label(p.Attachment)})
	}
	return bySeq
}
