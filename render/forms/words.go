package forms

import "strings"

// qosWords lists the words that only lines about QoS have. A word may be part of a compound:
// "pfc-mode".
var qosWords = map[string]bool{
	"qos": true, "pfc": true, "ecn": true, "wred": true, "dcb": true, "dcbx": true, "dscp": true, "roce": true, "rocev2": true, "rdma": true, "lossless": true, "lossy": true,
	"headroom": true, "xoff": true, "xon": true, "pause": true, "buffer": true, "buffers": true, "queue": true, "queuing": true, "queueing": true, "scheduler": true, "shaper": true,
	"flowcontrol": true, "mtu": true, "no-drop": true, "cos": true, "ets": true, "pcp": true,
}

// AboutQoS reports whether a line contains a word about QoS. It is for lines that no form
// describes, in blocks that also have other lines.
func AboutQoS(line string) bool {
	switch first, rest, _ := strings.Cut(strings.TrimLeft(line, "0123456789 "), " "); {
	case first == "trust":
		return rest != "" // elsewhere the word is about ARP or DHCP
	case first == "permit", first == "deny", first == "remark":
		return false // an entry of an access list
	}
	for word := range strings.FieldsSeq(line) {
		if qosWords[word] {
			return true
		}
		if strings.IndexByte(word, '-') < 0 && strings.IndexByte(word, '_') < 0 {
			continue
		}
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '-' || r == '_' }) {
			if qosWords[part] && part != "queue" && part != "buffer" {
				return true
			}
		}
	}
	return false
}

// CutNegation removes the word with which a line begins that removes a setting or brings back its
// default.
func CutNegation(line string) (text string, negated bool) {
	if text, negated = strings.CutPrefix(line, "no "); negated {
		return text, true
	}
	return strings.CutPrefix(line, "default ")
}

// CutWords removes leading words from a line.
func CutWords(text, words string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, words)
	if !ok || rest != "" && rest[0] != ' ' {
		return "", false
	}
	return strings.TrimLeft(rest, " "), true
}
