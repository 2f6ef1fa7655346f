package sim

import (
	"fmt"
	"hash/fnv"
	"sync"
)

// Chassis is the hardware of a device, identified by a unique name. It is safe for concurrent use.
type Chassis struct {
	mu   sync.Mutex
	name string
}

// Install replaces the chassis with the one of the given name.
func (c *Chassis) Install(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
}

// Number returns a number derived from the name.
func (c *Chassis) Number() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.name)) // a hash does not fail
	return h.Sum32()
}

// Serial returns the serial number.
func (c *Chassis) Serial() string { return fmt.Sprintf("SIM%08X", c.Number()) }

// MAC returns the n-th MAC address of the chassis. vendor gives its first two bytes, such as
// 52:54.
func (c *Chassis) MAC(vendor string, n int) string {
	s := c.Number()
	return fmt.Sprintf("%s:%02x:%02x:%02x:%02x", vendor, byte(s>>16), byte(s>>8), byte(s), byte(n))
}
