package drivertest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Trusted returns an error unless a driver accepts its own steps and undo record when they come
// back from a file.
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
	if _, err := c.CheckUndo(&back, desired.Manages); err != nil {
		return fmt.Errorf("its own undo record: %w", err)
	}
	return nil
}

// Repeatable returns an error unless planning the same state again gives exactly the same plan,
// because a saved plan is compared with a new one when it is applied. It plans several times,
// because map iteration order is random.
func Repeatable(first *drivers.Steps, plan func() (*drivers.Steps, error)) error {
	want, err := json.MarshalIndent(first, "", " ")
	if err != nil {
		return err
	}
	for range 4 {
		st, err := plan()
		if err != nil {
			return fmt.Errorf("plan again: %w", err)
		}
		got, err := json.MarshalIndent(st, "", " ")
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("two plans of the same state differ:\n%s", cmp.Diff(string(want), string(got)))
		}
	}
	return nil
}

// again encodes a value as JSON and decodes it.
func again(v, into any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
