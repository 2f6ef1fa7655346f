package trace

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// Secrets that switches print are never logged.
func TestSecretsOfDevicesAreHidden(t *testing.T) {
	const hush = "$6$hushhush/0."
	for _, line := range []string{
		"username admin privilege 15 role network-admin secret sha512 " + hush,
		"username admin password 5 " + hush + "  role network-admin",
		"enable password sha512 " + hush,
		"snmp-server community " + hush + " ro",
		"snmp-server user admin network-admin auth md5 " + hush + " priv " + hush + " localizedkey",
		"snmp-server user admin network-admin auth sha-256 " + hush + " priv aes-128 " + hush,
		"tacacs-server key 7 " + hush,
		"tacacs-server host 192.0.2.1 vrf MGMT key 7 \"" + hush + "\"",
		"radius-server host 192.0.2.1 key 7 " + hush,
		"   neighbor 192.0.2.1 password 7 " + hush,
		"   ip ospf message-digest-key 1 md5 7 " + hush,
		"ntp authentication-key 1 md5 7 " + hush,
		"    key-string 7 " + hush,
		`{"TACPLUS": {"global": {"passkey": "` + hush + `", "timeout": "5"}}}`,
		`{"RADIUS|global": {"passkey@": "` + hush + `"}}`,
		`{"SNMP_COMMUNITY": {"` + hush + `": {"TYPE": "RO"}, "other` + hush + `": {"TYPE": "RO"}}, "PORT": {"Ethernet0": {"mtu": "9100"}}}`,
		`{"SNMP_USER": {"u": {"SNMP_USER_AUTH_PASSWORD": "` + hush + `"}}}`,
		`{"users": [{"encrypted-Password" : "` + hush + `"}]}`,
	} {
		if got := (&hidden{}).clean(line); strings.Contains(got, "hush") || !strings.Contains(got, secret.Redacted) {
			t.Errorf("%s\nis written as\n%s", line, got)
		}
	}
}

// Text that is not secret is kept.
func TestOtherTextIsKept(t *testing.T) {
	for _, text := range []string{
		"interface Ethernet1/1\n   priority-flow-control on\n   service-profile KEY-ACCOUNTS\n",
		`{"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}}`,
		"show queuing interface Ethernet1/1 | json",
	} {
		if got := (&hidden{}).clean(text); got != text {
			t.Errorf("%s\nis written as\n%s", text, got)
		}
	}
}

func TestLog(t *testing.T) {
	const password = `pass"word 1`
	record := func(level slog.Level) string {
		var b bytes.Buffer
		all := New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: level}))
		other := all.For("leaf2")
		all.For("leaf1", secret.Secret(password))
		c := other.Begin("get", func() string { return `{"a": "pass\"word 1"}` + strings.Repeat("x", 200) })
		c.End(func() string { return "it was pass\"word 1\x1b[2J" }, errors.New("no "+password))
		return b.String()
	}
	full, short := record(slog.LevelDebug), record(slog.LevelInfo)
	for _, want := range []string{`"msg":"get"`, `"device":"leaf2"`, `"took":`, `"request":`, `"answer":"it was `, `"error":"no `} {
		if !strings.Contains(full, want) {
			t.Errorf("%s is missing in %s", want, full)
		}
	}
	if strings.Contains(full, "word 1") || strings.Contains(full, `\u001b`) {
		t.Errorf("a secret or a control character in %s", full)
	}
	if !strings.Contains(short, `"msg":"get"`) || strings.Contains(short, "answer") || strings.Contains(short, strings.Repeat("x", 100)) {
		t.Errorf("one line an operation: %s", short)
	}
	var none *Log
	none.For("leaf1").Begin("get", func() string { t.Error("asked"); return "" }).End(nil, nil)
}
