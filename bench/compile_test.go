package bench

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

const switches, ports = 1000, 64

// BenchmarkCompile measures what `render` does for 1,000 switches of 64 ports,
// on one core and without writing files.
func BenchmarkCompile(b *testing.B) {
	for _, form := range []struct{ name, text string }{
		{"ranges", ranges(model64, switches, ports)},
		{"explicit", explicit(model64, switches, ports)},
	} {
		b.Run(form.name, func(b *testing.B) {
			path := save(b, form.text)
			var r race
			var buf []byte
			rows := 0
			for b.Loop() {
				r.run("all", func() {
					var c *render.Compiler
					r.run("load", func() { c = load(b, path) })
					rows = 0
					for _, sw := range c.Fabric().Switches {
						var d *render.Device
						var cfg sonic.Config
						r.run("compile", func() { d = c.Device(sw) })
						r.run("encode", func() { cfg = sonic.Document(d.Desired, d.Model) })
						r.run("write", func() { buf = cfg.AppendJSON(buf[:0]) })
						rows += len(cfg[sonic.TPort])
					}
				})
			}
			if rows != switches*ports {
				b.Fatalf("%d ports were encoded, not %d", rows, switches*ports)
			}
			report(b, map[string]float64{
				"ns/switch":         float64(r.median("all")) / switches,
				"load-ns/switch":    float64(r.median("load")) / switches,
				"compile-ns/switch": float64(r.median("compile")),
				"encode-ns/switch":  float64(r.median("encode")),
				"write-ns/switch":   float64(r.median("write")),
			})
		})
	}
}

// BenchmarkAppendJSON compares the writer of config_db.json with encoding/json
// with the same rows.
func BenchmarkAppendJSON(b *testing.B) {
	f, err := intent.Load(save(b, ranges(model64, 2, ports)), intent.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := render.New(f, render.Fits{"sonic": sonic.Fit})
	if err != nil {
		b.Fatal(err)
	}
	d := c.Device(f.Switches[0])
	cfg := sonic.Document(d.Desired, d.Model)
	plain := cfg.Plain()

	var ours []byte
	var theirs bytes.Buffer
	enc := json.NewEncoder(&theirs)
	enc.SetIndent("", "    ")
	enc.SetEscapeHTML(false)
	var r race
	for b.Loop() {
		r.run("ours", func() { ours = cfg.AppendJSON(ours[:0]) })
		theirs.Reset()
		r.run("theirs", func() { err = enc.Encode(plain) })
		if err != nil {
			b.Fatal(err)
		}
	}
	if !bytes.Equal(ours, theirs.Bytes()) {
		b.Fatal("the two writers disagree")
	}
	mbps := func(way string) float64 { return float64(len(ours)) / 1e6 / r.median(way).Seconds() }
	report(b, map[string]float64{
		"x-encoding/json":    mbps("ours") / mbps("theirs"),
		"MB/s":               mbps("ours"),
		"MB/s-encoding/json": mbps("theirs"),
	})
}
