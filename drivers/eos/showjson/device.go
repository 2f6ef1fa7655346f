package showjson

import (
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Version is what "show version" says; a text is "" where it says nothing.
type Version struct {
	Model        string // "DCS-7060DX5-64S-R"
	Release      string // "4.32.1F"
	Manufacturer string // "Arista"
	Serial       string
	Architecture string
	// Uptime is also the clock of [Sessions.Expires].
	Uptime qos.Opt[time.Duration]
}

// ParseVersion reads "show version" (aristanetworks/openmgmt;
// amd/node-scraper, scale_out_arista).
func ParseVersion(b []byte) (Version, error) {
	var out struct {
		Model        text    `json:"modelName"`
		Version      text    `json:"version"`
		Manufacturer text    `json:"mfgName"`
		Serial       text    `json:"serialNumber"`
		Architecture text    `json:"architecture"`
		Uptime       seconds `json:"uptime"`
	}
	if err := decode(b, &out); err != nil {
		return Version{}, err
	}
	return Version{
		Model: string(out.Model), Release: string(out.Version), Manufacturer: string(out.Manufacturer),
		Serial: string(out.Serial), Architecture: string(out.Architecture), Uptime: qos.Opt[time.Duration](out.Uptime),
	}, nil
}

// Sessions are the configuration sessions of a device.
type Sessions struct {
	// States are the states by the session's name, in the device's words:
	// "pending", "completed", "pendingCommitTimer".
	States map[string]string
	// Timer is the session whose commit is reverted unless it is confirmed
	// in time; "" where none is. Expires is when, on the clock of
	// [Version.Uptime].
	Timer   string
	Expires qos.Opt[time.Duration]
}

// maxSessions is far above what a device keeps, pending and completed.
const maxSessions = 1 << 12

// ParseSessions reads "show configuration sessions", plain or detail, in the
// form of releases up to 4.32, where the timer stands with its session, and in
// that of later ones, where it stands apart (napalm-automation/napalm eos.py).
func ParseSessions(b []byte) (Sessions, error) {
	var out struct {
		Sessions map[string]struct {
			State    text    `json:"state"`
			CommitBy seconds `json:"commitBy"`
		} `json:"sessions"`
		Timer   text    `json:"commitTimerSessionName"`
		Expires seconds `json:"commitTimerExpireTime"`
	}
	if err := decode(b, &out); err != nil {
		return Sessions{}, err
	}
	if len(out.Sessions) > maxSessions {
		return Sessions{}, fmt.Errorf("output has %d sessions, more than %d", len(out.Sessions), maxSessions)
	}
	s := Sessions{States: map[string]string{}, Timer: string(out.Timer), Expires: qos.Opt[time.Duration](out.Expires)}
	for name, v := range inOrder(out.Sessions) {
		name = term.CleanLine(name)
		s.States[name] = string(v.State)
		if out.Timer == "" && s.Timer == "" && strings.Contains(string(v.State), "pendingCommitTimer") {
			s.Timer, s.Expires = name, qos.Opt[time.Duration](v.CommitBy)
		}
	}
	if s.Timer == "" {
		s.Expires = qos.Opt[time.Duration]{}
	}
	return s, nil
}

// Pending returns the sessions that are open and not committed, in order.
func (s Sessions) Pending() []string {
	var out []string
	for name, state := range inOrder(s.States) {
		if state == "pending" {
			out = append(out, name)
		}
	}
	return out
}
