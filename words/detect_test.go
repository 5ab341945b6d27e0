package words

import "testing"

func TestLanguage(t *testing.T) {
	for _, test := range []struct {
		text, code string
		sure       bool
	}{
		{"Hi, can you help me to move the meeting?", "en", true},
		{"Hallo, kannst du mir bei der Steuererklärung helfen?", "de", true},
		{"Hola, ¿me puedes ayudar con la declaración de la renta?", "es", true},
		{"Bonjour, est-ce que vous pouvez m'aider avec la facture ?", "fr", true},
		{"Oi, você pode me ajudar com a declaração do imposto? Não sei como fazer.", "pt", true},
		{"こんにちは、確定申告を手伝ってもらえますか", "ja", true},
		{"你好，可以帮我报税吗？", "zh", true},
		{"안녕하세요, 세금 신고를 도와주시겠어요?", "ko", true},
		{"我们明天在 Berlin 见面，用 Docker Compose 部署 staging", "zh", true},
		{"React の useEffect がどうしても二回呼ばれてしまう", "ja", true},
		{"Привет, помоги мне с налогами, пожалуйста", "", false},
		{"", "", false},
		{"docker compose up", "", false},
		{"ok", "", false},
		{"👍 12:30", "", false},
		{"Ja", "", false},
	} {
		code, sure := Language(test.text)
		if sure != test.sure || sure && code != test.code {
			t.Errorf("%q: got %q, sure: %v; want %q, %v", test.text, code, sure, test.code, test.sure)
		}
	}
}

func FuzzLanguage(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if code, sure := Language(text); sure && len(code) != 2 {
			t.Errorf("%q: detected as certain %q", text, code)
		}
	})
}
