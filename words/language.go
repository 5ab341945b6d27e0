// Languages: detecting a text's language, and stemming its words by the rules of that language.

package words

import (
	"slices"
	"strings"
	"sync"

	"cairn/internal/lazy"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Languages returns the two-letter codes of the supported languages in Latin script other than
// English.
func Languages() []string {
	codes := make([]string, len(languages))
	for i, l := range languages {
		codes[i] = l.code
	}
	return codes
}

// language is a language in Latin script. In other scripts the script identifies the language.
type language struct {
	code    string
	stem    func(*snowballstem.Env) bool
	letters string                 // letters that few other languages have
	stops   func() map[string]bool // folded
}

// languages are in descending order of likelihood: it decides between languages with equal counts.
var languages = []language{
	{"de", german.Stem, "äöüß", stopsOf(`aber alle als also am an auch auf aus bei beim bin bis bist da dann das dass dein dem den denn der des dich die
		dir doch du ein eine einem einen einer er es etwas fur gibt hab habe haben hast hat hatte hier ich ihm ihn ihr im immer in ist ja jetzt kann kein
		keine machen macht mal man mehr mein meine mich mir mit muss nach nicht nichts noch nur ob oder schon sehr sein seine sich sie sind so uber um und
		uns unser unsere vom von vor wann war waren warum was weil welche wem wen wenn wer werden wie wieder will wir wird wo woher wohin zu zum zur`)},
	{"fr", french.Stem, "çèêëœùûîô", stopsOf(`a ai aller alors as au aussi aux avec avez avoir avons c ca ce ces cet cette chez comme comment d dans de des donc du elle
		elles en est et etait ete etre eu fait il ils j je jour l la le les leur lui m ma mais me mes moi mon n ne nos notre nous on ont ou par pas plus
		pour pourquoi qu quand que quel quelle qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tous tout tres tu un une vais vas vers vos
		votre vous va y`)},
	{"es", spanish.Stem, "ñ", stopsOf(`a al algo asi aunque cada como con cual cuando cuanto de del desde donde el ella ellas ellos en entre era eres es esa ese eso
		esta estaba estan estas este esto estoy fue ha hace han hasta hay he hoy la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros nuestra
		nuestro o otra otro para pero por porque puede que quien se ser si sin sobre son soy su sus tambien tan te tengo tiene todo tu un una uno unos y ya yo`)},
	{"it", italian.Stem, "", stopsOf(`a abbiamo ai al alla alle anche ancora avere c che chi ci ciao come con cosa cosi cui da dal dalla del della delle dei di dove
		e ed era essere fa fare gia gli ha hai hanno ho i il in io l la le lei li lo loro lui ma mi mia mio molto ne nel nella no noi non nostro o ogni per
		perche piu poi qual quale quando quanto quel quella quello questa questo qui quindi se sei si siamo sono sta sto su sua sul sulla suo ti tu tua tuo
		tutti tutto un una uno va vi voi`)},
	{"pt", portuguese.Stem, "ãõ", stopsOf(`a ao aos as ate com como da das de dela dele depois do dos e ela ele eles em entre era essa esse esta estava estou eu faz
		foi fui ha isso isto ja la lhe mais mas me mesmo meu minha muito na nao nas nem no nos nossa nosso num numa o onde os ou para pela pelo por porque pra
		qual quando quanto que quem se sem ser seu so somos sou sua tambem te tem tenho teu todo tu tudo um uma vai voce voces vou`)},
	{"nl", dutch.Stem, "", stopsOf(`aan al alles als altijd ben bent bij daar dan dat de deze die dit doe doen door dus een en er ga gaan geen had hadden heb
		hebben hebt heeft het hier hij hoe hun ik in is ja jaar je jij jouw jullie kan kunnen maar me meer met mij mijn moet na naar net niet nog nu of om omdat
		ons onze ook op over te toch toen tot uit van veel voor waar waarom wanneer waren was wat we weer wel welke werd wie wij wil worden zal ze zei zelf zich
		zij zijn zo zou`)},
	{"sv", swedish.Stem, "åäö", stopsOf(`alla att av blev bli blir da de dem den denna det detta dig din dina du dar efter eller en er ett fran for ha hade han har
		hans hon honom hur har i icke in inte ja jag kan man med men mig min mina mitt mot mycket nar nej nu nagon nagot nagra och om oss pa ska skulle sa
		sin sitt som till under upp ut vad var vara varfor vart vem vi vid vilken vill vilka an ar`)},
	{"da", danish.Stem, "æøå", stopsOf(`af alle at blev blive bliver da de dem den denne der det dette dig din dine dit du efter eller en er et for fra gor har
		ham han havde have hende her hos hun hvad hvem hvis hvor hvordan hvorfor hvornar i ikke ind ja jeg jer kan kommer kunne lige man mange med meget men
		mig min mine mit mod ned nej nogen noget nogle nu nar og ogsa om op os over pa sig sin sit skal skulle som sa til ud under var ved vi vil ville vores
		vaere vaeret`)},
	{"no", norwegian.Stem, "æøå", stopsOf(`alle at av bare ble blei bli blir da de deg dem den denne der det dette din du eg ein eller en enn er et etter for fra gjor
		gjore ha hadde han har henne her hun hva hvem hver hvis hvor hvordan hvorfor i ikke inn ja jeg kan kommer kunne man mange med meg men mer mer min mine
		mitt mot mye na nar nei noe noen og ogsa om opp oss over pa seg sin skal skulle slik som sa til ut var vart ved vi vil ville vaere vaert vare`)},
	{"fi", finnish.Stem, "äö", stopsOf(`ei eika eli en ette etta han hanen he ja joka jos jotta kai kanssa kuin kuinka kun kuka koska me mika mika mina minka minua
		minulla minun missa milloin mina mita mukaan mutta myos ne niin niita nyt oli olen olet oletko olivat olla on ole onko ovat paljon se sen siella siina
		sina sinulla sinun sita tai taalla tama taman te tassa vaan vain vai voi ja`)},
	{"hu", hungarian.Stem, "őűáéö", stopsOf(`a ahol aki akkor amely ami amikor az azert azt azonban be csak de e egy egyik el ennek es ez ezek ezt fel hanem hat hogy hol
		igen is itt jol kell ki kicsi kik la le lehet lesz ma maga majd mar meg mely mert mi mikor milyen mind mint miert mit most nagyon ne neki nekem nem nincs
		o ok olyan ott pedig s sem sok szerint te teged ti tobb ugy utan vagy vagyok van vannak volt voltak`)},
	{"ro", romanian.Stem, "ăâțșţş", stopsOf(`a acest aceasta acolo acum ai al ale am ar are as asa asta astazi atat au avea avem avut azi ca care cat ce cea cel cele cine
		cu cum cand da daca dar de decat deci despre din dintre doar dupa ea ei el ele era este esti eu fi fie foarte fost i iar imi in intre ii isi la le lor
		lui ma mai me mea mei meu mi mult ne ni nici nimic noi nostru nu o ori pana pe pentru prin s sa sau se si spre sub sunt suntem te ti tot toti tu un una
		unde unei unor unui va vi voi vostru`)},
	{"tr", turkish.Stem, "ğışç", stopsOf(`acaba ama ancak artik az bana bazi belki ben benim beni bile bir biri biz bize bizim bu buna bunu burada cok cunku da daha de defa
		degil dedi diye en evet gibi gore hangi hani hem hep her hic icin ile ise iste kadar ki kim mi mu ne neden nasil nerede nereye niye o olan olarak
		oldu olur ona onlar onu onun sana sen seni senin siz sizin sonra su ve veya var ya yani yok zaman`)},
	{"ga", irish.Stem, "", stopsOf(`a ach ag agus an ar as b ba beag bhi bhfuil bi ca cad ce chun ceard conas d de deir do dom duit e ea faoi feidir fuair ge gach gan go
		gur i iad idir in is le leis liom leat ma me mar mo muid na nach ni nil no nuair o os ota se seo si sin sibh siad ta te thart thug tu um`)},
}

func stopsOf(list string) func() map[string]bool { return lazy.Set(list, readSet) }

// common maps the stop words of all languages to the set of their languages, one bit each.
var common = sync.OnceValue(func() map[string]uint32 {
	of := make(map[string]uint32)
	for i, l := range languages {
		for word := range l.stops() {
			of[word] |= 1 << i
		}
	}
	return of
})

// languageOf returns the language of a text, by its frequent words and its letters; nil: it is
// English, or cannot be detected. evidence is what countWords counts for it, and ahead how much more
// that is than for any other.
func languageOf(text string) (l *language, evidence, ahead int) {
	counts := countWords(text)
	best, english := slices.Index(counts[:], slices.Max(counts[:])), len(languages)
	if counts[best] == counts[english] {
		best = english
	} else {
		l = &languages[best]
	}
	evidence, counts[best] = counts[best], 0
	return l, evidence, evidence - slices.Max(counts[:])
}

// countWords counts the evidence for each language, English last: two for a frequent word, one for
// a word with letters that few others have.
func countWords(text string) (counts [32]int) {
	english := len(languages)
	cut(text, true, func(w Word, raw string) {
		if w.Stop {
			counts[english] += 2
		}
		accents, stop := raw != w.Folded, common()[w.Folded]
		if stop == 0 && !accents {
			return
		}
		for i := range languages {
			if stop&(1<<i) != 0 {
				counts[i] += 2
			} else if accents && strings.ContainsAny(raw, languages[i].letters) {
				counts[i]++
			}
		}
	})
	return counts
}

// Stems returns the stems of the words of text by the rules of its language, without stop words:
// forms that Terms keeps apart share one. Each starts with the code of the language and a colon. It
// is empty for English, and if the language cannot be detected.
func Stems(text string) []string {
	l, _, _ := languageOf(text)
	if l == nil {
		return nil
	}
	var stems []string
	cut(text, false, func(w Word, raw string) {
		if stem := l.of(w, raw); stem != "" && !l.stops()[w.Folded] {
			stems = append(stems, stem)
		}
	})
	return stems
}

// StemsToFind returns, by term, the stems of the words of text with which to search other texts:
// those of its language, none for English. If the language cannot be detected, as with two or three
// words, they are those of each language that spoken returns.
func StemsToFind(text string, spoken func() ([]string, error)) (map[string][]string, error) {
	var in []*language
	switch l, evidence, _ := languageOf(text); {
	case l != nil && evidence > 1:
		in = append(in, l)
	case l != nil || evidence == 0:
		codes, err := spoken()
		if err != nil {
			return nil, err
		}
		for i := range languages {
			if slices.Contains(codes, languages[i].code) {
				in = append(in, &languages[i])
			}
		}
	}
	stems := make(map[string][]string)
	if len(in) == 0 {
		return stems, nil
	}
	cut(text, false, func(w Word, raw string) {
		for _, l := range in {
			if stem := l.of(w, raw); stem != "" && !slices.Contains(stems[w.Term], stem) {
				stems[w.Term] = append(stems[w.Term], stem)
			}
		}
	})
	return stems, nil
}

// of returns the stem of a word; "" if it has none.
func (l *language) of(w Word, raw string) string {
	if w.Folded[0] < 'a' || w.Folded[0] > 'z' {
		return ""
	}
	env := snowballstem.NewEnv(clip(raw))
	l.stem(env)
	if env.Current() == "" {
		return ""
	}
	return l.code + ":" + clip(foldWord(env.Current()))
}
