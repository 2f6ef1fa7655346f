package cumulus

import (
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Release is a 5.x release of Cumulus Linux whose syntax this package knows, identified by its
// minor number.
type Release struct{ Minor int }

// The range of releases that this package supports, according to NVIDIA's public documentation.
const oldest, newest = 9, 17

// Releases returns the names of all supported releases, oldest first.
func Releases() []string {
	var out []string
	for minor := oldest; minor <= newest; minor++ {
		out = append(out, Release{minor}.String())
	}
	return out
}

// Newest returns the release to assume if none is stated.
func Newest() Release { return Release{newest} }

var releaseText = lazyre.New(`(?:^|[^0-9.])5\.([0-9]{1,2})(?:[^0-9]|$)`)

// ReleaseOf parses the name of a release as the switch prints it ("Cumulus Linux 5.9.1",
// "5.15.0"). ok is false for an unsupported release; r is then the nearest supported one if the
// text names a 5.x release, else the zero Release.
func ReleaseOf(text string) (r Release, ok bool) {
	m := releaseText.FindStringSubmatch(text)
	if m == nil {
		return Release{}, false
	}
	n, _ := strconv.Atoi(m[1]) // it has only digits
	return Release{min(max(n, oldest), newest)}, n >= oldest && n <= newest
}

// String returns "5.15"; "" for the zero Release.
func (r Release) String() string {
	if r.Minor == 0 {
		return ""
	}
	return "5." + strconv.Itoa(r.Minor)
}

// since reports whether a release is 5.minor or newer. An unknown release counts as the newest.
func (r Release) since(minor int) bool { return r.Minor == 0 || r.Minor >= minor }

// enabled returns the word for a state that is on or off. Release 5.15 changed these words
// (What's New of 5.15, changed commands; nvue-reference, QoS).
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

// enable returns the word for PFC, ECN and RED settings, which no release has renamed in
// NVIDIA's guides.
func enable(on bool) string {
	if on {
		return "enable"
	}
	return "disable"
}

// isOn parses a word for on or off, of any release.
func isOn(word string) (on, ok bool) {
	switch word {
	case "on", "enable", "enabled", "true", "yes":
		return true, true
	case "off", "disable", "disabled", "false", "no":
		return false, true
	}
	return false, false
}

// onAt reads the state of a node: its own word, or the word below "state" or "enable". usual
// applies if the node exists without any of these.
func onAt(n *Node, usual bool) bool {
	for _, v := range []*Node{n.At("state"), n.At("enable"), n} {
		if on, ok := isOn(v.Word()); ok {
			return on
		}
	}
	return n != nil && usual
}
