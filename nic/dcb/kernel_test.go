package dcb

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
)

// kernel simulates dcbnl as in net/dcb/dcbnl.c, over devices whose drivers follow en_dcbnl.c
// (mlx5), bnxt_dcb.c and ice_dcb_nl.c. It encodes and decodes bytes itself and uses nothing of the
// codec under test.
type kernel struct {
	mu    sync.Mutex
	devs  map[string]*device
	socks []*sock

	unprivileged bool
	before62     bool // does not know DCB_APP entries and APP_TRUST
	sets         []uint8
	// answer, if set, replaces what is sent back.
	answer func(req, answer netlink.Message) []netlink.Message
}

func ne16(b []byte, v uint16) { order.PutUint16(b, v) }
func ne32(b []byte, v uint32) { order.PutUint32(b, v) }

func newKernel(devs map[string]*device) *kernel { return &kernel{devs: devs} }

// client returns a Client connected to the kernel.
func (k *kernel) client(t *testing.T) *Client {
	t.Helper()
	c, err := newClient(func() (*netlink.Conn, error) { return netlink.NewConn(k.open(), 4711), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (k *kernel) open() *sock {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &sock{k: k, changed: make(chan struct{}), waits: make(chan struct{}, 1)}
	k.socks = append(k.socks, s)
	return s
}

// tlv is one attribute, without the flags of its type.
type tlv struct {
	kind uint16
	data []byte
}

func parse(b []byte) []tlv {
	var l []tlv
	for len(b) >= 4 {
		n := int(order.Uint16(b))
		if n < 4 || n > len(b) {
			break
		}
		l = append(l, tlv{order.Uint16(b[2:]) & 0x3fff, b[4:n]})
		b = b[min((n+3)&^3, len(b)):]
	}
	return l
}

func attr(kind uint16, data ...byte) []byte {
	b := make([]byte, 4, 4+(len(data)+3)&^3)
	ne16(b, uint16(4+len(data)))
	ne16(b[2:], kind)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func find(l []tlv, kind uint16) ([]byte, bool) {
	for _, a := range l {
		if a.kind == kind {
			return a.data, true
		}
	}
	return nil, false
}

// handle simulates dcb_doit: it returns an errno for NLMSG_ERROR, or a body.
func (k *kernel) handle(m netlink.Message) (body []byte, errno int, notify string) {
	if m.Header.Type == 79 && k.unprivileged {
		return nil, 1, ""
	}
	cmd := m.Data[1]
	attrs := parse(m.Data[4:])
	name, _ := find(attrs, 1)
	if len(name) == 0 || name[len(name)-1] != 0 {
		return nil, 22, ""
	}
	ifname := string(name[:len(name)-1])
	d := k.devs[ifname]
	if d == nil {
		return nil, 19, ""
	}
	if d.none {
		return nil, 95, ""
	}
	head := []byte{0, cmd, 0, 0}
	switch cmd {
	case 21:
		return append(head, d.report(name)...), 0, ""
	case 23:
		mode, _ := find(attrs, 14)
		k.sets = append(k.sets, cmd)
		return append(head, attr(14, d.setDCBX(mode[0]))...), 0, ""
	case 20, 27:
		k.sets = append(k.sets, cmd)
		nest, ok := find(attrs, 13)
		if !ok {
			return nil, 22, ""
		}
		ieee := parse(nest)
		for kind, size := range map[uint16]int{1: 59, 2: 136, 7: 64, 10: 44} {
			if b, ok := find(ieee, kind); ok && len(b) < size {
				return nil, 34, ""
			}
		}
		return append(head, attr(13, byte(k.ieee(d, cmd, ieee)))...), 0, ifname
	}
	return nil, 95, ""
}

// ieee simulates dcbnl_ieee_set and dcbnl_ieee_del: it stops at the first error and skips what the
// driver has no operation for.
func (k *kernel) ieee(d *device, cmd uint8, l []tlv) int16 {
	if cmd == 20 {
		for _, op := range []struct {
			kind uint16
			set  func([]byte) int16
		}{{1, d.setETS}, {2, d.setPFC}, {10, d.setBuffer}} {
			if b, ok := find(l, op.kind); ok && !d.lacking[op.kind+100] {
				if err := op.set(b); err != 0 {
					return err
				}
			}
		}
	}
	table, _ := find(l, 3)
	for _, a := range parse(table) {
		if a.kind != 1 && (a.kind != 2 || k.before62) || d.lacking[103] {
			continue
		}
		app := [4]byte(a.data)
		if (app[0] == 255) != (a.kind == 2) {
			return -22
		}
		edit := d.setApp
		if cmd == 27 {
			edit = d.delApp
		}
		err := edit(app)
		d.history = append(d.history, map[bool]string{true: "dscp", false: "pcp"}[d.listsDSCP()])
		if err != 0 {
			return err
		}
	}
	return 0
}

// sock simulates a socket to the kernel.
type sock struct {
	k *kernel

	mu       sync.Mutex
	queue    []netlink.Message
	fail     error
	deadline time.Time
	changed  chan struct{} // closed at each change
	waits    chan struct{} // receives when a Receive finds nothing
	group    uint32
	closed   bool
}

func (s *sock) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *sock) Close() error { s.update(func() { s.closed = true }); return nil }

func (s *sock) SetDeadline(t time.Time) error        { s.update(func() { s.deadline = t }); return nil }
func (s *sock) SetReadDeadline(time.Time) error      { return errors.New("not used") }
func (s *sock) SetWriteDeadline(time.Time) error     { return errors.New("not used") }
func (s *sock) JoinGroup(g uint32) error             { s.group = g; return nil }
func (s *sock) LeaveGroup(uint32) error              { return errors.New("not used") }
func (s *sock) SendMessages([]netlink.Message) error { return errors.New("not used") }

func (s *sock) push(m ...netlink.Message) { s.update(func() { s.queue = append(s.queue, m...) }) }

func (s *sock) Send(m netlink.Message) error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	if m.Header.Flags != netlink.Request {
		return errors.New("flags other than NLM_F_REQUEST")
	}
	body, errno, notify := s.k.handle(m)
	answer := netlink.Message{Header: netlink.Header{Type: m.Header.Type, Sequence: m.Header.Sequence, PID: m.Header.PID}, Data: body}
	if errno != 0 {
		answer.Header.Type = netlink.Error
		answer.Data = make([]byte, 4)
		ne32(answer.Data, uint32(-int32(errno)))
	}
	answers := []netlink.Message{answer}
	if s.k.answer != nil {
		answers = s.k.answer(m, answer)
	}
	s.push(answers...)
	if notify != "" {
		for _, o := range s.k.socks {
			if o.group == 23 {
				d := s.k.devs[notify]
				o.push(netlink.Message{Header: netlink.Header{Type: 79, Sequence: m.Header.Sequence}, Data: append([]byte{0, m.Data[1], 0, 0}, d.report(append([]byte(notify), 0))...)})
			}
		}
	}
	return nil
}

func (s *sock) Receive() ([]netlink.Message, error) {
	for {
		s.mu.Lock()
		q, fail, deadline, changed, closed := s.queue, s.fail, s.deadline, s.changed, s.closed
		s.queue, s.fail = nil, nil
		s.mu.Unlock()
		var timer <-chan time.Time
		if !deadline.IsZero() {
			timer = time.After(time.Until(deadline))
		}
		switch {
		case closed:
			return nil, os.NewSyscallError("recvmsg", syscall.EBADF)
		case fail != nil:
			s.push(q...)
			return nil, os.NewSyscallError("recvmsg", fail)
		case len(q) > 0:
			return q, nil
		}
		select {
		case s.waits <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-timer:
			return nil, os.NewSyscallError("recvmsg", os.ErrDeadlineExceeded)
		}
	}
}
