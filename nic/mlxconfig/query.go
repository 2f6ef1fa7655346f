package mlxconfig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// maxFile bounds the file that the tool writes.
const maxFile = 16 << 20

// Query reads all settings of a card. dev is what [Device] takes.
//
// It always asks for all of them: a query by name fails as a whole where one
// name is unknown to the card or hidden (mlxcfg_generic_commander.cpp). It
// takes JSON where the tool has it, and the table of the tool otherwise.
//
// A tool that failed at some settings is no error: the Config is then Partial.
func (t *Tool) Query(ctx context.Context, dev string) (*Config, error) {
	dev, err := Device(dev)
	if err != nil {
		return nil, err
	}
	c, err := t.query(ctx, dev)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dev, err)
	}
	c.Device = dev
	return c, nil
}

func (t *Tool) query(ctx context.Context, dev string) (*Config, error) {
	if !t.noJSON.Load() {
		c, err := t.queryJSON(ctx, dev)
		if c != nil || err != nil {
			return c, err
		}
	}
	res, err := t.call(ctx, queryTimeout, t.Name, "-d", dev, "-e", "query")
	if err != nil {
		return nil, err
	}
	return t.settled(dev, parseText(res.Stdout), res)
}

// queryJSON is query by -j; without a Config and an error where the tool does
// not give JSON that can be understood.
func (t *Tool) queryJSON(ctx context.Context, dev string) (*Config, error) {
	dir, err := os.MkdirTemp("", "roce-fabric-")
	if err != nil {
		return nil, fmt.Errorf("a folder for the answer of %s: %w", t.Name, err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "query.json")
	res, err := t.call(ctx, queryTimeout, t.Name, "-d", dev, "-j", file, "-e", "query")
	if err != nil {
		return nil, err
	}
	for _, w := range said(res) {
		// 4.30 and before: "-E- invalid argument: -j" (mlxcfg_parser.cpp).
		if strings.Contains(w, "invalid argument") {
			t.noJSON.Store(true)
			return nil, nil
		}
	}
	b, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, nil // the table decides, and says what is wrong
	}
	found, err := parseJSON(b)
	if err != nil {
		return nil, nil
	}
	return t.settled(dev, found, res)
}

// settled picks the card that was asked for.
func (t *Tool) settled(dev string, found []*Config, res runner.Result) (*Config, error) {
	c := pick(dev, found)
	if c == nil || len(c.Params) == 0 {
		if res.Code != 0 {
			return nil, failure(t.Name, "query", res)
		}
		if len(found) > 0 && c == nil {
			return nil, fmt.Errorf("%s query: %w: output is for a different device", t.Name, ErrOutput)
		}
		return nil, fmt.Errorf("%s query: %w: no settings in it", t.Name, ErrOutput)
	}
	c.Partial = c.Partial || res.Code != 0
	return c, nil
}

// pick returns the config of a device. One alone is it under whatever name: a
// tool may print a PCI address as the device of its own driver.
func pick(dev string, found []*Config) *Config {
	if len(found) == 1 {
		return found[0]
	}
	for _, c := range found {
		if name, err := Device(c.Device); err == nil && name == dev {
			return c
		}
	}
	return nil
}
