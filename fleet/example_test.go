package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// example loads an example intent and starts a lab with all its devices in factory state.
func example(name string, o fleet.LoadOptions) (*fleet.Fabric, *fleet.Access, func()) {
	text, err := examples.Intent(name)
	must(err)
	o.Stdin, o.Name = bytes.NewReader(text), "fabric.yaml"
	f, err := fleet.Load(context.Background(), "-", o)
	must(err)
	dir, err := os.MkdirTemp("", "fleet-")
	must(err)
	l, err := lab.Start(f.Fabric(), dir, lab.Options{})
	must(err)
	at := &fleet.Access{At: l.At}
	return f, at, func() {
		must(l.Close())
		must(os.RemoveAll(dir))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleLoad() {
	file := filepath.Join("..", "examples", "quickstart", "fabric.yaml")
	f, err := fleet.Load(context.Background(), file, fleet.LoadOptions{Only: []string{"role:leaf"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sw := range f.Switches {
		fmt.Println(sw.Name, sw.OS, sw.Address.V)
	}
	// Output:
	// leaf1 sonic 192.0.2.11:8080
	// leaf2 sonic 192.0.2.12:8080
}

func ExampleCheck() {
	ctx := context.Background()
	f, err := fleet.Load(ctx, filepath.Join("..", "examples", "quickstart", "fabric.yaml"), fleet.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := fleet.Check(ctx, f, fleet.CheckOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("errors:", checks.Worst(found))
	// Output:
	// errors: false
}

// The devices run in a lab in factory state: nothing is configured.
func ExampleValidate() {
	f, at, end := example("mixed", fleet.LoadOptions{Take: fleet.TakeAll, Only: []string{"leaf1", "spine1"}})
	defer end()
	v, err := fleet.Validate(context.Background(), f, at, fleet.ValidateOptions{ReadOptions: fleet.ReadOptions{
		Workers: 2,
		Progress: func(e fleet.Event) {
			if e.Kind == fleet.DeviceEnds && e.Error != nil {
				fmt.Println(e.Device, e.Error.Kind, e.Error.Hint)
			}
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, found := range v.Findings {
		if found.Severity == checks.Error && found.ID != "DRIFT" {
			fmt.Println(found.ID, found.Place())
		}
	}
	// Output:
	// CLS-02 leaf1 Ethernet0,Ethernet8,Ethernet240,Ethernet248
	// PFC-02 leaf1 Ethernet0,Ethernet8
	// WD-01 leaf1 Ethernet0,Ethernet8
	// PRT-01 spine1 Ethernet1/1,Ethernet2/1,Ethernet33/1,Ethernet34/1
}

// Import reads two switches of a lab; the links come from LLDP.
func ExampleImport() {
	ctx := context.Background()
	_, at, end := example("mixed", fleet.LoadOptions{})
	defer end()
	s, err := fleet.FindSources(ctx, fleet.SourceOptions{Name: "pod1", Switches: []fleet.Source{
		{Name: "leaf1", OS: "sonic", Address: "192.0.2.11"}, {Name: "spine1", OS: "eos", Address: "192.0.2.21"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := fleet.Import(ctx, s, at, fleet.ImportOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range r.Fabric.Links {
		fmt.Println(l.A.Device, l.A.Port, "-", l.B.Device, l.B.Port)
	}
	// Output:
	// leaf1 Ethernet0 - gpu1 ens1f0np0
	// leaf1 Ethernet8 - gpu2 ens1f0np0
	// leaf1 Ethernet240 - spine1 Ethernet1/1
}
