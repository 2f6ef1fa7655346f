package eos

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Digest returns a digest of the configuration that desired manages: the managed lines of its
// ports, of their profiles, and of the top level. Other lines, the order of lines, and lines
// that state a default do not change it.
func Digest(c *Config, desired *qos.Device) string {
	r := read(c)
	h := sha256.New()
	write := func(s *section) {
		if s == nil {
			return
		}
		var lines []string
		for _, l := range s.held {
			if l.inert || l.set == nil || l.text == r.usual(s, &l) {
				continue
			}
			lines = append(lines, s.name+"\x00"+l.queue+"\x00"+l.text+"\n")
		}
		slices.Sort(lines)
		for _, l := range lines {
			h.Write([]byte(l))
		}
	}
	write(r.global)
	write(r.defaults)
	seen := map[string]bool{}
	for _, n := range natural.Keys(desired.Ports) {
		s := r.sections[sectionInterface+n]
		if s == nil {
			h.Write([]byte("no " + n + "\n"))
			continue
		}
		write(s)
		if p := s.profileName(); p != "" && !seen[p] {
			seen[p] = true
			if r.profile(p) == nil {
				h.Write([]byte("no profile " + p + "\n"))
			}
			write(r.profile(p))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
