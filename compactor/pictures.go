// Pictures in the view: what one costs, and which ones a request shows.

package compactor

import (
	"cairn/chat"
	"cairn/llm"
)

const (
	// pictureTokens is what a picture costs in a view, whatever its size, which nobody
	// knows in pixels: as much as large ones cost. A screen of 1920 to 1080 pixels is
	// 1 105 tokens for GPT-4o and 1 548 for Gemini, and Claude scales most down to 1 600.
	pictureTokens = 1600

	// mostPictures is how many a request shows. Mistral takes 8, Scaleway 12, Claude
	// 100, of which it wants smaller ones above 20.
	mostPictures = 8

	// mostPictureBytes is how large they are together; a request is larger by a third.
	// Claude takes requests of 32 MB.
	mostPictureBytes = 20_000_000
)

// picturesOf are the pictures that came with m and are kept, to be shown.
func picturesOf(m chat.Message) []chat.Attachment {
	if m.Role != llm.RoleUser {
		return nil
	}
	var pictures []chat.Attachment
	for _, a := range m.Attachments {
		if a.File > 0 {
			pictures = append(pictures, a)
		}
	}
	return pictures
}

// shownPictures are the newest pictures of lines, by the seq of their message; what
// is older is seen in words alone. When there are too many, the older half goes at
// once: each one that goes changes an old message, and throws away the provider's
// cache from there on, so this happens once in several pictures. Which ones have
// gone follows from the lines alone, and so stays the same until the head changes.
func shownPictures(lines []line) map[int64][]llm.Image {
	type picture struct {
		seq int64
		chat.Attachment
	}
	var shown []picture
	bytes := int64(0)
	for _, l := range lines {
		if l.pictures == 0 {
			continue
		}
		for _, a := range picturesOf(l.Message)[:l.pictures] {
			shown = append(shown, picture{l.Seq, a})
			if bytes += a.Size; len(shown) <= mostPictures && bytes <= mostPictureBytes {
				continue
			}
			for len(shown) > mostPictures/2 || bytes > mostPictureBytes/2 {
				bytes -= shown[0].Size
				shown = shown[1:]
			}
		}
	}
	bySeq := make(map[int64][]llm.Image, len(shown))
	for _, p := range shown {
		bySeq[p.seq] = append(bySeq[p.seq], llm.Image{File: p.File, Type: p.Type, Label: p.Label(p.seq)})
	}
	return bySeq
}
