package hostvm

import (
	"fmt"
	"os"
)

// End is one end of a cable between two machines: in its machine it is a NIC of virtio_net,
// a module that a script loads.
type End struct {
	socket *os.File
	mac    string
}

// Cable makes a cable. Each end is for one run of [Boot], and the two runs go on at the same
// time. The caller closes both.
func Cable() (a, b *End, err error) {
	fds, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("host VM: cable: %w", err)
	}
	end := func(i int) *End {
		return &End{os.NewFile(uintptr(fds[i]), fmt.Sprintf("cable%d", i)), fmt.Sprintf("52:54:00:00:00:%02x", i+1)}
	}
	return end(0), end(1), nil
}

// Close gives an end back.
func (e *End) Close() error { return e.socket.Close() }

// args are those of the emulator, which has the end as a file of this number.
func (e *End) args(fd int) []string {
	return []string{"-netdev", fmt.Sprintf("socket,id=cable,fd=%d", fd), "-device", "virtio-net-pci,netdev=cable,romfile=,mac=" + e.mac}
}
