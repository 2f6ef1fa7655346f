// Package proxy stands between a client and a device on loopback and lets a test see
// each piece of what they say, hold it, let a part of it pass, and cut the connection
// at any byte.
package proxy

import (
	"fmt"
	"net"
	"sync"
)

// Chunk is what came from one side at once.
type Chunk struct {
	Up   bool // from the client
	Data []byte
}

// Hook is asked before a chunk is passed on, one chunk of a direction at a time. It
// may block. The first pass bytes go to the other side; cut then ends the connection,
// with a reset for the client.
type Hook func(Chunk) (pass int, cut bool)

// Proxy is a TCP proxy. Open makes one.
type Proxy struct {
	ln   net.Listener
	hook Hook
	wg   sync.WaitGroup
	mu   sync.Mutex
	on   map[net.Conn]bool // of clients; nil once it is closed
}

// Open starts a proxy to a host:port. hook is not nil.
func Open(to string, hook Hook) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", to, err)
	}
	p := &Proxy{ln: ln, hook: hook, on: map[net.Conn]bool{}}
	p.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c, to) })
		}
	})
	return p, nil
}

// Addr is where clients reach the device.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close ends the proxy. A hook that blocks has to return first.
func (p *Proxy) Close() error {
	err := p.ln.Close()
	p.mu.Lock()
	conns := p.on
	p.on = nil
	p.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
	p.wg.Wait()
	return err
}

func (p *Proxy) serve(client net.Conn, to string) {
	defer func() { _ = client.Close() }() // again, where it was cut
	device, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	p.mu.Lock()
	closed := p.on == nil
	if !closed {
		p.on[client] = true
	}
	p.mu.Unlock()
	if closed {
		_ = device.Close()
		return
	}
	p.wg.Go(func() { p.pass(client, device, true) })
	p.pass(device, client, false)
	p.mu.Lock()
	delete(p.on, client)
	p.mu.Unlock()
}

// pass copies one direction until it ends, and ends both.
func (p *Proxy) pass(from, to net.Conn, up bool) {
	client := to
	if up {
		client = from
	}
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		n, cut := p.hook(Chunk{up, buf[:n]})
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		if cut {
			_ = client.(*net.TCPConn).SetLinger(0) // its close is a reset
			return
		}
	}
}
