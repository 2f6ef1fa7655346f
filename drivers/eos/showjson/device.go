package showjson

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Version is the output of "show version"; missing texts are "".
type Version struct {
	Model        string // "DCS-7060DX5-64S-R"
	Release      string // "4.32.1F"
	Manufacturer string // "Arista"
	Serial       string
	MAC          string // system MAC address
	// Uptime is also the clock used by [Sessions.Expires].
	Uptime qos.Opt[time.Duration]
}

// ParseVersion decodes "show version" (aristanetworks/openmgmt; amd/node-scraper,
// scale_out_arista).
func ParseVersion(b []byte) (Version, error) {
	o, err := decode(b)
	return Version{Model: o.String("modelName"), Release: o.String("version"), Manufacturer: o.String("mfgName"), Serial: o.String("serialNumber"), MAC: o.String("systemMacAddress"), Uptime: seconds(o, "uptime")}, err
}

// seconds returns a duration given in seconds, with a fraction, between zero and a century.
func seconds(o tree.Object, name string) qos.Opt[time.Duration] {
	const century = 100 * 366 * 24 * time.Hour
	n, _ := o.Get(name).(json.Number)
	if f, err := n.Float64(); err == nil && f > 0 && f < century.Seconds() {
		return qos.Of(time.Duration(math.Round(f * float64(time.Second))))
	}
	return qos.Opt[time.Duration]{}
}

// Sessions are the configuration sessions of a device.
type Sessions struct {
	// States maps session names to states in the device's words: "pending", "completed",
	// "pendingCommitTimer".
	States map[string]string
	// Users maps session names to a description of who opened or committed the session, as far as
	// the device shows it. The form is not documented for every release.
	Users map[string]string
	// Timer is the session whose commit is reverted unless it is confirmed in time; "" for none.
	// Expires is that time, on the clock of [Version.Uptime].
	Timer   string
	Expires qos.Opt[time.Duration]
}

// maxSessions is far more sessions than a device keeps, pending and completed; maxUser limits the
// bytes of a user description.
const maxSessions, maxUser = 1 << 12, 256

// ParseSessions decodes "show configuration sessions", plain or detail, in the form of releases
// up to 4.32, where the timer is part of its session, and of later ones, where it is separate
// (napalm-automation/napalm eos.py).
func ParseSessions(b []byte) (Sessions, error) {
	o, err := decode(b)
	if err != nil {
		return Sessions{}, err
	}
	all := o.At("sessions")
	if len(all) > maxSessions {
		return Sessions{}, fmt.Errorf("output has %d sessions, more than %d", len(all), maxSessions)
	}
	s := Sessions{States: map[string]string{}, Users: map[string]string{}, Timer: o.String("commitTimerSessionName"), Expires: seconds(o, "commitTimerExpireTime")}
	for key := range inOrder(all) {
		name, state := term.CleanLine(key), all.At(key).String("state")
		s.States[name] = state
		user := all.At(key).String("commitUser")
		for id := range inOrder(all.At(key, "instances")) {
			user = cmp.Or(user, all.At(key, "instances", id).String("user"))
		}
		if user != "" {
			s.Users[name] = term.CleanLine(user[:min(len(user), maxUser)])
		}
		if s.Timer == "" && strings.Contains(state, "pendingCommitTimer") {
			s.Timer, s.Expires = name, seconds(all.At(key), "commitBy")
		}
	}
	if s.Timer == "" {
		s.Expires = qos.Opt[time.Duration]{}
	}
	return s, nil
}

// Pending returns the sessions that are open and not committed, sorted.
func (s Sessions) Pending() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.States)) {
		if s.States[name] == "pending" {
			out = append(out, name)
		}
	}
	return out
}
