package drivers_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/roce-fabric/roce-fabric/fleet"
)

// utf16Of returns a text as Windows saves it.
func utf16Of(s string, order binary.AppendByteOrder, mark bool) []byte {
	var out []byte
	if mark {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// Plain removes what editors and terminals add, and keeps the line numbers of the configuration.
func TestPlainRemovesEditorArtifacts(t *testing.T) {
	const cfg = "hostname leaf1\ninterface Ethernet1\n   mtu 9214\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                 {cfg, cfg},
		"byte order mark":         {"\xef\xbb\xbf" + cfg, cfg},
		"CRLF":                    {strings.ReplaceAll(cfg, "\n", "\r\n"), cfg},
		"UTF-16LE":                {string(utf16Of(cfg, binary.LittleEndian, true)), cfg},
		"UTF-16BE":                {string(utf16Of(cfg, binary.BigEndian, true)), cfg},
		"UTF-16LE without mark":   {string(utf16Of(cfg, binary.LittleEndian, false)), cfg},
		"UTF-16BE without mark":   {string(utf16Of(cfg, binary.BigEndian, false)), cfg},
		"prompts":                 {"leaf1#show run\n" + cfg + "leaf1#", "\n" + cfg},
		"prompts with a mode":     {"leaf1(config-if-Et1)# sh run | no-more\n" + cfg + "leaf1(config)#exit\nleaf1#\n", "\n" + cfg + "\n\n"},
		"prompt of Linux":         {"admin@leaf1:~$ show runningconfiguration all\n{\n  \"PORT\": {}\n}\nadmin@leaf1:~$ ", "\n{\n  \"PORT\": {}\n}\n"},
		"other commands":          {"leaf1#show version\nmtu 1500 everywhere\nleaf1#show running-config\n" + cfg + "leaf1#show clock\nThu\n", "\n\n\n" + cfg + "\n\n"},
		"only other commands":     {"leaf1#foo\n" + cfg, "\n" + cfg},
		"talk before JSON":        {"Command: x\n{\"PORT\": {}}\nbye\n", "\n{\"PORT\": {}}\n\n"},
		"list of objects":         {"[\n  {\"header\": {}},\n  {\"set\": {}}\n]\n", "[\n  {\"header\": {}},\n  {\"set\": {}}\n]\n"},
		"talk before a list":      {"admin@leaf1:mgmt:~$ nv config show -o json\n[\n  {\"header\": {}},\n  {\"set\": {}}\n]\nadmin@leaf1:mgmt:~$ nv show version\nx\n", "\n[\n  {\"header\": {}},\n  {\"set\": {}}\n]\n\n\n"},
		"commands that configure": {"admin@leaf1:~$ nv set qos roce\nadmin@leaf1:~$ nv config apply\n", "admin@leaf1:~$ nv set qos roce\n\n"},
		"JSON that is cut":        {"x\n{\"PORT\": {", "x\n{\"PORT\": {"},
		"pager, backspaces":       {"hostname leaf1\n --More-- \b\b\b\b\b\b\b\b\b\b          \b\b\b\b\b\b\b\b\b\binterface Ethernet1\n   mtu 9214\n", cfg},
		"pager, carriage return":  {"hostname leaf1\n--More--\r        \rinterface Ethernet1\n   mtu 9214\n", cfg},
		"pager, escapes":          {"hostname leaf1\n\x1b[7m--More--\x1b[27m\r\x1b[Kinterface Ethernet1\n   mtu 9214\n", cfg},
		"pager, left behind":      {"hostname leaf1\ninterface Ethernet1\n --More--    mtu 9214\n", cfg},
		"pager on its line":       {"hostname leaf1\n--More--(42%)\ninterface Ethernet1\n", "hostname leaf1\n\ninterface Ethernet1\n"},
		"colours":                 {"\x1b[1mhostname leaf1\x1b[0m\n\x1b]0;title\x07interface Ethernet1\n", "hostname leaf1\ninterface Ethernet1\n"},
		"no prompt":               {"snmp-server community a#b\nbanner motd #\nhi\n#\n", "snmp-server community a#b\nbanner motd #\nhi\n#\n"},
	} {
		got := fleet.Systems.Plain([]byte(c.text))
		if strings.Count(string(got), "\n") != strings.Count(c.want, "\n") {
			t.Errorf("%s: lines moved: %q", name, got)
		}
		trimmed := func(s string) string {
			lines := strings.Split(s, "\n")
			for i, l := range lines {
				lines[i] = strings.TrimRight(l, " ")
			}
			return strings.Join(lines, "\n")
		}
		if trimmed(string(got)) != trimmed(c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
	}
}

// FuzzPlain checks that Plain does not modify its argument, removes backspaces and escapes, and
// does not enlarge a text more than decoding UTF-16 can.
func FuzzPlain(f *testing.F) {
	f.Add([]byte("leaf1#show run\n\x1b[7m--More--\x1b[m\r\x1b[K   mtu 9214\r\n{\"PORT\": {}}\n"))
	f.Add([]byte("\xff\xfeh\x00i\x00"))
	f.Add([]byte("a\b\b\b\rb\x1b[K\x1b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		got := fleet.Systems.Plain(text)
		if !bytes.Equal(text, before) {
			t.Fatalf("the text itself was changed: %q", before)
		}
		if bytes.ContainsAny(got, "\b\x1b") {
			t.Errorf("%q is left of %q", got, text)
		}
		if len(got) > 3*len(text)+3 { // U+FFFD takes 3 bytes for one UTF-16 unit
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}
