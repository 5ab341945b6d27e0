package store_test

import (
	"testing"

	"cairn/chat"
	"cairn/store"
	"cairn/testkit/check"
)

func TestPicturesOfAnOpenTurnAreStored(t *testing.T) {
	c := newTalk(t)
	turn := deliver(t, c, asking(1, "draw it"))[0].Turn
	drawn := []chat.Attachment{{Kind: "image", Type: "image/png", Data: []byte("one")}, {Kind: "image", Type: "image/png", Data: []byte("two")}}
	stored := check.Must(c.Turns().AddPictures(ctx, turn, drawn))(t)
	for i, a := range stored {
		kind, data, err := c.Transcript().File(ctx, a.File)
		check.NoError(t, err)
		check.Equal(t, "picture", kind+" "+string(data), "image/png "+string(drawn[i].Data))
		check.That(t, a.Size == 3 && a.Data == nil, "got %+v", a)
	}
	o := fullAnswer(turn)
	o.Messages[1].Attachments = stored[1:]
	check.Must(c.Turns().Finish(ctx, o))(t)
	check.Equal(t, "pictures that are in no message", number(t, c.Store(), "SELECT count(*) FROM files WHERE id <> ?", stored[1].File), 0)
	check.Error(t, check.ErrorOf(c.Turns().AddPictures(ctx, turn, drawn)), store.ErrNotFound)
	check.Equal(t, "pictures", number(t, c.Store(), "SELECT count(*) FROM files"), 1)
}
