package store

import (
	"crypto/tls"
	"fmt"
	"time"
)

// Machine returns a store in a folder as a machine with boot ID boot sees it, with leases
// of ttl.
func Machine(path, boot string, ttl time.Duration) Store {
	d := newDir(path)
	d.boot, d.ttl = boot, ttl
	return d
}

// TLS exports tls.
func (c EtcdConfig) TLS() (*tls.Config, error) { return c.tls() }

// Assemble joins records from parts, alternating keys and values. It returns one line per
// record: its number and text, or its error.
func Assemble(from int64, parts ...string) (out []string) {
	a := assembly{place: "here", at: from, yield: func(r Record, err error) bool {
		if err != nil {
			out = append(out, err.Error())
		} else {
			out = append(out, fmt.Sprintf("%d %s", r.At, r.Data))
		}
		return true
	}}
	for i := 0; i < len(parts); i += 2 {
		a.add(parts[i], []byte(parts[i+1]))
	}
	a.flush(ErrCutOff)
	return out
}
