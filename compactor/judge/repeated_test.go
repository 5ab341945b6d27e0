package judge

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/testkit/check"
)

func TestSummariesOfModelFamiliesKeepTheirLinesOnce(t *testing.T) {
	const (
		decision = "- Paul quits his job at the bank on 30 June (#6)."
		fact     = "- Ines bought a wooden boat in Lisbon (#3)."
	)
	for name, written := range map[string]string{
		"written twice":                   headedText + "\n\n---\n\n" + headedText,
		"written again":                   headedText + "\n\nRevised summary:\n\n" + headedText,
		"a line twice":                    "## Decisions\n" + decision + "\n" + decision + "\n## Facts\n" + fact,
		"headings without lines":          "## Goals\nNone.\n" + headedText + "\n## Open questions\n- None mentioned.",
		"headings without lines, spaced":  "## Goals\n\n- (none)\n\n" + headedText + "\n\n## Open questions\n\nN/A",
		"headings without lines, Russian": "## Goals\n- Нет.\n" + headedText,
		"an element for each heading":     "<decisions>\n" + decision + "\n</decisions>\n<facts>\n" + fact + "\n</facts>",
		"headings with symbols":           "## 📌 Decisions\n" + decision + "\n## 🗂️ Facts\n" + fact,
		"headings with numbers":           "## 1. Decisions\n" + decision + "\n## 2. Facts\n" + fact,
		"a box":                           "\\boxed{" + headedText + "}",
		"a box between dollars":           "$$\\boxed{\n" + headedText + "\n}$$",
	} {
		check.Equal(t, name, summarize.JoinParts([]string{textOf(written, harbour)}), headedText)
	}
}

func TestLinesThatOnlyLookLikeRepeatsStay(t *testing.T) {
	for _, text := range []string{
		"## Facts\n- Ines bought a wooden boat in Lisbon (#3).\n- Ines bought a boat in Lisbon (#3).",
		"## Facts\n- None of them came to Lisbon (#3).",
		"## Facts\n- Nothing is left of the boat (#3).",
		headedText,
		plainText,
	} {
		check.Equal(t, "text", textOf(text, harbour), text)
	}
}
