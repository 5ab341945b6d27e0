// Look-alike characters: people and models read a Cyrillic "С" as a Latin "C", so Cairn's marks are
// compared by appearance.

package chat

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lookalikes lists, after each ASCII character, those of other scripts that look like it in most fonts (Unicode's
// confusables.txt), in lower case. Compatibility forms and accents are not listed, because they decompose.
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

// LooksLike returns the ASCII character, in lower case, that r looks like; r itself if there is
// none. l, 1 and | become i, and 0 becomes o.
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

// mayOpenMark reports whether a mark may start with r: it looks like [ or <.
func mayOpenMark(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '[' || r == '<'
	}
	if unicode.IsLetter(r) && r != 'ᐸ' { // most text consists of letters, and no letter decomposes to one
		return false
	}
	r = LooksLike(r)
	return r == '[' || r == '<'
}
