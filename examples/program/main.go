// Command program validates the switches of a fabric with the Go API and prints what
// is wrong: program fabric.yaml.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func main() {
	ctx := context.Background()
	f, err := fleet.Load(ctx, os.Args[len(os.Args)-1], fleet.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	v, err := fleet.Validate(ctx, f, &fleet.Access{}, fleet.ValidateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, found := range v.Findings {
		fmt.Println(found.Severity, found.ID, found.Place()+":", found.What)
	}
	if checks.Worst(v.Findings) {
		os.Exit(3)
	}
}
