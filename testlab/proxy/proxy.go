// Package proxy provides a TCP proxy between a client and a device on loopback. A test can watch
// each piece of data, delay it, pass only part of it, and cut the connection at any byte; or it
// can add latency.
package proxy

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Chunk is the data read from one side at once.
type Chunk struct {
	Up   bool // from the client
	Data []byte
}

// Hook is called before a chunk is passed on, for one chunk per direction at a time. It may block.
// The first pass bytes are passed to the other side. If cut is set, the connection then ends, with
// a reset for the client.
type Hook func(Chunk) (pass int, cut bool)

// Proxy is a TCP proxy. Use Open or Far to create one.
type Proxy struct {
	ln    net.Listener
	hook  Hook
	delay time.Duration
	wg    sync.WaitGroup
	mu    sync.Mutex
	on    map[net.Conn]bool // client connections; nil once the proxy is closed
	// The round trip of the last piece that arrived at the device and at the client.
	device, client int
	trips          int
}

// Open starts a proxy to a host:port. hook must not be nil.
func Open(to string, hook Hook) (*Proxy, error) { return open(to, hook, 0) }

func open(to string, hook Hook, delay time.Duration) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", to, err)
	}
	p := &Proxy{ln: ln, hook: hook, delay: delay, on: map[net.Conn]bool{}}
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

// Far starts a proxy that delays every byte by half of a round-trip time, with any number of bytes
// in flight.
func Far(to string, roundTrip time.Duration) (*Proxy, error) {
	return open(to, nil, roundTrip/2)
}

// Trips returns the number of round trips so far: how often a client sent something only after it
// had received the answer to its previous data.
func (p *Proxy) Trips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// Addr returns the address at which clients reach the device.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close closes the proxy. A hook that blocks must return first.
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
	defer func() { _ = client.Close() }() // again, if the connection was cut
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

// pass copies one direction until it ends, then closes both ends.
func (p *Proxy) pass(from, to net.Conn, up bool) {
	client := to
	if up {
		client = from
	}
	defer func() { _, _ = to.Close(), from.Close() }()
	if p.hook == nil {
		p.far(from, to, up)
		return
	}
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
			_ = client.(*net.TCPConn).SetLinger(0) // makes Close send a reset
			return
		}
	}
}

// far copies one direction, and writes each piece when it is due.
func (p *Proxy) far(from, to net.Conn, up bool) {
	type piece struct {
		data []byte
		due  time.Time
		trip int
	}
	way, done := make(chan piece, 1<<10), make(chan struct{})
	p.wg.Go(func() {
		defer close(done)
		// After an error, the remaining pieces are read and discarded.
		var err error
		for c := range way {
			time.Sleep(time.Until(c.due))
			p.mu.Lock()
			if up {
				p.device = max(p.device, c.trip)
			} else {
				p.client = max(p.client, c.trip)
			}
			p.mu.Unlock()
			if err == nil {
				_, err = to.Write(c.data)
			}
		}
	})
	defer func() { close(way); <-done }()
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		c := piece{data: buf[:n], due: time.Now().Add(p.delay)}
		p.mu.Lock()
		if c.trip = p.device; up {
			c.trip = p.client + 1
			p.trips = max(p.trips, c.trip)
		}
		p.mu.Unlock()
		way <- c
	}
}
