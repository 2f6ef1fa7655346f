package inventory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Words that identify servers by their role or platform, and other network operating systems.
var (
	hostRoles     = []string{"server", "servers", "host", "hosts", "compute", "gpu", "storage", "node", "nodes", "worker", "hypervisor", "dgx", "hgx"}
	hostPlatforms = []string{"linux", "ubuntu", "debian", "rhel", "redhat", "rocky", "almalinux", "centos", "sles", "suse", "oracle", "windows", "esxi", "vmware", "proxmox"}
	otherSystems  = []string{"junos", "ios", "iosxe", "iosxr", "xe", "xr", "dnos", "os10", "panos", "fortios", "routeros", "aoscx", "srl", "srlinux", "sros"}
	// gone lists the states of devices that are not part of a fabric, or no longer are.
	gone = []string{"decommissioning", "decommissioned", "retired", "inventory", "deprecated"}
)

// tokens returns the words of a name in lower case, and each pair of adjacent words joined: "Cisco
// NX-OS" yields nxos.
func tokens(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i := range len(list) - 1 {
		list = append(list, list[i]+list[i+1])
	}
	return list
}

func hasWord(of []string, in ...string) bool {
	for _, s := range in {
		if slices.ContainsFunc(tokens(s), func(t string) bool { return slices.Contains(of, t) }) {
			return true
		}
	}
	return false
}

// classify decides what a device is: a switch with an operating system, a host, or not imported,
// with the reason.
func (b *builder) classify(d *device) {
	d.typ, d.role, d.platform, d.status = b.resolve(d.typ), b.resolve(d.role), b.resolve(d.platform), b.resolve(d.status)
	d.role.Slug = cmp.Or(d.role.Slug, strings.Trim(fold(d.role.title()), "-"))
	d.model = cmp.Or(d.typ.Model, d.typ.title())
	roles := []string{d.role.Slug, d.role.title()}
	platforms := []string{d.platform.Slug, d.platform.title(), d.platform.Driver, d.driver}
	to, mapped := translate(b.mapping.roles, roles...)
	d.roleName = cmp.Or(to, d.role.Slug)
	if !roleText.MatchString(d.roleName) {
		d.roleName = ""
	}
	switch state := d.status.choice(); {
	case slices.Contains(gone, state):
		d.skip, d.why = true, "the state in the inventory is "+state
		return
	case mapped && to == roleSkip:
		d.skip = true
		return
	case mapped && to == roleHost:
		d.host = true
		return
	}
	platform := func() string {
		if to, ok := translate(b.mapping.platforms, platforms...); ok {
			return to
		}
		for _, os := range intent.Systems() {
			if hasWord(intent.SystemOf(os).Platforms, platforms...) {
				return os
			}
		}
		return ""
	}()
	switch {
	case platform == roleSkip:
		d.skip = true
		return
	case platform == roleHost:
		d.host = true
		return
	case platform != "":
		d.switchOS = platform
		b.findModel(d)
		return
	case hasWord(otherSystems, platforms...):
		d.skip, d.why = true, "platform "+d.platform.title()+" is no system of this tool"
		return
	}
	if os := b.systemOfModel(d); os != "" && d.platform.empty() {
		d.switchOS = os
		b.assume(d.imported, "system "+os+": the inventory has no platform, and "+d.model+" is a model of it")
		b.findModel(d)
		return
	}
	if hasWord(hostRoles, roles...) || hasWord(hostPlatforms, platforms...) {
		d.host = true
		return
	}
	d.skip = true
	d.why = "role " + quoted(d.role.title()) + ", platform " + quoted(d.platform.title()) + ": neither a switch of a known system nor a host; --map says what it is"
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return `"` + s + `"`
}

// systemOfModel returns the only operating system whose catalogue has the model under its own name;
// "" if none or several have it.
func (b *builder) systemOfModel(d *device) (found string) {
	for _, os := range intent.Systems() {
		for _, name := range []string{d.typ.PartNumber, d.model} {
			if _, ok := catalog.ModelOf(os, name); ok && name != "" {
				if found != "" && found != os {
					return ""
				}
				found = os
			}
		}
	}
	return found
}

// findModel sets the model of a switch to its name in the catalogue. It tries a mapping, then its
// own name or part number, then the only model whose name contains all parts of it that have
// digits, such as DellEMC-Z9332f-O32 for PowerSwitch Z9332F-ON if there were no other.
func (b *builder) findModel(d *device) {
	given := d.model
	if to, ok := translate(b.mapping.models, d.typ.Model, d.typ.Slug, d.typ.PartNumber, given); ok {
		d.model = to
		if _, ok := catalog.ModelOf(d.switchOS, to); !ok {
			tip := ""
			if near := catalog.Suggest(d.switchOS, to); near != "" {
				tip = "; did you mean " + near + "?"
			}
			d.doubt = "--map has model " + to + ", which the catalogue does not have for " + d.switchOS + tip
		}
		return
	}
	for _, name := range []string{given, d.typ.PartNumber} {
		if m, ok := catalog.ModelOf(d.switchOS, name); ok && name != "" {
			d.model = m.Name
			return
		}
	}
	if given == "" {
		return
	}
	key := modelKey{d.switchOS, given}
	c, ok := b.candidates[key]
	if !ok {
		for _, n := range catalog.ModelsOf(d.switchOS) {
			if Fits(given, n) {
				c = append(c, n)
			}
		}
		b.candidates[key] = c
	}
	switch {
	case len(c) == 1:
		d.model = c[0]
		d.taken = "model " + c[0] + ": the inventory has " + given
	case len(c) > 1:
		d.model = ""
		d.doubt = "model " + given + " may be " + some(c) + " of the catalogue; name one under models in the file of --map"
	default:
		tip := ""
		if near := catalog.Suggest(d.switchOS, given); near != "" {
			tip = "; did you mean " + near + "? --map says so"
		}
		d.doubt = "model " + given + " is not in the catalogue of " + d.switchOS + tip
	}
}

type modelKey struct{ os, name string }

// Fits reports whether a model name of an inventory may mean the given model: each part with a
// digit must occur in it. Cisco's "Nexus 9332D-GX2B" is N9K-C9332D-GX2B, and on SONiC a switch has
// one name for each port layout.
func Fits(given, model string) bool {
	squeeze := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	have, some := squeeze(model), false
	for _, part := range strings.FieldsFunc(given, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.IndexFunc(part, unicode.IsDigit) < 0 {
			continue
		}
		if !strings.Contains(have, strings.ToLower(part)) {
			return false
		}
		some = true
	}
	return some
}
