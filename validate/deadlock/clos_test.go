package deadlock

import (
	"fmt"
	"strings"
)

// clos writes a three-tier fabric: pods of 16 leaves and as many spines as a leaf has uplinks;
// spine k of every pod is linked to each superspine of plane k. With 512 leaves it has 20,480
// links between switches.
func clos(leaves int, routing string) string {
	const perPod, up, cores = 16, 16, 24
	pods := leaves / perPod
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "switches:\n  leaf[1-%d]: {os: sonic, role: leaf}\n  spine[1-%d]: {os: sonic, role: spine}\n  core[1-%d]: {os: sonic, role: superspine}\n",
		leaves, pods*up, up*cores)
	fmt.Fprintf(&b, "hosts:\n  gpu[1-%d]: {nics: {n0: {}}}\n", leaves)
	b.WriteString("links:\n")
	fmt.Fprintf(&b, "  - {a: \"leaf[1-%d]/h\", b: \"gpu[1-%d]/n0\", cable: 5m, speed: 400G}\n", leaves, leaves)
	for p := range pods {
		fmt.Fprintf(&b, "  - {a: \"leaf[%d-%d]/u[1-%d]\", b: \"spine[%d-%d]/d[1-%d]\", pattern: mesh, cable: 30m, speed: 400G}\n",
			p*perPod+1, (p+1)*perPod, up, p*up+1, (p+1)*up, perPod)
		for k := range up {
			fmt.Fprintf(&b, "  - {a: \"spine[%d]/u[1-%d]\", b: \"core[%d-%d]/d[%d]\", pattern: mesh, cable: 100m, speed: 400G}\n",
				p*up+k+1, cores, k*cores+1, (k+1)*cores, p+1)
		}
	}
	return b.String() + routing
}
