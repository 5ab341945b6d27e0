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

func TestEndsInQuestion(t *testing.T) {
	for text, want := range map[string]bool{
		"Really?!": true, "“Where?” ": true, "你住在哪里？": true, "أين تسكن؟": true, "": false, "Where? I know.": false, "I know.": false,
	} {
		if EndsInQuestion(text) != want {
			t.Errorf("%q: got %v", text, !want)
		}
	}
}
