package drivertest

import (
	"encoding/json"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Trusted returns an error unless a driver takes the steps and the undo record
// that it made for what is desired when they come back from a
// file.
func Trusted(d drivers.Driver, desired drivers.Desired, st *drivers.Steps, tok *drivers.Token) error {
	c, ok := d.(drivers.Checker)
	if !ok {
		return fmt.Errorf("%T is no Checker", d)
	}
	var items []drivers.Step
	if err := again(st.Items, &items); err != nil {
		return err
	}
	if _, err := c.CheckSteps(items, desired.Manages); err != nil {
		return fmt.Errorf("its own steps: %w", err)
	}
	if tok == nil {
		return nil
	}
	var back drivers.Token
	if err := again(tok, &back); err != nil {
		return err
	}
	if err := c.CheckUndo(&back, desired.Manages); err != nil {
		return fmt.Errorf("its own undo record: %w", err)
	}
	return nil
}

// again writes a value as JSON and reads it.
func again(v, into any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
