// Characters that look like others: a reader, and a model, takes a Cyrillic "С" for a
// Latin "C", so a mark of Cairn's is compared by what it looks like.

package chat

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lookalikes lists, behind each ASCII character, those of other scripts that look like
// it in most fonts (Unicode's confusables.txt), in small letters. Compatibility forms
// and accents are not listed: they decompose.
var lookalikes = []string{
	"aаαɑᴀꭺꓮ", "bьвβʙꮟꓐ", "cсϲᴄꮯꓚ", "dԁᴅꭰꓓժ", "eеεєҽᴇꭼꓰ", "fғƒꜰꓝք", "gɡɢցԍꮐꓖ", "hһнηʜհꮋꓧ",
	"iіιıɪӏℓʟlꭵꓲ1|", "jјϳᴊꭻꓙ", "kкκᴋꮶꓗ", "mмᴍϻꮇꓟ", "nпηɴոꓠ", "oоοσօᴏ0ჿꓳ", "pрρᴘꮲꓑ", "qԛգ",
	"rгʀᴦꭱꓣ", "sѕꜱꮪꓢ", "tтτᴛꭲꓔ", "uυսᴜꓴ", "vνѵᴠꮩꓦ", "wԝωѡᴡꮃꓪ", "xхχꓫ", "yуγүʏყꭹꓬ", "zᴢꮓꓜ",
	"[【〔〖⟦❲⦗⁅⦋", "]】〕〗⟧❳⦘⁆⦌", "#♯", "<‹〈⟨❬❮❰˂ᐸ", ">›〉⟩❭❯❱˃ᐳ", "/⁄∕⧸╱", "_‗", ":ː∶։꞉", `"“”„‟″〃`,
}

var asciiOf = func() map[rune]rune {
	of := make(map[rune]rune)
	for _, row := range lookalikes {
		ascii, size := utf8.DecodeRuneInString(row)
		for _, r := range row[size:] {
			if _, taken := of[r]; !taken {
				of[r] = ascii
			}
		}
	}
	return of
}()

// LooksLike is the ASCII character that r reads as, in small letters; r itself where it
// reads as none. i replaces l, 1 and | too, and o replaces 0.
func LooksLike(r rune) rune {
	if r >= utf8.RuneSelf {
		var buf [utf8.UTFMax]byte
		if parts := norm.NFKD.Properties(utf8.AppendRune(buf[:0], r)).Decomposition(); len(parts) > 0 {
			r, _ = utf8.DecodeRune(parts)
		}
	}
	r = unicode.ToLower(r)
	if ascii, ok := asciiOf[r]; ok {
		return ascii
	}
	return r
}

// opens reports whether a mark may begin with r: it looks like [ or <.
func opens(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '[' || r == '<'
	}
	if unicode.IsLetter(r) && r != 'ᐸ' { // most of a text: no letter decomposes to one
		return false
	}
	r = LooksLike(r)
	return r == '[' || r == '<'
}
