package store

import (
	"crypto/tls"
	"fmt"
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

// Assemble puts records together from the keys and values of their parts, two by two,
// and says for each its number with its text or error.
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
