package facts

import (
	"testing"

	"cairn/testkit/check"
)

// Times, parts of hours and lengths, which one text writes out and another one in digits.
var sameTimes = [][3]string{
	{"en", "at ten past three", "15:10"},
	{"en", "ten to four", "3:50"},
	{"en", "an hour and ten minutes", "70 minutes"},
	{"en", "three quarters of an hour", "45 min"},
	{"en", "half an hour", "30 minutes"},
	{"en", "half a million", "500,000"},
	{"en", "tickets at 50p", "£0.50"},
	{"en", "until midnight", "24:00"},
	{"en", "from eight to ten pm", "20:00"},
	{"de", "zehn vor sieben", "18:50 Uhr"},
	{"de", "eine Viertelstunde", "15 Minuten"},
	{"de", "drei Viertel fünf", "16:45"},
	{"de", "von acht bis elf", "20 bis 23 Uhr"},
	{"de", "drei Euro fünfzig", "3,50 €"},
	{"es", "las doce y veinte", "12:20"},
	{"es", "dura hora y media", "90 minutos"},
	{"es", "las siete y veinte", "19:20"},
	{"es", "diecinueve euros con cincuenta", "19,50 €"},
	{"fr", "dix heures moins vingt", "9h40"},
	{"fr", "un quart d'heure", "15 min"},
	{"fr", "midi et quart", "12h15"},
	{"fr", "sept heures vingt", "19:20"},
	{"fr", "trois mètres cinquante", "3,50 m"},
	{"it", "le otto meno dieci", "7:50"},
	{"it", "due ore e dieci", "130 minuti"},
	{"it", "20 centesimi", "0,20 euro"},
	{"pt", "dez para as três", "14:50"},
	{"pt", "até o meio-dia", "12h"},
	{"pl", "za dziesięć siódma", "6:50"},
	{"pl", "kwadrans po trzeciej", "15:15"},
	{"pl", "godzinę i kwadrans", "75 minut"},
	{"pl", "czternaście i pół tysiąca", "14 500"},
	{"ru", "без двадцати девять", "8:40"},
	{"ru", "в четверть двенадцатого", "11:15"},
	{"ru", "десять минут четвёртого", "15:10"},
	{"ru", "четырнадцать с половиной тысяч", "14500"},
	{"ru", "два часа двадцать минут", "140 минут"},
	{"tr", "sekize çeyrek kala", "7.45"},
	{"tr", "üçü on geçe", "15:10"},
	{"tr", "on beşti", "15"},
	{"zh", "七点一刻", "7:15"},
	{"zh", "十二点二十", "12:20"},
	{"zh", "四个半小时", "4.5小时"},
	{"zh", "五成", "50%"},
	{"ja", "七時十五分", "7:15"},
	{"ja", "二割", "20%"},
	{"ja", "午後一時二十分", "13:20"},
	{"ar", "السابعة إلا ربعا", "6:45"},
	{"ar", "الثانية عشرة وعشرين دقيقة", "12:20"},
	{"ar", "ألف ومئتين ريال", "1,200 ريال"},
	{"ar", "ساعتين ونصف", "150 دقيقة"},
}

// What a number counts is the same in any form, and not what another one counts.
func TestThingsThatNumbersCount(t *testing.T) {
	for _, c := range []struct {
		language, a, b string
		alike          bool
	}{
		{"en", "three tenors", "five tenors still missing", true},
		{"en", "two boxes", "12 box", true},
		{"en", "3 tables", "12 chairs", false},
		{"de", "drei Notenständer", "zwei Notenständern", true},
		{"de", "drei Leute", "drei Notenständer", false},
		{"es", "tres personas", "cuatro personas", true},
		{"fr", "cinq gâteaux", "trois thermos", false},
		{"it", "otto sedie", "dieci sedie", true},
		{"pl", "trzy testy", "pięć testów", true},
		{"pt", "seis enxadas", "duas mangueiras", false},
		{"ru", "две доски", "22 доска", true},
		{"ru", "пять банок", "пять дней", false},
		{"tr", "iki termos", "üç termos", true},
		{"zh", "三箱水", "两箱", true},
		{"zh", "三个帐篷", "三个苹果", false},
		{"ja", "五人", "3名", true},
		{"ja", "五枚", "五台", false},
		{"ar", "250 نسخة", "280 نسخة", true},
		{"ar", "خمسة أطفال", "3 خيام", false},
		{"en", "3 of the tables", "4 tables", false},
	} {
		a := Read(c.a, []string{c.language}).Numbers
		b := Read(c.b, []string{c.language}).Numbers
		check.Require(t, len(a) > 0 && len(b) > 0, "%s: no number in %q or %q", c.language, c.a, c.b)
		check.That(t, CountAlike(a[0], b[0]) == c.alike, "%s: %q and %q: %v, %v", c.language, c.a, c.b, a[0], b[0])
	}
}
