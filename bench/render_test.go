package bench

import (
	"bytes"
	"fmt"
	"testing"
	"text/template"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// eosTemplate prints an EOS switch of BenchmarkRender's fabric. It contains the text that all
// switches have in common; an [eosPage] supplies the rest.
const eosTemplate = `{{range .Profiles}}qos profile {{.Name}}
   qos trust dscp
   !
   uc-tx-queue 0
      no priority
      bandwidth percent {{.Rest}}
   !
   uc-tx-queue 3
      no priority
      bandwidth percent {{.RDMA}}
      random-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes max-mark-probability 10
   !
   uc-tx-queue 6
      priority strict
   !
   priority-flow-control on
   priority-flow-control priority 3 no-drop
!
{{end}}{{range .Ports}}interface {{.Name}}
{{if .Up}}   no shutdown
{{end}}   mtu {{.MTU}}
   service-profile {{.Profile}}
!
{{end}}qos map dscp 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 24 25 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 to traffic-class 0
!
priority-flow-control pause watchdog default timeout {{.Detect}}
priority-flow-control pause watchdog default recovery-time {{.Restore}}
priority-flow-control pause watchdog action drop
`

type (
	eosPage struct {
		Profiles        []eosProfile
		Ports           []eosPort
		Detect, Restore string
	}
	eosProfile struct {
		Name       string
		RDMA, Rest int // percent
	}
	eosPort struct {
		Name, Profile string
		MTU           int
		Up            bool
	}
)

// eosRoles is the intent of that fabric without its classes. A border switch has two kinds of
// ports.
const eosRoles = `roles:
  spine:  {classes: {rdma: {bandwidth: 80%%}, default: {bandwidth: 20%%}}}
  border: {pfc: {watchdog: {detect: 200ms, restore: 600ms}}}
switches:
  leaf[1-%[2]d]:   {os: eos, role: leaf, model: %[1]s, ports: {"Ethernet[33-64]/1": {admin: up}}}
  spine[1-%[2]d]:  {os: eos, role: spine, model: %[1]s}
  border[1-%[3]d]:
    {os: eos, role: border, model: %[1]s, ports: {"Ethernet[1-16]/1": {mtu: {fabric: 9000}, classes: {rdma: {bandwidth: 30%%}, default: {bandwidth: 70%%}}}, "Ethernet[17-64]/1": {}}}
links:
  - {a: "leaf[1-%[2]d]/Ethernet[1-64]/1", b: "spine[1-%[2]d]/Ethernet[1-64]/1", cable: 5m, speed: 400G}
`

// eosPageOf returns the template data for a switch of a role.
func eosPageOf(role string) eosPage {
	usual := eosProfile{"ROCE-FABRIC", 60, 40}
	p := eosPage{Detect: "0.4", Restore: "0.4", Profiles: []eosProfile{usual}}
	for i := range eosPorts {
		port := eosPort{Name: fmt.Sprintf("Ethernet%d/1", i+1), Profile: usual.Name, MTU: 9100}
		switch {
		case role == "leaf":
			port.Up = i >= 32
		case role == "border" && i < 16:
			port.MTU = 9000
		case role == "border":
			port.Profile += "-2"
		}
		p.Ports = append(p.Ports, port)
	}
	switch role {
	case "spine":
		p.Profiles[0].RDMA, p.Profiles[0].Rest = 80, 20
	case "border":
		p.Detect, p.Restore = "0.2", "0.6"
		p.Profiles = []eosProfile{{usual.Name, 30, 70}, {usual.Name + "-2", 60, 40}}
	}
	return p
}

// BenchmarkRender prints 1,000 EOS switches of 64 ports in three roles: once from compiled
// switches, and once including their compilation. The floor is a text/template for this
// fabric only, with values that are ready to print. It prints the same bytes.
func BenchmarkRender(b *testing.B) {
	f, err := intent.Load(save(b, header+fmt.Sprintf(eosRoles, eosModel, switches*2/5, switches/5)), intent.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := render.New(f, render.Fits{"eos": native.Fit})
	if err != nil {
		b.Fatal(err)
	}
	var devices []*render.Device
	var pages []eosPage
	for _, sw := range f.Switches {
		devices, pages = append(devices, c.Device(sw)), append(pages, eosPageOf(sw.Role))
	}
	text := template.Must(template.New("eos").Parse(eosTemplate))
	encode := func(text []byte, d *render.Device) []byte {
		return native.Encode(d.Desired, native.UCTxQueue).Append(text)
	}
	for _, from := range []struct {
		name   string
		render func(text []byte, d *render.Device) []byte
	}{
		{"encode", encode},
		{"compile+encode", func(text []byte, d *render.Device) []byte { return encode(text, c.Device(d.Switch)) }},
	} {
		b.Run(from.name, func(b *testing.B) {
			var ours []byte
			var theirs bytes.Buffer
			var r race
			size := 0
			for b.Loop() {
				size = 0
				for i, d := range devices {
					theirs.Reset()
					r.run("tool", func() { ours = from.render(ours[:0], d) })
					r.run("template", func() { err = text.Execute(&theirs, &pages[i]) })
					if err != nil || !bytes.Equal(ours, theirs.Bytes()) {
						b.Fatalf("%s: the tool prints\n%s\nand the template\n%s\n%v", d.Switch.Name, ours, &theirs, err)
					}
					size += len(ours)
				}
			}
			report(b, map[string]float64{
				"x-template":         r.ratio("tool", "template"),
				"ns/switch":          float64(r.median("tool")),
				"template-ns/switch": float64(r.median("template")),
				"KiB/switch":         float64(size) / 1024 / switches,
			})
		})
	}
}
