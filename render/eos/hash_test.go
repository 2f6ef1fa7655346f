package eos

import "testing"

func TestDecodeReadsTheHashSeed(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"ip load-sharing trident 3\n": "3 (trident)",
		"ip load-sharing trident fields ip source-ip destination-ip\n":       "",
		"ip load-sharing fm6000 20\nno ip load-sharing fm6000\n":             "",
		"ip load-sharing trident 3\nip load-sharing trident fields ip ttl\n": "3 (trident)",
		"ip load-sharing fm6000 20\ndefault ip load-sharing fm6000 20\n":     "",
		"ip load-sharing sand fields\nhostname leaf1\nip load-sharing x 1\n": "1 (x)",
	} {
		c, err := Parse([]byte(text + "interface Ethernet1\n"))
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := Decode(c); d.HashSeed != want {
			t.Errorf("%q: %q, want %q", text, d.HashSeed, want)
		}
	}
}
