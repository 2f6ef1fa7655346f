package nxos

import "testing"

func TestDecodeReadsTheHashSeed(t *testing.T) {
	const line = "ip load-sharing address source-destination port source-destination"
	for text, want := range map[string]string{
		"":                                     "",
		line:                                   "",
		line + " universal-id 77":              "77 rotated by 32",
		line + " universal-id 77 rotate 30":    "77 rotated by 30",
		line + " rotate 30":                    "",
		line + " universal-id 77\nno " + line:  "",
		line + " universal-id 77\n" + line:     "",
		line + " universal-id 1 concatenation": "1 rotated by 32",
	} {
		if d, _ := Decode(parse(t, text+"\ninterface Ethernet1/1\n"), EightQueue); d.HashSeed != want {
			t.Errorf("%q: %q, want %q", text, d.HashSeed, want)
		}
	}
}
