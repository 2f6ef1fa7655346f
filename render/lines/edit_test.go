package lines

import (
	"encoding/json"
	"testing"
)

// Plans and journals of version 1 use the system's own word for the block of a setting: "queue"
// on EOS, "class" on NX-OS.
func TestSettingsOfOlderFilesAreRead(t *testing.T) {
	const text = `[{"section":"qos profile P","queue":"uc-tx-queue 3","key":"bandwidth percent","line":"bandwidth percent 7"},
		{"section":"policy-map type qos P","class":"class ROCE","line":"present","at":2},
		{"section":"interface Ethernet1","block":"b","key":"mtu"}]`
	var e Edit
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	for i, want := range (Edit{
		{Section: "qos profile P", Block: "uc-tx-queue 3", Key: "bandwidth percent", Line: "bandwidth percent 7"},
		{Section: "policy-map type qos P", Block: "class ROCE", Line: Present, At: 2},
		{Section: "interface Ethernet1", Block: "b", Key: "mtu"},
	}) {
		if e[i] != want {
			t.Errorf("read %+v, want %+v", e[i], want)
		}
	}
}
