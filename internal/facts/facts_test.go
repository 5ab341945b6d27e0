package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
)

var sameNumbers = [][3]string{
	{"en", "it costs 1,200.50", "1 200,50"},
	{"de", "1.200,50 Euro", "1200.5"},
	{"en", "forty-five pounds", "£45"},
	{"de", "Achttausendsiebenhundert Euro", "8.700 €"},
	{"de", "siebenhundertfünfzig", "750"},
	{"de", "fünfundvierzig", "45"},
	{"de", "um halb neun", "8:30"},
	{"de", "bis zwei", "14:00 Uhr"},
	{"de", "bis zwei", "14 Uhr"},
	{"de", "zweieinhalb Stunden", "150 min"},
	{"en", "two and a half hours", "2.5 hours"},
	{"en", "1.5k", "1500"},
	{"en", "14.2 million", "14,200,000"},
	{"en", "half past two", "2:30 pm"},
	{"es", "mil ochocientas botellas", "1.800"},
	{"es", "a las ocho y media", "8:30"},
	{"es", "de doce a dieciséis", "16"},
	{"fr", "quatre-vingt-quinze euros", "95 €"},
	{"fr", "le train de 14h12", "14:12"},
	{"fr", "soixante-dix-sept", "77"},
	{"fr", "huit douzaines", "8 douzaines"},
	{"it", "quarantaseimiladuecento", "46.200 euro"},
	{"it", "l'uno e mezzo per cento", "1,5%"},
	{"it", "ventotto", "28"},
	{"pt", "trezentos e vinte", "R$ 320"},
	{"pt", "às duas e meia", "14h30"},
	{"pt", "novecentos e oitenta dólares", "980"},
	{"pl", "dwadzieścia pięć złotych", "25 zł"},
	{"pl", "o wpół do trzeciej", "14:30"},
	{"pl", "półtora tysiąca", "1500"},
	{"pl", "tysiąc dwieście", "1 200"},
	{"ru", "двадцать пять тысяч рублей", "25 000 руб."},
	{"ru", "в полдевятого", "8:30"},
	{"ru", "полтора часа", "90 минут"},
	{"ru", "трёх человек", "3"},
	{"tr", "kırk beş lira", "45 TL"},
	{"tr", "iki buçuk saat", "2,5 saat"},
	{"tr", "saat sekiz buçukta", "8.30"},
	{"tr", "yüzde on beş", "%15"},
	{"tr", "bin iki yüz", "1.200"},
	{"zh", "四万八千元", "4.8万元"},
	{"zh", "十二个人", "12人"},
	{"zh", "百分之十五", "15%"},
	{"zh", "下午三点半", "15:30"},
	{"zh", "两百块", "200元"},
	{"ja", "三千円", "3,000円"},
	{"ja", "午後3時", "15:00"},
	{"ja", "１２万円", "120000円"},
	{"ja", "三時半", "3:30"},
	{"ja", "ふたつ", "2つ"},
	{"ar", "خمسة وأربعون دولارا", "45 دولار"},
	{"ar", "١٢٠٠ درهم", "1200"},
	{"ar", "ألف ومئتان", "1200"},
	{"ar", "الساعة الثامنة والنصف", "8:30"},
	{"ar", "ثلاثمئة وخمسين", "350"},
	{"en", "3 h 40", "220 min"},
	{"en", "two weeks", "14 days"},
	{"de", "12 Mio.", "12.000.000"},
	{"en", "version 1.2.3", "1.2.3"},
	{"tr", "dokuz bine tutmuştuk", "9.000"},
	{"tr", "yedi buçukta", "19.30'da"},
	{"es", "a las seis menos cuarto", "17:45"},
	{"it", "una ventina di scatole", "20"},
	{"fr", "une trentaine de places", "30"},
	{"ru", "на 3-м этаже", "3"},
	{"en", "12 m²", "12"},
	{"en", "two months", "60 days"},
	{"es", "un 30 por ciento", "30%"},
	{"ru", "1,5 млн", "1500000"},
	{"en", "१२", "12"},
	{"en", "the third time", "3rd"},
	{"en", "a dozen eggs", "12"},
}

// Two texts state the same number, whatever the language writes it in.
func TestNumbersAreTheSameInAnyForm(t *testing.T) {
	for _, pair := range slices.Concat(sameNumbers, sameTimes) {
		a := Read(pair[1], []string{pair[0]})
		b := Read(pair[2], []string{pair[0]})
		same := slices.ContainsFunc(a.Numbers, func(x Number) bool {
			return slices.ContainsFunc(b.Numbers, func(y Number) bool { return Same(x, y) })
		})
		check.That(t, same, "%s: %q is not %q: %v, %v", pair[0], pair[1], pair[2], a.Numbers, b.Numbers)
	}
}

// A reason for people quotes a number.
func TestNumberIsQuotedAsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"It costs 1,450 Euro.":         "1,450 euro",
		"It costs 1450 euro":           "1450 euro",
		"about 3.5 million dollars":    "3.5 million dollars",
		"version 1.2.3 is out":         "1.2.3",
		"twenty-five percent of it":    "twenty-five percent",
		"価格は1万5千円です。":                  "1万5千円",
		"wir treffen uns um 15:30 Uhr": "15:30",
	} {
		found := Read(text, []string{"en", "de", "ja"}).Numbers
		quoted := slices.ContainsFunc(found, func(n Number) bool { return n.Text == want })
		check.That(t, quoted, "%q: got %+v, want %q", text, found, want)
	}
}

func TestNumbersDiffer(t *testing.T) {
	for _, pair := range [][3]string{
		{"en", "£54", "£45"},
		{"en", "12.4 million", "14.2 million"},
		{"en", "five", "four"},
		{"en", "70 minutes", "70 euros"},
		{"en", "1.2.3", "1.2.4"},
		{"zh", "四万八千元", "4.9万元"},
		{"de", "halb neun", "10:30"},
		{"en", "2 days", "2 weeks"},
		{"pt", "quinta vez", "terceira vez"},
		{"ja", "三時半", "4:30"},
	} {
		a := Read(pair[1], []string{pair[0]})
		b := Read(pair[2], []string{pair[0]})
		same := slices.ContainsFunc(a.Numbers, func(x Number) bool {
			return slices.ContainsFunc(b.Numbers, func(y Number) bool { return Same(x, y) })
		})
		check.That(t, len(a.Numbers) > 0 && len(b.Numbers) > 0 && !same, "%s: %q is %q: %v, %v", pair[0], pair[1], pair[2], a.Numbers, b.Numbers)
	}
}

// said is a Tuesday.
var said = time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)

func TestDatesMeet(t *testing.T) {
	for _, c := range []struct {
		language, a, b string
		meet           bool
	}{
		{"en", "tomorrow", "on 4 March 2026", true},
		{"en", "by next friday", "Friday, March 13", true},
		{"en", "on thursday", "on Tuesday", false},
		{"en", "Monday, 9 March", "9 March 2026", true},
		{"en", "March 9th", "April 9", false},
		{"en", "2026-03-09", "09/03/2026", true},
		{"en", "next sunday", "Sunday, March 8, 2026", true},
		{"de", "Übermorgen", "am 5. März 2026", true},
		{"de", "gestern Abend", "am 8. März", false},
		{"de", "am 22. dann", "Sonntag, den 22. März", true},
		{"de", "erst ab Juni", "ab Juli", false},
		{"de", "bis 9.3. fertig", "9. März", true},
		{"es", "pasado mañana", "el 5 de marzo de 2026", true},
		{"es", "el martes 24", "miércoles 25 de febrero", false},
		{"fr", "après-demain soir", "le 5 mars 2026", true},
		{"fr", "du 16 au 18 mai", "le 16 mai", true},
		{"fr", "dimanche", "samedi", false},
		{"it", "mercoledì prossimo", "l'11 marzo 2026", true},
		{"pt", "até terça", "terça-feira, 10 de março de 2026", true},
		{"pt", "quinta que vem, dia 12", "quarta-feira, dia 11", false},
		{"pt", "amanhã cedo", "4 de março", true},
		{"pl", "pojutrze", "5 marca 2026", true},
		{"pl", "w piątek", "szóstego marca", true},
		{"pl", "we wtorek", "w środę", false},
		{"ru", "послезавтра", "5 марта 2026 года", true},
		{"ru", "двадцать первого марта", "21 марта", true},
		{"ru", "в пятницу", "в четверг", false},
		{"tr", "yarın", "4 Mart 2026", true},
		{"tr", "Cuma'ya kadar", "6 Mart Cuma", true},
		{"tr", "yarın", "4 Mart'ta", true},
		{"tr", "yarın 14:30da", "4 Mart'ta", true},
		{"tr", "perşembeye", "çarşamba günü", false},
		{"zh", "后天", "2026年3月5日", true},
		{"zh", "下周五", "3月13号", true},
		{"zh", "周三", "星期四", false},
		{"ja", "明後日", "3月5日", true},
		{"ja", "来週の金曜日", "3月13日", true},
		{"ja", "木曜に", "水曜日", false},
		{"en", "on the 18th", "18 March", true},
		{"en", "on the 18th", "25 March", false},
		{"en", "on the 18th", "18 May", false},
		{"de", "bis zum 17. frei", "17. März", true},
		{"es", "hasta el 13", "15 de marzo", false},
		{"es", "hasta el 13", "viernes 13 de marzo", true},
		{"fr", "jusqu'au 13", "13 mars", true},
		{"it", "entro il 19", "29 marzo", false},
		{"ru", "двадцать пятого", "25 марта", true},
		{"ru", "к 15-му, нет, до 16-го", "16 марта", true},
		{"pl", "do 15-go", "15 marca", true},
		{"tr", "ayın 21'inde", "21 Mart", true},
		{"ar", "يوم 21", "12 مارس", false},
		{"en", "the 3rd floor", "3 March", false},
		{"pl", "od piątku, 23 czerwone", "23 marca", false},
		{"ar", "غدا", "4 مارس 2026", true},
		{"ar", "يوم الجمعة", "6 مارس", true},
		{"ar", "الخميس", "الأربعاء", false},
	} {
		a := Read(c.a, []string{c.language})
		b := Read(c.b, []string{c.language})
		meet := slices.ContainsFunc(a.Dates, func(x Date) bool {
			return slices.ContainsFunc(b.Dates, func(y Date) bool { return !x.Soft && !y.Soft && Meet(x, said, y, said) })
		})
		check.That(t, meet == c.meet, "%s: %q and %q: %v, %v", c.language, c.a, c.b, a.Dates, b.Dates)
	}
}

func TestLanguagesAreDetected(t *testing.T) {
	for code, text := range map[string]string{
		"en": "the printer needs the files by the 20th", "de": "dann lieber Lohmann, das Dach hält schon noch bis dahin", "fr": "on peut en demander à la librairie",
		"pl": "nie wiem, czy to się uda, ale jest dobrze", "ru": "я не знаю, что это и как", "zh": "我们今天要开会", "ja": "今日は会議があります", "ar": "هذا من أجل الاجتماع في الصباح",
		"tr": "bu toplantı için bir oda var mı", "it": "le faccio io, ma non prima di mercoledì", "es": "las botellas ya están, faltan los corchos", "pt": "o forno não passa de 160 graus, a gente chama ele",
	} {
		check.That(t, strings.HasPrefix(fmt.Sprint(Languages(text)), "["+code), "%q: %v, not %s", text, Languages(text), code)
	}
}

// What sounds alike is not the same.
func TestNumbersThatSoundAlikeDiffer(t *testing.T) {
	for _, pair := range [][3]string{
		{"de", "um halb acht", "um halb sieben"},
		{"en", "quarter to nine", "quarter past nine"},
		{"es", "las seis y cuarto", "las seis menos cuarto"},
		{"it", "le sette e mezza", "le otto e mezza"},
		{"pl", "o wpół do piątej", "o wpół do szóstej"},
		{"ru", "в половине седьмого", "в половине восьмого"},
		{"tr", "yedi buçukta", "sekiz buçukta"},
		{"zh", "十五万八", "十八万五"},
		{"ja", "八万五千円", "9万5千円"},
		{"ar", "ثلاثة آلاف", "6000"},
		{"en", "forty-eight thousand", "48"},
		{"fr", "quatre-vingt-dix", "80"},
		{"en", "size A3", "three sizes"},
		{"en", "two months", "90 days"},
		{"en", "ten past three", "2:50"},
		{"en", "half an hour", "90 minutes"},
		{"en", "50 cents", "50 euros"},
		{"de", "zehn nach sieben", "6:50"},
		{"de", "Viertel fünf", "16:45"},
		{"es", "las siete y veinte", "27"},
		{"fr", "dix heures moins vingt", "10h20"},
		{"it", "le otto meno dieci", "8:10"},
		{"pl", "za dziesięć siódma", "7:10"},
		{"pl", "za kwadrans trzecia", "15:15"},
		{"ru", "без двадцати девять", "9:20"},
		{"ru", "четверть двенадцатого", "12:15"},
		{"tr", "sekizi çeyrek geçe", "7.45"},
		{"zh", "七点一刻", "7:45"},
		{"zh", "七成", "九成"},
		{"ja", "二割", "三割"},
		{"ar", "السابعة والربع", "6:45"},
	} {
		a := Read(pair[1], []string{pair[0]})
		b := Read(pair[2], []string{pair[0]})
		check.That(t, len(a.Numbers) > 0 && len(b.Numbers) > 0, "%s: no number in %q or %q", pair[0], pair[1], pair[2])
		for _, x := range a.Numbers {
			for _, y := range b.Numbers {
				check.That(t, x.Weak || y.Weak || !Same(x, y), "%s: %q is %q: %v, %v", pair[0], pair[1], pair[2], x, y)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"1,200.50", "halb drei", "2026-03-09 14:30", "1億2千万円", "двадцать первого марта", "٤٥", "١٢:٣٠", "9/3", "3x2", "1.2.3.4.5.6.7.8.9.10", "\xff12"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, languages := range [][]string{known(), {"en"}, nil} {
			found := Read(text, languages)
			for _, n := range found.Numbers {
				check.That(t, Same(n, n), "%q: a number is not itself: %v", text, n)
			}
			for _, d := range found.Dates {
				d.Spans(said)
			}
		}
	})
}

// known returns the codes of the languages whose words are known.
func known() (codes []string) {
	for _, l := range lexicons() {
		codes = append(codes, l.code)
	}
	return codes
}
