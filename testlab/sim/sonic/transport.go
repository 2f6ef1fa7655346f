package sonic

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

func (s *Switch) prepareTLS() error {
	if s.o.Plaintext {
		return nil
	}
	conf := s.o.TLS
	var err error
	if conf == nil {
		if conf, s.caPEM, err = sim.NewTLS(); err != nil {
			return fmt.Errorf("switch %s: %w", s.o.Name, err)
		}
	} else if len(conf.Certificates) > 0 {
		chain := conf.Certificates[0].Certificate
		s.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
	}
	if s.badTLS, err = sim.WrongTLS(); err != nil {
		return fmt.Errorf("switch %s: %w", s.o.Name, err)
	}
	s.tlsConf = conf.Clone()
	s.tlsConf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.faults.tlsConfig(), nil }
	return nil
}

// HostKeyLine returns the known_hosts line of the SSH server, "" if there is none.
func (s *Switch) HostKeyLine() string {
	if s.hostKey == nil || s.sshLn == nil {
		return ""
	}
	return knownhosts.Line([]string{knownhosts.Normalize(s.SSHAddr())}, s.hostKey.PublicKey())
}
