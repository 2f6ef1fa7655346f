package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// identity is what a saved configuration says of its switch; "" for what it
// does not.
type identity struct{ hostname, model, release string }

// recognise returns the systems whose configuration a text looks like.
func recognise(text []byte) []string {
	var out []string
	for name, r := range renderers {
		if r.recognise != nil && r.recognise(text) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// headBytes is how far into a text its system is looked for.
const headBytes = 1 << 20

func head(text []byte) []byte { return text[:min(len(text), headBytes)] }

// sonicText: CONFIG_DB is JSON, the command lines of the others are not.
func sonicText(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

func sonicIdentity(text []byte) identity {
	var doc struct {
		Metadata map[string]struct {
			Hostname string `json:"hostname"`
			HWSKU    string `json:"hwsku"`
		} `json:"DEVICE_METADATA"`
	}
	// What cannot be read here, the decoder names.
	_ = json.Unmarshal(text, &doc)
	m := doc.Metadata["localhost"]
	return identity{hostname: m.Hostname, model: m.HWSKU}
}

var (
	// eosDevice is the second line of "show running-config".
	eosDevice = regexp.MustCompile(`(?m)^! device: (\S+) \(([^,)\s]{1,64}), EOS-([^)\s]{1,64})\)`)
	// eosOnly are lines that no other system has.
	eosOnly = regexp.MustCompile(`(?m)^(! device: .*EOS-|service routing protocols model|qos profile \S|\s+(uc-)?tx-queue [0-7]|qos map dscp )`)
	// nxosVersion is the first line of a configuration behind the comments.
	nxosVersion = regexp.MustCompile(`(?m)^version ([0-9]+\.[0-9]+\([^)\s]{1,16}\)\S{0,16})`)
	nxosOnly    = regexp.MustCompile(`(?m)^(version [0-9]+\.[0-9]+\(|feature \S|vdc \S+ id |class-map type (qos|queuing|network-qos) |policy-map type |system qos\s*$)`)
	hostname    = regexp.MustCompile(`(?m)^hostname (\S{1,255})`)
)

func eosText(text []byte) bool {
	return !sonicText(text) && eosOnly.Match(head(text)) && !nxosOnly.Match(head(text))
}

func eosIdentity(text []byte) identity {
	id := identity{hostname: named(text)}
	if m := eosDevice.FindSubmatch(head(text)); m != nil {
		id.model, id.release = string(m[2]), string(m[3])
		if id.hostname == "" {
			id.hostname = string(m[1])
		}
	}
	return id
}

func nxosText(text []byte) bool {
	return !sonicText(text) && nxosOnly.Match(head(text)) && !eosDevice.Match(head(text))
}

func nxosIdentity(text []byte) identity {
	id := identity{hostname: named(text)}
	if m := nxosVersion.FindSubmatch(head(text)); m != nil {
		id.release = string(m[1])
	}
	return id
}

func named(text []byte) string {
	if m := hostname.FindSubmatch(head(text)); m != nil {
		return strings.Trim(string(m[1]), `"`)
	}
	return ""
}
