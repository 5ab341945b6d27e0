package words

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/testkit/check"
)

// In each language a sentence with a word, and the word in another form in its own sentence.
func TestStemsByLanguage(t *testing.T) {
	for _, c := range []struct{ code, one, other, stem string }{
		{"de", "Die Häuser sind alle aus Holz", "Wo ist das Haus?", "de:haus"},
		{"fr", "Nous avons mangé dans la cuisine", "Qui veut manger avec moi?", "fr:mang"},
		{"es", "Las canciones son muy bonitas", "¿Cuál es tu canción?", "es:cancion"},
		{"it", "Abbiamo comprato i biglietti per il treno", "Chi ha il biglietto?", "it:bigliett"},
		{"pt", "Os cachorros não gostam da chuva", "O cachorro está na rua", "pt:cachorr"},
		{"nl", "De boeken staan in het schuurtje", "Wie heeft mijn boek gezien?", "nl:boek"},
		{"sv", "Bilarna står på gatan", "Vem har bilen?", "sv:bil"},
		{"da", "Bøgerne ligger på bordet hos dig", "Hvor er bogens nøgle, og hvad hedder bøger?", "da:bog"},
		{"no", "Båtene ligger i havna, hva synes dere om det", "Noen av båten er borte, ikke sant?", "no:bat"},
		{"fi", "Kissat ovat talossa, mutta koira ei ole", "Missä kissa nyt on?", "fi:kis"},
		{"hu", "A házak nagyon szépek voltak", "Hol van a ház?", "hu:haz"},
		{"ro", "Elevii sunt foarte obosiți", "Unde este elevul tău?", "ro:elev"},
		{"tr", "Kediler çok güzel ama köpek yok", "Kedi nerede, neden bana sordun?", "tr:kedi"},
		{"ga", "Tá na leabhair ar an mbord agus sin é", "Cá bhfuil mo bhord?", "ga:bord"},
	} {
		for _, text := range []string{c.one, c.other} {
			check.That(t, slices.Contains(Stems(text), c.stem), "%s: got %q, want %s", text, Stems(text), c.stem)
		}
	}
	for _, text := range []string{
		"The houses are all made of wood", "I can see him in the garden", "docker compose up", "Häuser? No, houses: I have them all", "Собаки были дома", "猫が好き", "",
	} {
		check.Len(t, text, Stems(text), 0)
	}
	spoken := func() []string { return []string{"de", "fr"} }
	for _, c := range []struct{ claim, text, want string }{
		{"a lone word is looked up in each language", "Häuser", "map[hauser:[de:haus fr:haus]]"},
		{"a question in the language of the question", "Wo sind die Häuser?", "map[die:[de:die] hauser:[de:haus] sind:[de:sind] wo:[de:wo]]"},
		{"a question in English by its terms alone", "Where are the Häuser?", "map[]"},
	} {
		check.Equal(t, c.claim, fmt.Sprint(StemsToFind(c.text, spoken)), c.want)
	}
	check.Len(t, "Languages()", Languages(), 14)
}

func FuzzStems(f *testing.F) {
	addSeeds(f, "Die Häuser sind aus Holz, l'amour n'est pas, kızlar, 'a'")
	f.Fuzz(func(t *testing.T, text string) {
		for _, stem := range Stems(text) {
			code, word, cut := strings.Cut(stem, ":")
			check.Require(t, cut && len(code) == 2 && word != "" && len(word) <= MaxTerm, "Stems(%q) holds %q", text, stem)
		}
	})
}

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
		{"안녕하세요, 세금 신고를 도와주시겠어요?", "", false},
		{"大韓民國의 수도는 서울이고, 부산은 항구 도시입니다", "", false},
		{"안녕하세요, \"das ist nicht der Weg\" 라는 문장이 무슨 뜻인지 알려 주시겠어요? 오늘 배웠는데 잘 이해가 안 돼서 물어봅니다", "", false},
		{"Как перевести фразу «Ich bin nicht der Chef und das ist auch nicht mein Auto»? Не понимаю, почему отрицание стоит именно здесь, а не в конце", "", false},
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
		check.That(t, sure == test.sure && (!sure || code == test.code), "%q: got %q, sure: %v; want %q, %v", test.text, code, sure, test.code, test.sure)
	}
}

func FuzzLanguage(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		code, sure := Language(text)
		check.That(t, !sure || len(code) == 2, "%q: detected as certain %q", text, code)
	})
}

func TestRespell(t *testing.T) {
	for _, c := range []struct{ claim, typo, meant string }{
		{"two letters swapped", "adpotion", "adoption"},
		{"a letter missing", "harbur", "harbour"},
		{"a letter too many", "harrbour", "harbour"},
		{"a wrong letter", "hatbour", "harbour"},
		{"the first letter", "garbour", "harbour"},
		{"the last letter", "harbout", "harbour"},
		{"in an ending", "paintign", "painting"},
		{"in a form no rule explains", "cihldren", "children"},
		{"Russian", "сбоака", "собака"},
		{"Ukrainian", "вулця", "вулиця"},
		{"Greek", "αδερφή", "αδελφή"},
		{"Hebrew", "ירושלם", "ירושלים"},
		{"Arabic, as it is often typed", "القاهره", "القاهرة"},
	} {
		check.That(t, slices.Contains(Respell(Fold(c.typo)), Terms(c.meant)[0]), "%s: %q is not corrected to %q", c.claim, c.typo, c.meant)
	}
	check.Equal(t, "the likeliest is first", Respell("aple")[0], stem("pale"))
	for _, word := range []string{"", "tea", "猫猫猫猫", "1234", "x100y", strings.Repeat("a", 100), "\xff\xff\xff\xff"} {
		check.Len(t, word, Respell(word), 0)
	}
	terms := Respell("harbour")
	slices.Sort(terms)
	check.That(t, len(slices.Compact(terms)) == len(terms) && !slices.Contains(terms, stem("harbour")), "other terms")
}
