package store

import (
	"crypto/tls"
	"time"
)

// Machine is the folder as seen from a machine with another kernel, on which a lease
// lasts ttl.
func Machine(path, boot string, ttl time.Duration) Store {
	d := newDir(path)
	d.boot, d.ttl = boot, ttl
	return d
}

// TLS is the configuration of TLS.
func (c EtcdConfig) TLS() (*tls.Config, error) { return c.tls() }
