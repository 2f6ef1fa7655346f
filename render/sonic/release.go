package sonic

import (
	"fmt"
	"slices"
	"strings"
)

// Release holds what differs between SONiC releases, as far as this tool
// writes it. Sources: the YANG models of sonic-net/sonic-buildimage on the
// release branches (src/sonic-yang-models) and
// sonic-net/sonic-utilities:generic_config_updater, same branches.
type Release struct {
	Name string
	// Index orders releases in time.
	Index int
	// MaxPollMS is the largest PFC_WD|GLOBAL POLL_INTERVAL, milliseconds.
	MaxPollMS int
	// MaxSpeedMbps is the largest PORT.speed.
	MaxSpeedMbps int64
	// TCToDSCPModel: table TC_TO_DSCP_MAP has a model.
	TCToDSCPModel bool
	// Trimming: BUFFER_PROFILE.packet_discard_action and SWITCH_TRIMMING have models.
	Trimming bool
	// WRED says what the updater lets through for WRED_PROFILE.
	WRED WREDRule
	// BufferProfileRows: whole BUFFER_PROFILE rows may be added and removed
	// (once the table exists).
	BufferProfileRows bool
	// EmptyMask: the models take an empty pfc_enable.
	EmptyMask bool
	// CableRederives: buffermgrd looks headroom up again when only the cable
	// length changes (sonic-net/sonic-swss pull 4004). Before, it does so when the
	// port goes down and up. CableMayRederive: some builds of the release do.
	CableRederives, CableMayRederive bool
}

// WREDRule is what the generic config updater lets through for WRED_PROFILE
// (generic_config_updater/gcu_field_operation_validators.conf.json).
type WREDRule int

// The rules.
const (
	// WREDAzureGreen: only replace of AZURE_LOSSLESS green_min_threshold,
	// green_max_threshold and green_drop_probability.
	WREDAzureGreen WREDRule = iota
	// WREDGreen: the same three fields of any profile.
	WREDGreen
	// WREDFree: anything.
	WREDFree
)

var releases = []Release{
	{Name: "202311", MaxPollMS: 3000, MaxSpeedMbps: 800000},
	{Name: "202405", MaxPollMS: 3000, MaxSpeedMbps: 800000},
	{Name: "202411", MaxPollMS: 3000, MaxSpeedMbps: 800000, TCToDSCPModel: true},
	{Name: "202505", MaxPollMS: 3000, MaxSpeedMbps: 800000, TCToDSCPModel: true, Trimming: true, WRED: WREDGreen, EmptyMask: true, CableMayRederive: true},
	{Name: "202511", MaxPollMS: 1000, MaxSpeedMbps: 1600000, TCToDSCPModel: true, Trimming: true, WRED: WREDFree, BufferProfileRows: true, EmptyMask: true, CableRederives: true},
	{Name: "202605", MaxPollMS: 1000, MaxSpeedMbps: 1600000, TCToDSCPModel: true, Trimming: true, WRED: WREDFree, BufferProfileRows: true, EmptyMask: true, CableRederives: true},
	{Name: "master", MaxPollMS: 1000, MaxSpeedMbps: 1600000, TCToDSCPModel: true, Trimming: true, WRED: WREDFree, BufferProfileRows: true, EmptyMask: true, CableRederives: true},
}

func init() {
	for i := range releases {
		releases[i].Index = i
	}
}

// Releases returns the names of the known releases, oldest first.
func Releases() []string {
	var out []string
	for _, r := range releases {
		out = append(out, r.Name)
	}
	return out
}

// LookupRelease returns the release of that name.
func LookupRelease(name string) (Release, bool) {
	i := slices.IndexFunc(releases, func(r Release) bool { return r.Name == name })
	if i < 0 {
		return Release{}, false
	}
	return releases[i], true
}

// Newest returns the newest known release.
func Newest() Release { return releases[len(releases)-1] }

// Strictest returns a release that allows only what every known release
// allows: the safe assumption for a version string that names none.
func Strictest() Release { return Release{Name: "unknown", MaxPollMS: 1000, MaxSpeedMbps: 800000} }

// ReleaseOf finds the release in a build version as "show version" prints it:
// "SONiC.202405.123-abc", "20240532.15", "master.0-dirty". The branch is the
// newest known one that is not later than the year and month of the version.
// ok is false where the text names none.
func ReleaseOf(version string) (r Release, ok bool) {
	for _, w := range strings.FieldsFunc(version, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		if w == "master" || w == "HEAD" {
			return Newest(), true
		}
		if len(w) != 6 && len(w) != 8 || strings.Trim(w[:6], "0123456789") != "" || w[:2] != "20" {
			continue
		}
		if w[:6] < releases[0].Name {
			return Release{}, false
		}
		for _, cand := range releases[:len(releases)-1] {
			if cand.Name <= w[:6] {
				r, ok = cand, true
			}
		}
		return r, ok
	}
	return Release{}, false
}

// String prints the name.
func (r Release) String() string { return fmt.Sprintf("SONiC %s", r.Name) }
