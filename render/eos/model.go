package eos

import "strings"

// Keyword is the word that a switch uses for a unicast queue. Both mean the same.
type Keyword string

// Keywords: "uc-tx-queue" if the chip has separate multicast queues, else "tx-queue"
// (aristanetworks/avd, qos_profiles.schema.yml).
const (
	TxQueue   Keyword = "tx-queue"
	UCTxQueue Keyword = "uc-tx-queue"
)

// KeywordOf returns the keyword of the first queue, or the first queue map, in the text; false
// if it has neither.
func KeywordOf(c *Config) (Keyword, bool) {
	for _, l := range c.Lines {
		if k, ok := keywordIn(l); ok {
			return k, true
		}
		for _, s := range l.Sub {
			if k, ok := keywordIn(s); ok {
				return k, true
			}
		}
	}
	return "", false
}

func keywordIn(l *Line) (Keyword, bool) {
	w := l.Text
	if rest, ok := strings.CutPrefix(w, "qos map traffic-class "); ok {
		_, w, _ = strings.Cut(rest, " to ")
	} else if headerOf(w) != headQueue {
		return "", false
	}
	w, _, _ = strings.Cut(w, " ")
	switch w {
	case string(TxQueue):
		return TxQueue, true
	case string(UCTxQueue), multicastQueue:
		return UCTxQueue, true
	}
	return "", false
}

// Families of forwarding chips.
const (
	familyStrata = "strata" // Trident, Tomahawk
	familySand   = "sand"   // Arad, Jericho
)

// families maps the first digits of a model to its chip family (openconfig/featureprofiles,
// internal/helpers/arista.go, names the families).
var families = map[string]string{
	"7050": familyStrata, "7060": familyStrata, "7260": familyStrata, "7300": familyStrata,
	"7320": familyStrata, "7358": familyStrata, "7368": familyStrata, "7388": familyStrata,
	"7280": familySand, "7500": familySand, "7800": familySand,
}

// FamilyOf returns the chip family of a model as "show version" prints it ("DCS-7060DX5-64S-R",
// with or without "DCS-"); false for an unknown model, such as a virtual switch.
func FamilyOf(model string) (string, bool) {
	f, ok := families[series(model)]
	return f, ok
}

func series(model string) string {
	m := strings.TrimPrefix(strings.ToUpper(model), "DCS-")
	return m[:min(4, len(m))]
}

// KeywordForModel returns the keyword for a model by its chip family. For an unknown model and
// for the 7260, which has used both keywords, it guesses and returns false: query the switch, or
// call [KeywordOf] on its configuration.
func KeywordForModel(model string) (Keyword, bool) {
	f, ok := FamilyOf(model)
	if f == familySand {
		return TxQueue, true
	}
	return UCTxQueue, ok && series(model) != "7260"
}
