package words

import (
	"strings"
	"testing"
	"time"

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
		"أين تسكن؟", "tell me about the lighthouse", "Wo wohnst du?", "お名前は何ですか",
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
		"どこに住んでいますか。": true, "何時に来るの": true, "行ったのか": true, "你住在上海吗": true, "とても静か。": false, "猫は私の": false, "いつか行きます": false,
	} {
		check.That(t, EndsInQuestion(text) == want, "%q: got %v", text, !want)
	}
}

func TestDates(t *testing.T) {
	now := time.Date(2026, 3, 18, 15, 4, 0, 0, time.UTC) // a Wednesday
	for _, c := range []struct{ text, want string }{
		{"on 7 May 2023", "2023-05-07 2023-05-08"},
		{"May 7th, 2023, at noon", "2023-05-07 2023-05-08"},
		{"the 7th of May", "2025-05-07 2025-05-08"},
		{"on December 1,2023", "2023-12-01 2023-12-02"},
		{"in June 2023", "2023-06-01 2023-07-01"},
		{"in May", "2025-05-01 2025-06-01"},
		{"this March", "2026-03-01 2026-04-01"},
		{"since 2022", "2022-01-01 2023-01-01"},
		{"2023-05-07 and 2023-06", "2023-05-07 2023-05-08, 2023-06-01 2023-07-01"},
		{"am 7.5.2023", "2023-05-07 2023-05-08"},
		{"am 7. Mai 2023", "2023-05-07 2023-05-08"},
		{"im März", "2026-03-01 2026-04-01"},
		{"2023年5月7日", "2023-05-07 2023-05-08"},
		{"2023年5月", "2023-05-01 2023-06-01"},
		{"5月7日", "2025-05-07 2025-05-08"},
		{"yesterday or today", "2026-03-17 2026-03-18, 2026-03-18 2026-03-19"},
		{"last week", "2026-03-09 2026-03-16"},
		{"letzte Woche", "2026-03-09 2026-03-16"},
		{"last weekend", "2026-03-14 2026-03-16"},
		{"last month", "2026-02-01 2026-03-01"},
		{"last year", "2025-01-01 2026-01-01"},
		{"last Friday", "2026-03-13 2026-03-14"},
		{"last Wednesday", "2026-03-11 2026-03-12"},
		{"two days ago", "2026-03-16 2026-03-17"},
		{"3 weeks ago", "2026-02-22 2026-03-01"},
		{"vor zwei Tagen", "2026-03-16 2026-03-17"},
		{"may I march on?", ""},
		{"I have 7 dogs, 1234567 stamps and 3.5 cats", ""},
		{"the last one, ago", ""},
		{"", ""},
	} {
		var got []string
		for _, s := range Dates(c.text, now) {
			got = append(got, s.From.Format(time.DateOnly)+" "+s.To.Format(time.DateOnly))
		}
		check.Equal(t, c.text, strings.Join(got, ", "), c.want)
	}
}

func FuzzDates(f *testing.F) {
	addSeeds(f, "on the 31st of Feb 2023, 2023-02-31, 99.99.2023, in 1000 years ago, 2023年13月40日, last last week 7th")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Dates(text, time.Date(2026, 3, 18, 0, 0, 0, 0, time.UTC)) {
			check.Require(t, s.From.Before(s.To), "%q: from %v to %v", text, s.From, s.To)
		}
	})
}
