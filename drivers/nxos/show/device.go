package show

import "strings"

// Version is the output of "show version"; missing texts are "".
type Version struct {
	System  string // "Cisco Nexus Operating System (NX-OS) Software"
	Release string // "10.4(3)"
	Model   string // of the chassis: "Nexus9000 C9332D-GX2B Chassis"
	Serial  string // of the board; "" for a chassis with slots, where each supervisor has one
	NXOS    bool
}

// ParseVersion decodes "show version" (ansible-collections/cisco.nxos facts/legacy/base.py;
// napalm-automation/napalm nxos.py). Older releases print the release under the name of the
// image.
func ParseVersion(b []byte) (Version, error) {
	r, err := parse(b)
	if err != nil {
		return Version{}, err
	}
	v := Version{Model: r.Text("chassis_id")}
	if !strings.Contains(v.Model, "Slot") { // such as "Nexus9000 C9508 (8 Slot) Chassis"
		v.Serial = r.Text("proc_board_id")
	}
	v.System, _, _ = strings.Cut(r.Text("header_str"), "\n")
	for _, key := range []string{"nxos_ver_str", "sys_ver_str", "kickstart_ver_str"} {
		if v.Release = r.Text(key); v.Release != "" {
			break
		}
	}
	v.NXOS = r.Text("nxos_ver_str") != "" || v.Release != "" && strings.Contains(v.System, "NX-OS")
	return v, nil
}

// ParseInventory returns the product ID and serial number of the chassis from "show inventory";
// "" if it lists no chassis (ansible-collections/cisco.nxos facts/legacy/base.py).
func ParseInventory(b []byte) (product, serial string) {
	r, err := parse(b)
	if err != nil {
		return "", ""
	}
	for _, i := range r.table("inv") {
		if strings.Trim(i.Text("name"), `"`) == "Chassis" {
			return i.Text("productid"), i.Text("serialnum")
		}
	}
	return "", ""
}
