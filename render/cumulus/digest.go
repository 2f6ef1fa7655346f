package cumulus

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Digest returns a digest of the configuration that desired manages: switch-wide QoS, and the
// QoS of its ports and of the profiles in force on them. Profiles of other ports and the rest of
// the tree do not change it.
func Digest(c *Config, desired *qos.Device) string {
	v := newView(c)
	part := &Node{}
	keep := func(path ...string) {
		if n := c.Tree.At(path...); n != nil {
			part.Put(n, path...)
		}
	}
	for _, key := range []string{"roce", "egress-queue-mapping", "pfc-watchdog", "traffic-pool", "advance-buffer-config"} {
		keep("qos", key)
	}
	for _, family := range []string{famMapping, famPFC, famECN, famScheduler, famShaper, famRemark, famPause} {
		keep("qos", family, global)
		for _, name := range v.qos.At(family).Keys() {
			if isOwn(name) {
				keep("qos", family, name)
			}
		}
	}
	for _, port := range natural.Keys(desired.Ports) {
		for _, name := range []string{port, v.binds(port)} {
			keep("interface", name, "qos")
			keep("interface", name, "link", "mtu")
			keep("interface", name, "link", "state")
			keep("interface", name, "bond", "member")
		}
		for _, family := range []string{famMapping, famPFC, famECN, famScheduler, famShaper, famRemark, famPause} {
			keep("qos", family, v.profile(port, family))
		}
	}
	sum := sha256.Sum256(part.JSON())
	return hex.EncodeToString(sum[:])
}
