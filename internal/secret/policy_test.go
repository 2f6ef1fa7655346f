package secret

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestUsualPolicy(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	desk, pipeline := Usual(environment("CI", "false")), Usual(environment("CI", "true"))
	for _, c := range []struct {
		ref            string
		desk, pipeline bool
	}{
		{"env:FABRIC_PASSWORD", true, true},
		{"env:FABRIC_USER", true, true},
		{"env:AWS_SECRET_ACCESS_KEY", false, false},
		{"env:MY_FABRIC_PASSWORD", false, false},
		{"env:fabric_password", false, false},
		{"file:/etc/shadow", false, false},
		{"file:~/.ssh/id_ed25519", false, false}, // the secret itself would be sent
		{"keyring:github/ann", false, false},
		{"admin", true, true}, // a user name, not a reference
		{"DOMAIN:admin", true, true},
	} {
		if got := desk.Reference(c.ref) == nil; got != c.desk {
			t.Errorf("desk: %s allowed %v", c.ref, got)
		}
		if got := pipeline.Reference(c.ref) == nil; got != c.pipeline {
			t.Errorf("pipeline: %s allowed %v", c.ref, got)
		}
	}
	if desk.Key("~/.ssh/id_ed25519") != nil || desk.Key("/etc/ssh/ssh_host_key") == nil || desk.Key("~/.ssh/../key") == nil || desk.Agent() != nil {
		t.Error("keys at a desk")
	}
	if pipeline.Key("~/.ssh/id_ed25519") == nil || pipeline.Agent() == nil {
		t.Error("keys in a pipeline")
	}
	if desk.Program([]string{"true"}) == nil || pipeline.Program([]string{"true"}) == nil {
		t.Error("a program")
	}
	if desk.Address("192.0.2.1:22") != nil || pipeline.Address("192.0.2.1:22") == nil || pipeline.Address("127.0.0.1:22") != nil || pipeline.Address("[::1]:22") != nil {
		t.Error("addresses")
	}
	if Pipeline(environment()) || Pipeline(environment("CI", "0")) || !Pipeline(environment("CI", "woodpecker")) {
		t.Error("what a pipeline is")
	}
}

func TestPolicyReferences(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	p := &Policy{Secrets: []string{"env:LAB_?", "file:/etc/roce/*", "file:./secrets/pw", "file:~/pw", "keyring:roce/*"}, Own: []string{"env:LAB_K"}}
	for ref, want := range map[string]bool{
		"env:LAB_A": true, "env:LAB_AB": false, "env:LAB_K": false,
		"file:/etc/roce/pw": true, "file:/etc/roce/../shadow": false, "file:/etc/roce/a/b": false, "file:/etc/roce//pw": true,
		"file:secrets/pw": true, "file:" + dir + "/secrets/pw": true, "file:" + dir + "/pw": true, "file:secrets/other": false,
		"keyring:roce/ann": true, "keyring:other/ann": false, "keyring:roce/x/ann": false,
	} {
		err := p.Reference(ref)
		if (err == nil) != want || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	// A forbidden reference is not read.
	t.Setenv("OTHER", plain)
	if s, err := p.Resolve(t.Context(), "env:OTHER"); s != "" || !errors.Is(err, ErrForbidden) {
		t.Errorf("%q, %v", s.Reveal(), err)
	}
	if s, err := p.Username(t.Context(), "env:OTHER"); s != "" || !errors.Is(err, ErrForbidden) {
		t.Errorf("%q, %v", s, err)
	}
	// Plain text is rejected without being shown.
	if _, err := p.Resolve(t.Context(), plain); err == nil || strings.Contains(err.Error(), plain) {
		t.Errorf("%v", err)
	}
}

// A link in the working folder cannot lead to a secret outside it.
func TestLinkOutOfTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	outside := write(t, "id", plain, 0o600)
	if err := errors.Join(os.Mkdir("secrets", 0o700), os.Symlink(outside, "secrets/pw"), os.WriteFile("real", []byte("x"), 0o600), os.Symlink("../real", "secrets/inside")); err != nil {
		t.Fatal(err)
	}
	full, err := filepath.Abs("secrets/pw")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file:secrets/pw", "file:" + full, "file:secrets/../secrets/pw"} {
		if s, err := Resolve(t.Context(), ref); err == nil || strings.Contains(err.Error(), plain) {
			t.Errorf("%s: %q, %v", ref, s.Reveal(), err)
		}
	}
	for _, ref := range []string{"file:secrets/inside", "file:real", "file:" + outside} {
		if _, err := Resolve(t.Context(), ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestPolicyAddresses(t *testing.T) {
	p := &Policy{Addresses: []string{"192.0.2.0/24", "2001:db8::/32", "198.51.100.7", "*.mgmt.example.net", "jump"}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"": true, "192.0.2.11:8080": true, "192.0.3.1:8080": false, "[2001:db8::1]:22": true, "[2001:db9::1]:22": false, "[::ffff:192.0.2.1]:22": true,
		"198.51.100.7:22": true, "198.51.100.8:22": false, "leaf1.mgmt.example.net:22": true, "LEAF1.MGMT.example.net.:22": true, "leaf1.mgmt.example.net.evil.org:22": false,
		"root@jump:22": true, "jump@evil.org:22": false, "192.0.2.1.evil.org:22": false, "3221225985:22": false,
	} {
		if err := p.Address(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestPolicyPrograms(t *testing.T) {
	p := &Policy{Programs: []string{"/opt/approve", "python3 approve.py"}}
	for line, want := range map[string]bool{
		"": true, "/opt/approve": true, "/opt/approve pod1": true, "/opt/approve2": false, "approve": false,
		"python3 approve.py x": true, "python3": false, "python3 -c evil": false, "sh": false,
	} {
		if err := p.Program(strings.Fields(line)); (err == nil) != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The hint lists the complete option, so that existing permissions are kept.
func TestGrant(t *testing.T) {
	p := Usual(environment("CI", "1"))
	var a, b *Forbidden
	if !errors.As(p.Reference("env:LAB_USER"), &a) || !errors.As(p.Reference("env:LAB_PW"), &b) {
		t.Fatal("not refused")
	}
	for _, part := range []string{"--secrets 'env:FABRIC_*,env:LAB_USER,env:LAB_PW'", "ROCE_FABRIC_SECRETS", `secrets: ["env:FABRIC_*", "env:LAB_USER", "env:LAB_PW"]`} {
		if !strings.Contains(Grant(a, b, a), part) {
			t.Errorf("%s lacks %s", Grant(a, b, a), part)
		}
	}
}

func TestPolicyCheck(t *testing.T) {
	for _, p := range []Policy{
		{Secrets: []string{"FABRIC_*"}}, {Secrets: []string{"env:"}}, {Secrets: []string{"env:[a"}}, {Secrets: []string{"http:x"}},
		{Programs: []string{" "}}, {Addresses: []string{""}}, {Addresses: []string{"192.0.2.0/33"}}, {Addresses: []string{"https://x"}}, {Addresses: []string{"[a"}},
	} {
		if p.Check() == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}
