package words

import "testing"

func TestIsQuestion(t *testing.T) {
	for _, text := range []string{
		"Where does Ada live?", "where did I put it", "hey, what was the name", "remind me when it is", "你住在哪里？",
		"أين تسكن؟", "Πού μένεις;", "tell me about the lighthouse", "Wo wohnst du?",
	} {
		if !IsQuestion(text) {
			t.Errorf("%q: classified as a question", text)
		}
	}
	for _, text := range []string{"", "I moved to Turin.", "first this; then that", "thanks", "whatever you say"} {
		if IsQuestion(text) {
			t.Errorf("%q: not classified as a question", text)
		}
	}
}
