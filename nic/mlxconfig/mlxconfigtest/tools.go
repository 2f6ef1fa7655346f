package mlxconfigtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// shown returns a value in the tool's notation.
func (p *Param) shown(which string, v uint32) string {
	switch {
	case slices.Contains(p.Unreadable, which):
		return "N/A"
	case p.Array > 0:
		return fmt.Sprintf("Array[0..%d]", p.Array-1)
	case int(v) < len(p.Names):
		return fmt.Sprintf("%s(%d)", p.Names[v], v)
	}
	return strconv.FormatUint(uint64(v), 10)
}

// widths returns the column widths of names and values for the version.
func (c *Card) widths() (name, value int) {
	switch c.Version {
	case V421:
		return 36, 16
	case V431:
		return 44, 20
	}
	return 48, 33
}

func (c *Card) query(names []string, columns, verbose bool, file string) runner.Result {
	rows := slices.Clone(c.Params)
	if len(names) > 0 {
		rows = nil
		for _, n := range names {
			i := slices.IndexFunc(c.Params, func(p *Param) bool { return p.Name == n && !p.Hidden })
			if i < 0 {
				return fails("The Device doesn't support %s parameter", n)
			}
			rows = append(rows, c.Params[i])
		}
	}
	rows = slices.DeleteFunc(rows, func(p *Param) bool { return p.Hidden })
	var failed []string
	for _, p := range rows {
		if len(p.Unreadable) > 0 && !slices.Contains(failed, p.Group) {
			failed = append(failed, p.Group)
		}
	}
	res := runner.Result{}
	if len(failed) > 0 {
		res.Code = 3
	}
	trailer := ""
	if verbose && !columns {
		trailer = "Device Firmware does not support reading default and current configurations\n"
	}
	if len(failed) > 0 {
		trailer += "-E- Failed to query some of the TLVs:\n    Failed to query the values of the following TLVs:\n    " + strings.Join(failed, " ") + " \n\n"
	}
	if file != "" {
		if err := os.WriteFile(file, c.json(rows, columns), 0o600); err != nil {
			return fails("%v", err)
		}
		res.Stdout = []byte("Query output saved to " + file + " successfully\n" + trailer)
		return res
	}
	res.Stdout = append(c.table(rows, columns), trailer...)
	return res
}

func (c *Card) json(rows []*Param, columns bool) []byte {
	if c.faults.BadJSON != "" {
		return []byte(c.faults.BadJSON)
	}
	value := func(s string) any {
		if n, err := strconv.ParseUint(s, 10, 32); err == nil {
			return n
		}
		return s
	}
	params := map[string]any{}
	for _, p := range rows {
		m := map[string]any{"read_only": p.ReadOnly, "next_value": value(p.shown("next", p.Next))}
		if columns {
			m["default_value"], m["current_value"] = value(p.shown("default", p.Default)), value(p.shown("current", p.Current))
			m["modified"] = p.Next != p.Default || p.Next != p.Current
		}
		params[p.Name] = m
	}
	b, err := json.MarshalIndent(map[string]any{"Device #1": map[string]any{
		"device_type": c.Type, "name": c.Board, "description": "N/A", "device": c.Device, "tlv_configuration": params,
	}}, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

func (c *Card) table(rows []*Param, columns bool) []byte {
	nameWidth, width := c.widths()
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nDevice #1:\n----------\n\n%-20s%s\n%-20s%s\n%-20s%s\n%-20s%s\n\n", "Device type:", c.Type, "Name:", c.Board, "Description:", "N/A", "Device:", c.Device)
	head := []string{"Next Boot"}
	if columns {
		head = []string{"Default", "Current", "Next Boot"}
	}
	fmt.Fprintf(&b, "%-*s", nameWidth+8, "Configurations:")
	for _, h := range head {
		fmt.Fprintf(&b, "%*s", width, h)
	}
	b.WriteByte('\n')
	marked := false
	for i, p := range rows {
		if n := len(c.faults.Says); n > 0 && i > 0 && i <= n {
			b.WriteString(c.faults.Says[i-1] + "\n")
		}
		values := []string{p.shown("next", p.Next)}
		mark, ro := " ", "  "
		if columns {
			values = []string{p.shown("default", p.Default), p.shown("current", p.Current), values[0]}
			if p.Next != p.Default || p.Next != p.Current {
				mark, marked = "*", true
			}
		}
		if p.ReadOnly && c.Version > V421 {
			ro = "RO"
		}
		fmt.Fprintf(&b, "%s%s     %-*s", mark, ro, nameWidth, p.Name)
		for j, v := range values {
			// In 4.21, a value as wide as its column runs into the next one.
			if j > 0 && len(values[j-1]) >= width && (c.Version > V421 || len(values[j-1]) > width) {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%-*s", width, v)
		}
		b.WriteByte('\n')
	}
	if marked {
		b.WriteString("The '*' shows parameters with next value different from default/current value.\n")
	}
	return b.Bytes()
}

// parse parses a value as the tool does, or returns the tool's complaint.
func (p *Param) parse(s string) (v uint32, complaint string) {
	n, err := strconv.ParseUint(s, 0, 32)
	if p.Names != nil {
		for i, name := range p.Names {
			if name != "" && (err == nil && uint64(i) == n || err != nil && strings.EqualFold(name, s)) {
				return uint32(i), ""
			}
		}
		return 0, "Unknown value " + s
	}
	if err != nil {
		return 0, "Cannot parse the value"
	}
	if n >= 1<<p.Bits {
		return 0, fmt.Sprintf("The value %s is not valid,  as its size is %d bits", s, p.Bits)
	}
	return uint32(n), ""
}

func (c *Card) set(args []string, yes bool) runner.Result {
	type order struct {
		p *Param
		v uint32
	}
	var orders []order
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok || value == "" {
			return fails("Invalid Configuration argument %s", a)
		}
		i := slices.IndexFunc(c.Params, func(p *Param) bool { return p.Name == name })
		switch {
		case i < 0:
			return fails("Unknown Parameter %s", name)
		case c.Params[i].Hidden:
			return fails("The Device doesn't support %s parameter", name)
		case c.Params[i].ReadOnly:
			return fails("Operation is not supported (Read only TLV: %s)", c.Params[i].Group)
		case slices.ContainsFunc(orders, func(o order) bool { return o.p.Name == name }):
			return fails("Duplicate parameter, %s.", name)
		}
		v, complaint := c.Params[i].parse(value)
		if complaint != "" {
			return fails("Cannot set the value %s for the parameter %s: %s", value, name, complaint)
		}
		orders = append(orders, order{c.Params[i], v})
	}
	var b bytes.Buffer
	b.Write(c.table(nil, true))
	b.WriteString("\n Apply new Configuration? (y/n) [n] : ")
	if !yes {
		b.WriteString("-E- Aborted by user.\n")
		return runner.Result{Stdout: b.Bytes(), Code: 2}
	}
	b.WriteString("y\nApplying... ")
	ordered.Sort(orders, func(a, b order) int { return cmp.Compare(a.p.Group, b.p.Group) })
	for _, o := range orders {
		if c.faults.FailGroup == o.p.Group {
			fmt.Fprintf(&b, "Failed!\n-E- Failed to set %s: ME_REG_ACCESS_RES_NOT_AVLBL\n", o.p.Group)
			return runner.Result{Stdout: b.Bytes(), Code: 3}
		}
		if !c.faults.Ignore {
			o.p.Next = o.v
		}
	}
	c.faults.Closed = c.faults.Closed || c.faults.CloseAfterSet
	if c.faults.FailLate {
		b.WriteString("Failed!\n-E- Failed to unlock semaphore: ME_SEM_LOCKED.\n")
		return runner.Result{Stdout: b.Bytes(), Code: 3}
	}
	b.WriteString("Done!\n-I- Please reboot machine to load new configurations.\n")
	return runner.Result{Stdout: b.Bytes()}
}
