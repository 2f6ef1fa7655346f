package store_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/fleet/store/storetest"
)

// server is an etcd server on loopback.
type server struct {
	*exec.Cmd
	addr string
	c    *clientv3.Client // nil if the server uses TLS
}

// start starts etcd and stops it when the test ends.
func start(t *testing.T, scheme string, args ...string) *server {
	t.Helper()
	cmd, addr := storetest.Etcd(t, scheme, args...)
	s := &server{Cmd: cmd, addr: addr}
	if scheme == "http" {
		var err error
		s.c, err = clientv3.New(clientv3.Config{Endpoints: []string{s.addr}, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.c.Close() })
	}
	return s
}

func (s *server) where() string { return "etcd://" + s.addr + "/team?tls=off&ttl=5s" }

func (s *server) put(t *testing.T, key, value string) {
	t.Helper()
	if _, err := s.c.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func (s *server) delete(t *testing.T, key string, opts ...clientv3.OpOption) {
	t.Helper()
	if resp, err := s.c.Delete(t.Context(), key, opts...); err != nil || resp.Deleted == 0 {
		t.Fatalf("delete %s: %v, %v", key, resp, err)
	}
}

func (s *server) place(fabric string) *storetest.Place {
	root := "/team/" + url.PathEscape(fabric) + "/"
	key := func(id store.ID, record, part, parts int) string {
		return fmt.Sprintf("%srecords/%v/%010d.%05d.%05d", root, id, record, part, parts)
	}
	return &storetest.Place{
		Where: s.where(), Fabric: fabric,
		Lose: func(t *testing.T) {
			t.Helper()
			resp, err := s.c.Get(t.Context(), root+"lock")
			if err != nil || len(resp.Kvs) != 1 {
				t.Fatal(resp, err)
			}
			if _, err := s.c.Revoke(t.Context(), clientv3.LeaseID(resp.Kvs[0].Lease)); err != nil {
				t.Fatal(err)
			}
		},
		Damage: func(t *testing.T, id store.ID, at int64) {
			t.Helper()
			s.put(t, key(id, int(at), 0, 1), "\x00{")
		},
		Tear: func(t *testing.T, id store.ID) {
			t.Helper()
			s.delete(t, key(id, 3, 0, 1))
			s.put(t, key(id, 3, 0, 2), `{"n":`)
		},
		Many: func(t *testing.T, n int) {
			t.Helper()
			for i := 0; i < n; i += 100 {
				var ops []clientv3.Op
				for k := range 100 {
					ops = append(ops, clientv3.OpPut(root+"journals/"+store.ID{Number: uint64(i + k + 1), Run: "run"}.String(), "{}"))
				}
				if _, err := s.c.Txn(t.Context()).Then(ops...).Commit(); err != nil {
					t.Fatal(err)
				}
			}
		},
		Freeze: func(t *testing.T) func() {
			t.Helper()
			s.stop(t)
			return func() { s.signal(t, syscall.SIGCONT) }
		},
	}
}

func (s *server) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// stop sends SIGSTOP to the server and returns when all its threads have stopped.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
	for stopped := false; !stopped; time.Sleep(time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.Process.Pid))
		if err != nil || len(tasks) == 0 {
			t.Fatal("no threads of etcd: ", err)
		}
		stopped = true
		for _, task := range tasks {
			// The file is gone if the thread has ended.
			if b, err := os.ReadFile(task); err == nil && !strings.Contains(string(b), ") T ") {
				stopped = false
			}
		}
	}
}

func TestEtcd(t *testing.T) {
	s := start(t, "http")
	n := 0
	storetest.Run(t, store.Open,
		func(*testing.T) *storetest.Place {
			n++
			return s.place(fmt.Sprintf("pod %d/../x", n))
		},
		func(t *testing.T) (*storetest.Place, func()) {
			s := start(t, "http", "--quota-backend-bytes", "24000000")
			for i := range 12 {
				s.put(t, fmt.Sprint("filler", i), strings.Repeat("x", 1<<20))
			}
			return s.place("pod1"), func() { s.room(t) }
		})
}

// room deletes the filler, so that etcd accepts writes again.
func (s *server) room(t *testing.T) {
	resp, err := s.c.Delete(t.Context(), "filler", clientv3.WithPrefix())
	if err == nil {
		_, err = s.c.Compact(t.Context(), resp.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err == nil {
		_, err = s.c.Defragment(t.Context(), s.addr)
	}
	if err == nil {
		_, err = s.c.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A process that was suspended for longer than its lease finds that another process holds
// the lock, and can no longer write.
func TestPauseLongerThanTheLease(t *testing.T) {
	s := start(t, "http")
	p := s.place("pod1")
	one, two := p.Start(t, "host1"), p.Start(t, "host2")
	if got := one.Do(t, "lock run1"); got != "ok" {
		t.Fatal(got)
	}
	if err := one.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(50 * time.Millisecond); two.Do(t, "lock run2") != "ok"; <-tick.C {
		if t.Context().Err() != nil {
			return
		}
	}
	if err := one.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := one.Do(t, "append"); !strings.Contains(got, "the lock is lost") {
		t.Errorf("the first goes on: %s", got)
	}
	for _, do := range []string{"append", "release"} {
		if got := two.Do(t, do); got != "ok" {
			t.Error(got)
		}
	}
}

// A journal survives an outage of etcd that is shorter than the lease, such as a restart
// or a leader election.
func TestEtcdOutageShorterThanLease(t *testing.T) {
	s := start(t, "http")
	// One of the members does not exist.
	st, err := store.Open(t.Context(), "etcd://"+storetest.Free(t)+","+s.addr+"?tls=off", "pod1")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	l, err := st.Lock(t.Context(), store.Self("run1", ""))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create(t.Context(), "run1")
	if err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := j.Append(ctx, []byte(`"late"`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a record is durable without etcd: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- j.Append(t.Context(), []byte("1")) }() // may wait
	s.signal(t, syscall.SIGCONT)
	if err := errors.Join(<-done, j.Append(t.Context(), []byte("2"))); err != nil {
		t.Error(err)
	}
	// An abandoned attempt arrives late.
	resp, err := s.c.Get(t.Context(), "/roce-fabric/pod1/records/", clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 2 || string(resp.Kvs[0].Value) != "1" || string(resp.Kvs[1].Value) != "2" {
		t.Fatalf("the records are %v, %v", resp, err)
	}
	s.put(t, strings.Replace(string(resp.Kvs[1].Key), "/0000000001.", "/0000000002.", 1), "3")
	if err := errors.Join(j.Append(t.Context(), []byte("4")), l.Release()); err != nil {
		t.Error(err)
	}
	got := ""
	for r, err := range st.Records(t.Context(), j.ID(), 0) {
		got += fmt.Sprintf("%s %v,", r.Data, err)
	}
	if got != "1 <nil>,2 <nil>,4 <nil>," {
		t.Error(got)
	}
}

// cluster starts an etcd cluster of three members.
func cluster(t *testing.T) (members []*server) {
	t.Helper()
	var peers, all []string
	for i := range 3 {
		peers = append(peers, "http://"+storetest.Free(t))
		all = append(all, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	for i, p := range peers {
		members = append(members, start(t, "http", "--name", fmt.Sprint("m", i), "--listen-peer-urls", p, "--initial-advertise-peer-urls", p, "--initial-cluster", strings.Join(all, ",")))
	}
	return members
}

// The leader of three members is killed in the middle of a run. The run continues, and
// each record is stored once, in order.
func TestALeaderIsKilled(t *testing.T) {
	members := cluster(t)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.addr)
	}
	st, err := store.Open(t.Context(), "etcd://"+strings.Join(addrs, ",")+"?tls=off", "pod1")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	l, err := st.Lock(t.Context(), store.Self("run1", ""))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create(t.Context(), "run1")
	if err != nil {
		t.Fatal(err)
	}
	const n = 60
	for i := range n {
		if i == n/2 {
			kill(t, members)
		}
		if err := j.Append(t.Context(), fmt.Append(nil, i)); err != nil {
			t.Fatal(i, err)
		}
	}
	i := 0
	for r, err := range st.Records(t.Context(), j.ID(), 0) {
		if err != nil || string(r.Data) != fmt.Sprint(i) {
			t.Fatalf("record %d is %s, %v", i, r.Data, err)
		}
		i++
	}
	if i != n {
		t.Errorf("%d records", i)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// kill kills the leader of the cluster.
func kill(t *testing.T, members []*server) {
	t.Helper()
	for _, m := range members {
		st, err := m.c.Status(t.Context(), m.addr)
		if err != nil {
			t.Fatal(err)
		}
		if st.Leader == st.Header.MemberId {
			m.signal(t, syscall.SIGKILL)
			return
		}
	}
	t.Fatal("no leader")
}

// A client gets in only with the credentials that the server requires, and no error
// contains the password.
func TestEtcdWithTLSAndUsers(t *testing.T) {
	dir := t.TempDir()
	ca, caKey := certificate(t, dir, "ca", nil, nil)
	certificate(t, dir, "server", ca, caKey)
	certificate(t, dir, "client", ca, caKey)
	certificate(t, dir, "ann", ca, caKey)
	certificate(t, dir, "other", nil, nil)
	file := func(name string) string { return filepath.Join(dir, name) }
	s := start(t, "https", "--cert-file", file("server.pem"), "--key-file", file("server.key"), "--trusted-ca-file", file("ca.pem"), "--client-cert-auth")
	t.Setenv("ETCD_PASSWORD", "pa55")
	t.Setenv("ETCD_WRONG", "wr0ng")
	pair := "&cert=" + file("client.pem") + "&key=" + file("client.key")
	open := func(query string, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		st, err := store.Open(ctx, "etcd://"+s.addr+"?"+query, "pod1")
		if err != nil {
			return err
		}
		defer st.Close()
		l, err := st.Lock(ctx, store.Self("run1", ""))
		if err != nil {
			return err
		}
		j, err := l.Create(ctx, "run1")
		if err != nil {
			return err
		}
		return errors.Join(j.Append(ctx, []byte("1")), l.Release())
	}
	if err := open("ca="+file("ca.pem")+pair, time.Minute); err != nil {
		t.Fatal(err)
	}
	cfg, err := store.ParseEtcd(t.Context(), "etcd://"+s.addr+"?ca="+file("ca.pem")+pair)
	if err != nil {
		t.Fatal(err)
	}
	names, err := cfg.TLS()
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + s.addr}, TLS: names, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	users(t, c)
	for query, want := range map[string]string{
		"ca=" + file("ca.pem") + pair + "&user=ann&password=env:ETCD_PASSWORD": "",
		"ca=" + file("ca.pem") + pair + "&user=ann&password=env:ETCD_WRONG":    "authentication failed",
		"ca=" + file("ca.pem") + pair:                                          "denied",
		"ca=" + file("ca.pem") + strings.ReplaceAll(pair, "client", "ann"):     "",
		"ca=" + file("ca.pem"):                                                 "deadline exceeded",
		"ca=" + file("other.pem") + pair:                                       "deadline exceeded: latest balancer error: connection error: desc = \"transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		"tls=off":                                                              "deadline exceeded",
	} {
		patience := time.Minute
		if strings.Contains(want, "deadline") {
			patience = time.Second
		}
		err := open(query, patience)
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.addr) || strings.Contains(err.Error(), "pa55") || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: %v, want %q", strings.ReplaceAll(query, dir, ""), err, want)
		}
	}
}

// If etcd has forgotten the token, the client logs in again with the password. A password
// that was changed meanwhile is reported.
func TestEtcdTokenIsRenewed(t *testing.T) {
	s := start(t, "http")
	users(t, s.c)
	t.Setenv("ETCD_PASSWORD", "pa55")
	st, err := store.Open(t.Context(), "etcd://"+s.addr+"?tls=off&user=ann&password=env:ETCD_PASSWORD", "pod1")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	l, err := st.Lock(t.Context(), store.Self("run1", ""))
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Create(t.Context(), "run1")
	if err != nil {
		t.Fatal(err)
	}
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{s.addr}, Username: "root", Password: "r00t", Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// Even setting the same password makes etcd forget the tokens.
	if _, err := root.UserChangePassword(t.Context(), "ann", "pa55"); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), []byte("1")); err != nil {
		t.Error(err)
	}
	if _, err := root.UserChangePassword(t.Context(), "ann", "new"); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), []byte("1")); err == nil || !strings.Contains(err.Error(), "authentication failed") {
		t.Errorf("with a password that is no longer good: %v", err)
	}
	_ = l.Release() // fails; the lease expires
}

// users enables authentication with the users root and ann. c is a client without login.
func users(t *testing.T, c *clientv3.Client) {
	t.Helper()
	ctx := t.Context()
	for _, do := range []func() error{
		func() error { _, err := c.UserAdd(ctx, "root", "r00t"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.UserAdd(ctx, "ann", "pa55"); return err },
		func() error { _, err := c.RoleAdd(ctx, "fabric"); return err },
		func() error {
			_, err := c.RoleGrantPermission(ctx, "fabric", "/roce-fabric/", clientv3.GetPrefixRangeEnd("/roce-fabric/"), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := c.UserGrantRole(ctx, "ann", "fabric"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

// certificate writes a certificate and its key to dir. The certificate is signed by ca, or
// self-signed if ca is nil.
func certificate(t *testing.T, dir, name string, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: ca == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if ca == nil {
		ca, caKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}

// If etcd is unreachable, the call fails at the caller's deadline with an error that names
// the address and the reason.
func TestNoEtcd(t *testing.T) {
	addr := storetest.Free(t)
	st, err := store.Open(t.Context(), "etcd://"+addr+"?tls=off", "pod1")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err = st.Lock(ctx, store.Self("run1", ""))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "etcd://"+addr) || !strings.Contains(err.Error(), "connection refused") {
		t.Error(err)
	}
}
