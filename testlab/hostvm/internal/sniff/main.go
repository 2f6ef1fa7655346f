//go:build linux

// Sniff captures the RDMA writes on a wire with a packet socket, and prints how many of their
// packets arrived with each DSCP from each address:
//
//	sniff INTERFACE PACKETS
//
// It exits after that many packets, or with status 1 after two minutes.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sniff:", err)
		os.Exit(1)
	}
}

// patience is how long it waits for packets.
const patience = 2 * time.Minute

func run(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("usage: sniff INTERFACE PACKETS")
	}
	want, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	nic, err := net.InterfaceByName(args[0])
	if err != nil {
		return err
	}
	all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, int(all))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: nic.Index}); err != nil {
		return err
	}
	// A slow machine reads packets later than they come; none may be lost meanwhile.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20); err != nil {
		return err
	}
	fmt.Println("sniffing")
	seen, n := map[string]int{}, 0
	buf := make([]byte, 16<<10)
	for end := time.Now().Add(patience); n < want; {
		left := unix.NsecToTimeval(max(time.Until(end), time.Millisecond).Nanoseconds())
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &left); err != nil {
			return err
		}
		size, _, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("after %d packets of RDMA writes: %w", n, err)
		}
		if from, dscp, ok := write(buf[:size]); ok {
			seen[fmt.Sprintf("write from %s dscp %d", from, dscp)]++
			n++
		}
	}
	var lines []string
	for line, n := range seen {
		lines = append(lines, fmt.Sprintf("%s: %d packets", line, n))
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	return nil
}

// write parses an Ethernet frame with a packet of an RDMA write: IPv4, UDP to port 4791, and an
// opcode from RDMA WRITE First to RDMA WRITE Only with Immediate (InfiniBand Architecture
// Specification, volume 1, 9.2.1).
func write(frame []byte) (from netip.Addr, dscp int, ok bool) {
	if len(frame) < 14+20 || binary.BigEndian.Uint16(frame[12:]) != unix.ETH_P_IP {
		return from, 0, false
	}
	ip := frame[14:]
	head := int(ip[0]&15) * 4
	if ip[9] != unix.IPPROTO_UDP || head < 20 || len(ip) < head+8+12 {
		return from, 0, false
	}
	udp := ip[head:]
	if binary.BigEndian.Uint16(udp[2:]) != 4791 {
		return from, 0, false
	}
	if op := udp[8]; op < 0x06 || op > 0x0b {
		return from, 0, false
	}
	from, _ = netip.AddrFromSlice(ip[12:16])
	return from, int(ip[1] >> 2), true
}
