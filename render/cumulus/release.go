package cumulus

import (
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Release is a release of Cumulus Linux that this package knows the words of: its minor
// number, as all are 5.
type Release struct{ Minor int }

// The releases that NVIDIA's public documentation was read for.
const oldest, newest = 9, 17

// Releases are the names of all releases, the oldest first.
func Releases() []string {
	var out []string
	for minor := oldest; minor <= newest; minor++ {
		out = append(out, Release{minor}.String())
	}
	return out
}

// Newest is the release to assume where none is told.
func Newest() Release { return Release{newest} }

var releaseText = lazyre.New(`(?:^|[^0-9.])5\.([0-9]{1,2})(?:[^0-9]|$)`)

// ReleaseOf reads the name of a release as the switch prints it ("Cumulus Linux 5.9.1",
// "5.15.0"); ok is false for one that this package does not know. Then it is the nearest that
// it does, where the text tells one of 5, and the zero Release otherwise.
func ReleaseOf(text string) (r Release, ok bool) {
	m := releaseText.FindStringSubmatch(text)
	if m == nil {
		return Release{}, false
	}
	n, _ := strconv.Atoi(m[1]) // it has digits
	return Release{min(max(n, oldest), newest)}, n >= oldest && n <= newest
}

// String prints "5.15"; "" for the zero Release.
func (r Release) String() string {
	if r.Minor == 0 {
		return ""
	}
	return "5." + strconv.Itoa(r.Minor)
}

// since reports whether a release is 5.minor or newer. One that is not known is the
// newest.
func (r Release) since(minor int) bool { return r.Minor == 0 || r.Minor >= minor }

// enabled is the word of a state that is on or off: 5.15 has others than the releases
// before it (What's New of 5.15, changed commands; nvue-reference, QoS).
func (r Release) enabled(on bool) string {
	switch {
	case r.since(15) && on:
		return "enabled"
	case r.since(15):
		return "disabled"
	case on:
		return "enable"
	}
	return "disable"
}

// enable is the word of the switches that no release has renamed in NVIDIA's guides: of
// PFC, ECN and RED.
func enable(on bool) string {
	if on {
		return "enable"
	}
	return "disable"
}

// isOn reads a word for on or off, of any release.
func isOn(word string) (on, ok bool) {
	switch word {
	case "on", "enable", "enabled", "true", "yes":
		return true, true
	case "off", "disable", "disabled", "false", "no":
		return false, true
	}
	return false, false
}

// onAt reads a state at a node: its own word, or that below "state" or "enable". usual is
// what a node that says neither means.
func onAt(n *Node, usual bool) bool {
	for _, v := range []*Node{n.At("state"), n.At("enable"), n} {
		if on, ok := isOn(v.Word()); ok {
			return on
		}
	}
	return n != nil && usual
}
