package words

import (
	"testing"

	"cairn/internal/check"
)

func TestSentences(t *testing.T) {
	checkTexts(t, Sentences, "|", []textCase{
		{"points, questions and shouts end one", "I went home. Did you? Yes! Fine", "I went home.|Did you?|Yes!|Fine"},
		{"people who write small letters are understood", "i went home. then i slept", "i went home.|then i slept"},
		{"titles go with their names", "Ask Dr. Smith. He knows.", "Ask Dr. Smith.|He knows."},
		{"letters with points are words", "In the U.S. Army, e.g. Bob", "In the U.S. Army, e.g. Bob"},
		{"an initial goes with its name", "I met J. Smith. So did I. Fine.", "I met J. Smith.|So did I.|Fine."},
		{"etc. may end one", "Tea, milk etc. We left. Tea etc. was fine", "Tea, milk etc.|We left.|Tea etc. was fine"},
		{"decimals stay whole", "It is 3.5 km. Far", "It is 3.5 km.|Far"},
		{"a year ends one", "It was in 2023. Then we left", "It was in 2023.|Then we left"},
		{"a list's number goes with its item", "1. Buy milk", "1. Buy milk"},
		{"addresses stay whole", "See https://a.example/x?y=1.5. Then call", "See https://a.example/x?y=1.5.|Then call"},
		{"dots that go on do not end", "I was... well, tired... Then I slept", "I was... well, tired...|Then I slept"},
		{"quotes and brackets close with it", `He said "No." (Really!) Then`, `He said "No."|(Really!)|Then`},
		{"line ends end one", "one\ntwo\r\n\r\nthree", "one|two|three"},
		{"Chinese needs no blank", "我喜欢猫。你呢？“好！”走吧", "我喜欢猫。|你呢？|“好！”|走吧"},
		{"Hindi ends with a bar", "मैं घर गया। फिर सोया", "मैं घर गया।|फिर सोया"},
		{"Arabic asks its own way", "هل أنت بخير؟ نعم", "هل أنت بخير؟|نعم"},
		{"nothing gives nothing", " \n ", ""},
	})
}

func FuzzSentences(f *testing.F) {
	addSeeds(f, "Dr. A. B. Smith, e.g. at 3.5 p.m. etc. “Yes!” 我喜欢猫。…\r\nx")
	f.Fuzz(func(t *testing.T, text string) { checkSentences(t, text) })
}

func TestIsQuestion(t *testing.T) {
	for _, text := range []string{
		"Where does Ada live?", "where did I put it", "hey, what was the name", "remind me when it is", "你住在哪里？",
		"أين تسكن؟", "tell me about the lighthouse", "Wo wohnst du?",
	} {
		check.That(t, IsQuestion(text), "%q: classified as a question", text)
	}
	for _, text := range []string{"", "I moved to Turin.", "first this; then that", "thanks", "whatever you say"} {
		check.That(t, !IsQuestion(text), "%q: not classified as a question", text)
	}
}

func TestEndsInQuestion(t *testing.T) {
	for text, want := range map[string]bool{
		"Really?!": true, "“Where?” ": true, "你住在哪里？": true, "أين تسكن؟": true, "": false, "Where? I know.": false, "I know.": false,
	} {
		check.That(t, EndsInQuestion(text) == want, "%q: got %v", text, !want)
	}
}
