package hostvm

import (
	"fmt"
	"os"
)

// End is one end of a cable between two VMs: in its VM it is a virtio_net NIC, whose module the
// script must load.
type End struct {
	socket *os.File
	mac    string
}

// Cable returns the two ends of a cable. Each end is for one run of [Boot]; the two runs take place
// at the same time. The caller must close both ends.
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

// Close releases the end.
func (e *End) Close() error { return e.socket.Close() }

// args returns the arguments for an emulator that has the end open as file descriptor fd.
func (e *End) args(fd int) []string {
	return []string{"-netdev", fmt.Sprintf("socket,id=cable,fd=%d", fd), "-device", "virtio-net-pci,netdev=cable,romfile=,mac=" + e.mac}
}
