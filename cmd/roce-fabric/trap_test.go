package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	xssh "golang.org/x/crypto/ssh"
)

// traps maps the working folder of each running script to its trap.
var traps sync.Map

// quiet discards the errors of a server whose clients reject it.
var quiet = log.New(io.Discard, "", 0)

// trapped collects what the attacker's servers receive.
type trapped struct{ syncBuffer }

func portOf(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

// trap starts TLS and SSH servers of an attacker, to be named by an intent, on all loopback
// addresses: TRAP_TLS and TRAP_SSH are the ports, TRAP_PIN is the pin of the certificate, and
// TRAP_HOST_KEY a line for known_hosts. Everything received is kept for untrapped.
func trap(ts *testscript.TestScript, neg bool, a []string) {
	if neg || len(a) > 0 {
		ts.Fatalf("usage: trap")
	}
	got := &trapped{}
	traps.Store(ts.Getenv("WORK"), got)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	cert, err := x509.ParseCertificate(der)
	ts.Check(err)
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	ts.Setenv("TRAP_PIN", "sha256:"+hex.EncodeToString(sum[:]))
	plain, err := net.Listen("tcp4", "0.0.0.0:0")
	ts.Check(err)
	ts.Setenv("TRAP_TLS", portOf(plain))
	server := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<16)) // as much as arrived
			fmt.Fprintf(got, "%v %q %v\n", r.URL, body, r.Header)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2", "http/1.1"}},
		ErrorLog:  quiet,
	}
	go func() { _ = server.ServeTLS(plain, "", "") }() // until it is closed
	ts.Defer(func() { _ = server.Close() })
	shell, err := net.Listen("tcp4", "0.0.0.0:0")
	ts.Check(err)
	ts.Setenv("TRAP_SSH", portOf(shell))
	signer, err := xssh.NewSignerFromKey(key)
	ts.Check(err)
	ts.Setenv("TRAP_HOST_KEY", fmt.Sprintf("[127.0.0.1]:%s %s", portOf(shell), strings.TrimSpace(string(xssh.MarshalAuthorizedKey(signer.PublicKey())))))
	go got.ssh(shell, signer)
	ts.Defer(func() { _ = shell.Close() })
}

// ssh rejects all logins and records their users and passwords.
func (g *trapped) ssh(l net.Listener, key xssh.Signer) {
	cfg := &xssh.ServerConfig{
		PasswordCallback: func(c xssh.ConnMetadata, password []byte) (*xssh.Permissions, error) {
			fmt.Fprintf(g, "ssh %s %s\n", c.User(), password)
			return nil, errors.New("refused")
		},
		PublicKeyCallback: func(c xssh.ConnMetadata, k xssh.PublicKey) (*xssh.Permissions, error) {
			fmt.Fprintf(g, "ssh %s %s\n", c.User(), xssh.MarshalAuthorizedKey(k))
			return nil, errors.New("refused")
		},
	}
	cfg.AddHostKey(key)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			_, _, _, _ = xssh.NewServerConn(c, cfg) // every login is rejected
		}()
	}
}

// attacked TEXT... runs each job of the CI examples that has credentials. The job must reject
// the intent before it connects to any host, and must not print any of the texts.
func attacked(ts *testscript.TestScript, _ bool, a []string) {
	for _, job := range [][]string{{"github", "plan", "plan"}, {"github", "apply", "apply"}, {"github", "validate", "validate"}, {"gitlab", "plan-request"}, {"gitlab", "apply"}, {"gitlab", "validate"}} {
		ts.Check(errors.Join(os.RemoveAll(ts.MkAbs("validate")), os.RemoveAll(ts.MkAbs("plan"))))
		if job[1] == "apply" {
			ts.Check(errors.Join(os.Mkdir(ts.MkAbs("plan"), 0o700), os.WriteFile(ts.MkAbs("plan/fabric.plan"), []byte("made\n"), 0o600)))
		}
		ciRun(ts, false, append([]string{"2"}, job...))
		for _, secret := range a {
			if said := ts.ReadFile("stdout") + ts.ReadFile("stderr"); strings.Contains(said, secret) {
				ts.Fatalf("%v prints %q", job, secret)
			}
		}
	}
}

// untrapped TEXT... checks that the attacker received none of the texts; with "!", that it
// received all of them.
func untrapped(ts *testscript.TestScript, neg bool, a []string) {
	v, ok := traps.Load(ts.Getenv("WORK"))
	if !ok || len(a) == 0 {
		ts.Fatalf("usage: untrapped TEXT..., after trap")
	}
	got := v.(*trapped).String()
	for _, text := range a {
		if strings.Contains(got, text) != neg {
			ts.Fatalf("sent %q: %v, to the attacker:\n%s", text, !neg, got)
		}
	}
}
