package starter

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Intent returns the intent for the options. An option that was not set takes its usual value,
// if it has one.
func (o *Options) Intent() ([]byte, error) {
	o.SpineOS, o.SpineModel = cmp.Or(o.SpineOS, o.OS), cmp.Or(o.SpineModel, o.usualSpine())
	for _, f := range o.fields {
		if err := f.Valid(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	groups, down, err := o.sizes()
	if err != nil {
		return nil, err
	}
	up := o.spines()
	if o.Shape == Pair {
		up = o.Links
	}
	c, err := o.cable(down, up)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	o.head(&b)
	o.switches(&b)
	o.hosts(&b)
	o.links(&b, c, groups)
	o.credentials(&b)
	return []byte(b.String()), nil
}

// sizes returns the number of leaf groups of a rail fabric (1 for other shapes), and the number
// of host ports that a leaf needs.
func (o *Options) sizes() (groups, down int, err error) {
	leaves := o.leaves()
	switch {
	case o.Shape == Clos && o.spines() == 0:
		return 0, 0, fmt.Errorf("spines: a Clos fabric needs spines")
	case o.Shape != Rail:
		return 1, (o.Hosts + leaves - 1) / leaves, nil
	case leaves%o.Rails != 0:
		return 0, 0, fmt.Errorf("leaves: %d is not a multiple of the %s: a group of servers has one leaf per rail", leaves, words.Count(o.Rails, "rail"))
	}
	groups = leaves / o.Rails
	if groups > 1 && o.spines() == 0 {
		return 0, 0, fmt.Errorf("spines: without them %d groups of leaves are not one fabric", groups)
	}
	if o.Hosts%groups != 0 {
		return 0, 0, fmt.Errorf("hosts: %d servers cannot be shared evenly by %d groups of %s", o.Hosts, groups, words.Plural(o.Rails, "leaf", "leaves"))
	}
	return groups, o.Hosts / groups, nil
}

func (o *Options) head(b *strings.Builder) {
	rdma, rest := 60, 40
	if o.Shape == Rail { // the GPUs have a network of their own
		rdma, rest = 90, 10
	}
	fmt.Fprintf(b, `# %s. Names and addresses are to be replaced by yours.
# docs/intent.md has every key; check says what is wrong, plan shows what would change.
apiVersion: roce-fabric/v1
kind: Fabric
name: %q

# A class is a priority, the DSCP values that select it, and how it is treated.
# RDMA must not be lost: PFC pauses the sender, ECN slows it down before that.
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: %d%%, ecn: auto}
  # Congestion notifications must get through first.
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: %d%%}

# A queue that stays paused for 400ms is a storm: drop it rather than spread it.
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}

# Largest IP packet on switch ports and on hosts; largest RDMA payload.
mtu: {fabric: 9100, host: 9000, rdma: 4096}

`, o.about(), o.Name, rdma, rest)
}

// about describes the fabric in words.
func (o *Options) about() string {
	hosts := words.Count(o.Hosts, "server")
	switch o.Shape {
	case Pair:
		return "Two switches, " + hosts
	case Rail:
		hosts += " with " + words.Count(o.Rails, "NIC") + " each, rail-optimised"
	}
	leaves := words.Plural(o.leaves(), "leaf", "leaves")
	if o.spines() == 0 {
		return leaves + ", " + hosts
	}
	return leaves + ", " + words.Count(o.spines(), "spine") + ", " + hosts
}

func (o *Options) switches(b *strings.Builder) {
	b.WriteString("# Ranges in brackets; those of the address run in step with those of the name.\nswitches:\n")
	sw := func(kind string, n int, os, model string) {
		name := span(kind, 1, n)
		fmt.Fprintf(b, "  %s:\n    {os: %s, role: %s, address: \"%s.example.net:%s\", model: %s}\n", name, os, kind, name, intent.SystemOf(os).Port, model)
	}
	sw("leaf", o.leaves(), o.OS, o.Model)
	if n := o.spines(); n > 0 {
		sw("spine", n, o.SpineOS, o.SpineModel)
	}
}

func (o *Options) hosts(b *strings.Builder) {
	name := span("gpu", 1, o.Hosts)
	nics := "ens1f0np0: {rdma: mlx5_0}"
	if o.Shape == Rail {
		nics = fmt.Sprintf("%s: {rdma: %q}", span("rail", 0, o.Rails-1), span("mlx5_", 0, o.Rails-1))
	}
	fmt.Fprintf(b, "\n# NICs by the names that 'ip link' and 'rdma link' show.\nhosts:\n  %s:\n    address: %q\n    nics:\n      %s\n", name, name+".example.net", nics)
}

func (o *Options) links(b *strings.Builder, c cabling, groups int) {
	leaf, _ := catalog.ModelOf(o.OS, o.Model)
	link := func(form, a, z string, cable, speed any) {
		if form != "" {
			form = ", pattern: " + form
		}
		fmt.Fprintf(b, "  - {a: %q, b: %q%s, cable: %s, speed: %s}\n", a, z, form, cable, speed)
	}
	b.WriteString("\n# device/port to device/port. Headroom follows from cable and speed.\nlinks:\n")
	if o.Shape == Rail {
		b.WriteString("  # NIC r of each server with leaf r of its group.\n")
		for g := range groups {
			n := o.Hosts / groups
			link("rail", span("leaf", g*o.Rails+1, (g+1)*o.Rails)+"/"+ports(leaf, c.down), span("gpu", g*n+1, (g+1)*n)+"/"+span("rail", 0, o.Rails-1), o.HostCable, c.downAt)
		}
	} else {
		// The first leaves take one server more if the servers do not divide evenly.
		each, more := o.Hosts/o.leaves(), o.Hosts%o.leaves()
		some := func(from, to, n, host int) {
			if to >= from && n > 0 {
				link("", span("leaf", from, to)+"/"+ports(leaf, c.down[:n]), span("gpu", host, host+(to-from+1)*n-1)+"/ens1f0np0", o.HostCable, c.downAt)
			}
		}
		some(1, more, each+1, 1)
		some(more+1, o.leaves(), each, more*(each+1)+1)
	}
	switch {
	case o.Shape == Pair:
		b.WriteString("  # Between the two.\n")
		link("", "leaf1/"+ports(leaf, c.up), "leaf2/"+ports(leaf, c.up), o.LeafCable, c.upAt)
	case o.spines() > 0:
		spine, _ := catalog.ModelOf(o.SpineOS, o.SpineModel)
		b.WriteString("  # Every leaf with every spine.\n")
		link("mesh", span("leaf", 1, o.leaves())+"/"+ports(leaf, c.up), span("spine", 1, o.spines())+"/"+ports(spine, c.spine), o.LeafCable, c.upAt)
	}
}

func (o *Options) credentials(b *strings.Builder) {
	b.WriteString(`
# Where secrets are, never the secrets: env:NAME, file:PATH or keyring:SERVICE/USER.
credentials:
  switches:
    username: env:FABRIC_USER
    password: env:FABRIC_PASSWORD
`)
	for _, os := range intent.Systems() {
		if note := intent.SystemOf(os).LoginNote; note != "" && (os == o.OS || os == o.SpineOS && o.spines() > 0) {
			fmt.Fprintf(b, "    # %s\n", note)
		}
	}
	b.WriteString(`    ssh: {knownHosts: ~/.ssh/known_hosts}
  # To set the NICs as well:
  # hosts: {username: env:FABRIC_HOST_USER, ssh: {agent: true}}
`)
}

// span returns the names with numbers from to to as one pattern.
func span(name string, from, to int) string {
	if from == to {
		return fmt.Sprintf("%s%d", name, from)
	}
	return fmt.Sprintf("%s[%d-%d]", name, from, to)
}
