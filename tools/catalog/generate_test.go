package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Environment variables for the inputs of the generator: a work tree of sonic-buildimage, and a git
// folder of sonic-utilities with its release branches.
const (
	buildimageEnv = "ROCE_FABRIC_SONIC_BUILDIMAGE"
	utilitiesEnv  = "ROCE_FABRIC_SONIC_UTILITIES"
)

// The committed files equal the output of the generator for the commit that they name.
func TestRegeneration(t *testing.T) {
	o := options{tree: os.Getenv(buildimageEnv), utilities: os.Getenv(utilitiesEnv), data: "../../render/catalog/data"}
	if o.tree == "" || o.utilities == "" {
		t.Skipf("skipped: needs checkouts in %s and %s", buildimageEnv, utilitiesEnv)
	}
	committed, err := filepath.Glob("../../render/catalog/data/sonic/*.json")
	if err != nil || len(committed) == 0 {
		t.Fatal(len(committed), err)
	}
	text, err := os.ReadFile(committed[0])
	if err != nil {
		t.Fatal(err)
	}
	o.commit = string(regexp.MustCompile(`@([0-9a-f]{12}):`).FindSubmatch(text)[1])
	files, _, err := generate(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(committed) {
		t.Errorf("%d models, and %d are committed", len(files), len(committed))
	}
	for name, want := range files {
		if have, err := os.ReadFile(filepath.Join("../../render/catalog/data/sonic", name)); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the program makes: %v", name, err)
		}
	}
}

func TestBreakouts(t *testing.T) {
	for s, want := range map[string][]breakout{
		"1x400G[200G]":           {{1, 8, "400G", "200G,400G"}},
		"2x50G(2)+1x100G(4)":     {{2, 2, "50G", "50G"}, {1, 4, "100G", "100G"}},
		"4x25G(4)[10G,1G]":       {{4, 4, "25G", "25G"}}, // SONiC ignores the rest, too
		"8x100G[50G, 25G,50G]":   {{8, 8, "100G", "100G,25G,50G"}},
		"":                       nil,
		"0x100G":                 nil,
		"4x100G(2)":              nil,
		"2x400G+" + "nonsense":   nil,
		strings.Repeat("9", 400): nil,
	} {
		got, err := breakouts(s, 8)
		if (err == nil) != (want != nil) || len(got) != len(want) {
			t.Errorf("%.40q: %v %v", s, got, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: %+v, want %+v", s, got[i], want[i])
			}
		}
	}
}

// Only profiles that all ports bind to a group or queue count.
func TestBound(t *testing.T) {
	rows := func(l ...string) (out []entry) {
		for _, s := range l {
			key, profile, _ := strings.Cut(s, " ")
			out = append(out, entry{key, []pair{{"profile", profile}}})
		}
		return out
	}
	got := bound(rows("Ethernet0|0-2 a", "Ethernet4|0-2 a", "Ethernet0|3-4 [BUFFER_PROFILE|b]", "Ethernet4|3-4 c", "Ethernet0|x d", "asic0|Ethernet0|5 e", "Ethernet0|9 f"))
	if want := [8]string{"a", "a", "a"}; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A family in a name is not enough: related chips have different buffers.
func TestPrefix(t *testing.T) {
	for name, want := range map[string]string{
		"th3-z9332f-32x400G.config.bcm": "th3", "th5_z9864f_64x800lt.yml": "th5", "td3-x5-n3248pxe.config.bcm": "x", "hx5-e3224f.config.bcm": "",
		"config.bcm": "", "th-a7060-cx32s.config.bcm": "th", "theia.bcm": "", "q3d-nokia.bcm": "q3d", "td2p-x.bcm": "",
	} {
		f := prefix.FindStringSubmatch(name)
		got := ""
		if f != nil {
			if got = f[1]; f[2] != "" {
				got = "x"
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
