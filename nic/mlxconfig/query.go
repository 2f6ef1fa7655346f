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

// maxFile limits the size of the file that the tool writes.
const maxFile = 16 << 20

// Query reads all settings of a card. dev is a name that [Device] accepts.
//
// It always reads all settings, because a query by name fails as a whole if one name is unknown or
// hidden (mlxcfg_generic_commander.cpp). It uses JSON if the tool supports it, and the tool's table
// otherwise.
//
// It is no error if the tool failed to read some settings: the Config is then Partial.
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
	return t.queriedCard(dev, parseText(res.Stdout), res)
}

// queryJSON is query with -j. It returns neither a Config nor an error if the tool does not produce
// usable JSON.
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
	for _, w := range errorMessages(res) {
		// Up to 4.30: "-E- invalid argument: -j" (mlxcfg_parser.cpp).
		if strings.Contains(w, "invalid argument") {
			t.noJSON.Store(true)
			return nil, nil
		}
	}
	b, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, nil // the table is read next, and shows what is wrong
	}
	found, err := parseJSON(b)
	if err != nil {
		return nil, nil
	}
	return t.queriedCard(dev, found, res)
}

// queriedCard returns the card that was queried.
func (t *Tool) queriedCard(dev string, found []*Config, res runner.Result) (*Config, error) {
	c := pick(dev, found)
	if c == nil || len(c.Params) == 0 {
		if res.Code != 0 {
			return nil, failure(t.Name, "query", res)
		}
		if len(found) > 0 && c == nil {
			return nil, fmt.Errorf("%s query: %w: output is for a different device", t.Name, ErrOutput)
		}
		return nil, fmt.Errorf("%s query: %w: it contains no settings", t.Name, ErrOutput)
	}
	c.Partial = c.Partial || res.Code != 0
	return c, nil
}

// pick returns the config of a device. A single config is returned whatever its name, because a
// tool may replace a PCI address by the device name of its own driver.
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
