// Package telemetry writes the gNMI subscriptions of a collector for the ports and queues of an
// intent: PFC, queue and ECN counters and watermarks, with the paths of each OS.
//
// The paths of an OS are in its record (package drivers), which uses the types of this package.
// Nothing is subscribed to here. Paths that no public source or test run confirms are written as
// comments and never subscribed to.
package telemetry

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
)

// Source describes the subscriptions that an OS offers.
type Source struct {
	// Encoding is the gNMI name of the encoding: "json", "json_ietf".
	Encoding string
	// Streams returns the subscriptions of a switch.
	Streams func(*render.Device) []Stream
}

// Stream is one subscription.
type Stream struct {
	Name string
	// Database is the target in the gNMI prefix; "" for none.
	Database string
	Paths    []string
	// Comments holds notes on the paths, and paths that are not subscribed to.
	Comments []string
}

// Interval is the sample interval of counters: the default of NX-OS, and the interval at which
// SONiC polls its queues.
const Interval = 10 * time.Second

// Ports returns the ports in the intent, in natural order.
func Ports(d *render.Device) []string { return natural.Keys(d.Desired.Ports) }

// Each returns path(port) for each port, leaving out "".
func Each(ports []string, path func(port string) string) (out []string) {
	for _, p := range ports {
		if s := path(p); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Pauses returns the priorities for which PFC is on at a port.
func Pauses(d *render.Device, port string) []int { return d.Desired.Ports[port].PFC.Or(0).List() }

// Watched reports whether the PFC watchdog is on at a port.
func Watched(d *render.Device, port string) bool {
	return d.Desired.Ports[port].Watchdog.Or(qos.Watchdog{}).Enabled
}

// Device is a switch with the subscriptions that its OS offers.
type Device struct {
	*render.Device
	Source Source
}

// Gnmic writes a configuration for gnmic (gnmic.openconfig.net): the switches as targets, the
// subscriptions that they share, and an output that Prometheus scrapes. It holds no secrets:
// references to environment variables are kept, and any other secret becomes a variable that a
// comment explains.
func Gnmic(fabric string, devices []Device) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# gnmic subscribe --config FILE
# Telemetry of the ports and queues of %s, written by roce-fabric render --for gnmic.
# Sample intervals and the output are yours to change.
`, fabric)
	g := gnmic{names: map[string]string{}, used: map[string]int{}}
	var targets strings.Builder
	for _, d := range devices {
		g.target(&targets, d)
	}
	for _, c := range g.comments.Keys() {
		fmt.Fprintf(&b, "# %s\n", c)
	}
	b.WriteString("targets:\n")
	b.WriteString(targets.String())
	b.WriteString("subscriptions:\n")
	b.WriteString(g.subscriptions.String())
	b.WriteString(`outputs:
  prometheus:
    type: prometheus
    listen: 127.0.0.1:9804   # state another address where Prometheus runs elsewhere
    path: /metrics
    expiration: 60s
    append-subscription-name: true
`)
	return []byte(b.String())
}

type gnmic struct {
	subscriptions strings.Builder
	names         map[string]string // name of each subscription, by its contents
	used          map[string]int    // how often each name is used
	comments      ordered.Map[string, bool]
}

// target writes a switch, and those of its subscriptions that no earlier switch has written.
func (g *gnmic) target(b *strings.Builder, d Device) {
	var names []string
	for _, s := range d.Source.Streams(d.Device) {
		if len(s.Paths) > 0 {
			names = append(names, g.subscription(d, s))
		}
	}
	if len(names) == 0 {
		return
	}
	sw := d.Switch
	fmt.Fprintf(b, "  %s:\n    address: %s\n", quote(sw.Name), quote(sw.Address.V))
	for _, k := range []struct{ key, value string }{
		{"username", g.reference(sw.Access.Username.V, "GNMIC_USERNAME", true)},
		{"password", g.reference(sw.Access.Password.V, "GNMIC_PASSWORD", false)},
		{"tls-ca", sw.Access.TLS.CA.V}, {"tls-cert", sw.Access.TLS.Cert.V}, {"tls-key", sw.Access.TLS.Key.V}, {"tls-server-name", sw.Access.TLS.ServerName.V},
	} {
		if k.value != "" {
			fmt.Fprintf(b, "    %s: %s\n", k.key, quote(k.value))
		}
	}
	switch t := sw.Access.TLS; {
	case t.Plaintext.V:
		b.WriteString("    insecure: true   # no TLS at all, as the intent says\n")
	case t.Insecure.V:
		b.WriteString("    skip-verify: true   # any certificate, as the intent says\n")
	case t.Pin.V != "":
		*g.comments.At("The intent pins keys of switches, which gnmic does not do: give it their CA with tls-ca.") = true
	}
	fmt.Fprintf(b, "    encoding: %s\n    subscriptions: [%s]\n", d.Source.Encoding, strings.Join(names, ", "))
}

// subscription returns the name of a stream's subscription, and writes it if it is new.
func (g *gnmic) subscription(d Device, s Stream) string {
	key := d.Switch.OS + "\x00" + s.Name + "\x00" + s.Database + "\x00" + strings.Join(s.Paths, "\x00")
	if n := g.names[key]; n != "" {
		return n
	}
	name := d.Switch.OS + "-" + s.Name
	if g.used[name]++; g.used[name] > 1 {
		name += "-" + strconv.Itoa(g.used[name])
	}
	g.names[key] = name
	w := &g.subscriptions
	fmt.Fprintf(w, "  %s:   # as on %s, %s\n", name, d.Switch.Name, words.Count(len(s.Paths), "path"))
	for _, c := range s.Comments {
		fmt.Fprintf(w, "    # %s\n", c)
	}
	if s.Database != "" {
		fmt.Fprintf(w, "    target: %s\n", s.Database)
	}
	fmt.Fprintf(w, "    mode: stream\n    stream-mode: sample\n    sample-interval: %s\n    paths:\n", Interval)
	for _, p := range s.Paths {
		fmt.Fprintf(w, "      - %s\n", quote(p))
	}
	return name
}

// reference returns what gnmic reads from the environment for a credential: the variable that
// the intent names, the value itself if plain allows it, and else a new variable. A comment
// explains the variable if the secret is in a file or a keyring.
func (g *gnmic) reference(ref, variable string, plain bool) string {
	switch kind, name, ok := strings.Cut(ref, ":"); {
	case ref == "":
		return ""
	case ok && kind == "env":
		return "${" + name + "}"
	case ok && (kind == "file" || kind == "keyring"):
		*g.comments.At(fmt.Sprintf("gnmic does not read %s: export %s with its value.", ref, variable)) = true
		return "${" + variable + "}"
	case plain:
		return ref
	}
	return "${" + variable + "}"
}

// quote returns a YAML string, quoted only if it has to be.
func quote(s string) string {
	if intent.IsName(s) && !numeric(s) {
		return s
	}
	return strconv.Quote(s)
}

// numeric reports whether YAML may read a name as a number, a boolean or null.
func numeric(s string) bool {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return true
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return true
	}
	return false
}
