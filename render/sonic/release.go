package sonic

import (
	"fmt"
	"slices"
	"strings"
)

// Release holds the differences between SONiC releases that matter for what this tool writes.
// Sources: the YANG models of sonic-net/sonic-buildimage on the release branches
// (src/sonic-yang-models) and sonic-net/sonic-utilities:generic_config_updater, same branches.
type Release struct {
	Name string
	// Index orders releases in time.
	Index int
	// MaxPollMS is the maximum of PFC_WD|GLOBAL POLL_INTERVAL, in milliseconds.
	MaxPollMS int
	// MaxSpeedMbps is the maximum of PORT.speed.
	MaxSpeedMbps int64
	// TCToDSCPModel is set if table TC_TO_DSCP_MAP has a YANG model.
	TCToDSCPModel bool
	// Trimming is set if BUFFER_PROFILE.packet_discard_action and SWITCH_TRIMMING have YANG models.
	Trimming bool
	// WRED says which changes to WRED_PROFILE the config updater accepts.
	WRED WREDRule
	// BufferProfileRows is set if whole BUFFER_PROFILE rows may be added and removed (once the
	// table exists).
	BufferProfileRows bool
	// EmptyMask is set if the YANG models accept an empty pfc_enable.
	EmptyMask bool
	// CableRederives is set if buffermgrd looks up headroom again when only the cable length
	// changes (sonic-net/sonic-swss pull 4004). Earlier releases do so when the port goes down and
	// up. CableMayRederive is set if some builds of the release do.
	CableRederives, CableMayRederive bool
}

// WREDRule says which changes to WRED_PROFILE the generic config updater accepts
// (generic_config_updater/gcu_field_operation_validators.conf.json).
type WREDRule int

// The rules.
const (
	// WREDAzureGreen accepts only replacing green_min_threshold, green_max_threshold and
	// green_drop_probability of AZURE_LOSSLESS.
	WREDAzureGreen WREDRule = iota
	// WREDGreen accepts replacing the same three fields of any profile.
	WREDGreen
	// WREDFree accepts any change.
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

// Strictest returns a release that allows only what every known release allows. It is the safe
// assumption if a version string names no known release.
func Strictest() Release { return Release{Name: "unknown", MaxPollMS: 1000, MaxSpeedMbps: 800000} }

// ReleaseOf finds the release in a build version as "show version" prints it:
// "SONiC.202405.123-abc", "20240532.15", "master.0-dirty". The result is the newest known branch
// that is not later than the year and month of the version. ok is false if the text names no
// release, or one older than the known ones.
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

// String returns "SONiC" and the name.
func (r Release) String() string { return fmt.Sprintf("SONiC %s", r.Name) }
