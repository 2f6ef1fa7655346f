package sim

import (
	"fmt"
	"hash/fnv"
	"sync"
)

// Chassis is the hardware of a device, by a name that no other device has. Safe for
// concurrent use.
type Chassis struct {
	mu   sync.Mutex
	name string
}

// Install puts a chassis of a name in the place of the one that is there.
func (c *Chassis) Install(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
}

// Number is one of its own for each name.
func (c *Chassis) Number() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.name)) // a hash does not fail
	return h.Sum32()
}

// Serial is the serial number.
func (c *Chassis) Serial() string { return fmt.Sprintf("SIM%08X", c.Number()) }

// MAC is the n-th MAC address below a vendor's first two bytes, as 52:54.
func (c *Chassis) MAC(vendor string, n int) string {
	s := c.Number()
	return fmt.Sprintf("%s:%02x:%02x:%02x:%02x", vendor, byte(s>>16), byte(s>>8), byte(s), byte(n))
}
