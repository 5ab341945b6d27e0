package store_test

import (
	"fmt"
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/privacy"
	"cairn/store"
)

// TestQuotesAreFilledOnce deletes what tools found before quotes of it were stored.
func TestQuotesAreFilledOnce(t *testing.T) {
	dir := t.TempDir()
	leaveVersion(t, dir, 5)
	db := store.OpenFile(store.File(dir), store.WriterPragmas)
	for seq, text := range map[int]string{5: `{"messages":[{"seq":1,"text":"` + storetest.Secret + `"}]}`, 6: `{"messages":[{"seq":1,"text":"` + storetest.Secret, 7: `{"messages":[{"seq":2,"text":"here"}]}`} {
		check.Must(db.Exec(`INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens)
			SELECT 1 << 32 | ?1, turn, 'tool', '', '', '', ?2, '', '', '', 'c', 'recall', '', 1, 1, 0, NULL, 0, 9 FROM messages WHERE id = 1 << 32 | 4`, seq+100, text))(t)
	}
	check.Must(db.Exec("UPDATE conversations SET next_seq = 200 WHERE id = 1"))(t)
	check.NoError(t, db.Close())
	c := storetest.Find(t, storetest.OpenStore(t, dir), "terminal:general")
	if seqs, err := privacy.Of(c).Delete(ctx, []string{"m1"}); err != nil || !slices.Contains(seqs, 105) || !slices.Contains(seqs, 106) || slices.Contains(seqs, 107) {
		t.Errorf("changed are %v, %v", seqs, err)
	}
	for seq, want := range map[int64]string{105: store.DeletedCopyText, 106: store.DeletedCopyText, 107: `{"messages":[{"seq":2,"text":"here"}]}`} {
		check.Equal(t, fmt.Sprintf("#%d", seq), check.Must(c.Transcript().Message(ctx, seq))(t).Text, want)
	}
}
