package sonic

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func login(t testing.TB, s *Switch, user string, auth ssh.AuthMethod) (*ssh.Client, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(s.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check, err := knownhosts.New(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ssh.Dial("tcp", s.SSHAddr(), &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{auth}, HostKeyCallback: check, Timeout: 10 * time.Second})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

type box struct {
	t testing.TB
	c *ssh.Client
}

// run executes a command and returns its output, including errors, and its status.
func (b box) run(cmd, stdin string) (string, int) {
	b.t.Helper()
	sess, err := b.c.NewSession()
	if err != nil {
		b.t.Fatal(err)
	}
	defer sess.Close()
	sess.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	sess.Stdout, sess.Stderr = &out, &errs
	err = sess.Run(cmd)
	out.Write(errs.Bytes())
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return out.String(), 0
	case errors.As(err, &exit):
		return out.String(), exit.ExitStatus()
	}
	b.t.Fatalf("%s: %v", cmd, err)
	return "", -1
}

func newBox(t testing.TB, o Options) (*Switch, box) {
	t.Helper()
	s := start(t, o)
	c, err := login(t, s, DefaultUser, ssh.Password(DefaultPassword))
	if err != nil {
		t.Fatal(err)
	}
	return s, box{t, c}
}

func TestLogin(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Username: "op", Password: "secret", AuthorizedKeys: []ssh.PublicKey{signer.PublicKey()}})
	if _, err := login(t, s, "op", ssh.Password("secret")); err != nil {
		t.Error(err)
	}
	if _, err := login(t, s, "op", ssh.PublicKeys(signer)); err != nil {
		t.Error(err)
	}
	for user, pw := range map[string]string{"op": "no", DefaultUser: DefaultPassword} {
		if _, err := login(t, s, user, ssh.Password(pw)); err == nil {
			t.Errorf("%s logged in", user)
		}
	}
	if _, err := login(t, s, "other", ssh.PublicKeys(signer)); err == nil {
		t.Error("a key of another user")
	}
}

func TestShell(t *testing.T) {
	_, b := newBox(t, Options{Name: "leaf1", Release: "202511"})
	for _, tc := range []struct {
		cmd, in, want string
		code          int
	}{
		{`false; echo "rc $?"; echo '$?' 'a;b'`, "", "rc 1\n$? a;b\n", 0},
		{"nonsense -x", "", "-bash: nonsense: command not found\n", 127},
		{"true && echo yes || echo no; false && echo x; false || echo z", "", "yes\nz\n", 0},
		{"cat > /tmp/a", "hello\n", "", 0},
		{"cat /tmp/a", "", "hello\n", 0},
		{"sudo rm -f /tmp/a; cat /tmp/a", "", "cat: /tmp/a: No such file or directory\n", 1},
		{"trap 'echo last' EXIT; cat; false", "x\n", "x\nlast\n", 1},
		{"cat > /tmp/b; sudo config save /tmp/root; find /tmp /etc/sonic/checkpoints -maxdepth 1 -type f -name '[a-c]*'", "", "Running command: …", 1},
		{"find /tmp -maxdepth 1 -type f -name '[a-r]*'", "", "/tmp/b\n/tmp/root\n", 0},
		{"rm -f /tmp/b /tmp/root", "", "rm: cannot remove '/tmp/root': Operation not permitted\n", 1},
		{"sudo echo > /tmp/root", "", "-bash: /tmp/root: Permission denied\n", 1},
		{"echo x > /etc/sonic/x", "", "-bash: /etc/sonic/x: Permission denied\n", 1},
		{"sonic-db-cli PING", "", "PONG\n", 0},
		{`sonic-db-cli CONFIG_DB hgetall "SCHEDULER|scheduler.0"`, "", "{'type': 'DWRR', 'weight': '14'}\n", 0},
		{`sonic-db-cli CONFIG_DB hgetall "SCHEDULER|no"`, "", "{}\n", 0},
		{`sonic-db-cli CONFIG_DB hget "SCHEDULER|scheduler.0" weight`, "", "14\n", 0},
		{`sonic-db-cli CONFIG_DB keys "SCHEDULER|*"`, "", "SCHEDULER|scheduler.0\nSCHEDULER|scheduler.1\n", 0},
		{`sonic-db-cli CONFIG_DB hset "SCHEDULER|s2" type STRICT; sonic-db-cli CONFIG_DB del "SCHEDULER|s2"`, "", "1\n1\n", 0},
		{`sonic-db-cli APPL_DB hget "PORT_TABLE:Ethernet0" oper_status`, "", "up\n", 0},
		{"config save -y", "", "Root privileges are required for this operation\n", 1},
		{"sudo config frobnicate", "", "Usage: config [OPTIONS]…", 2},
		{"echo 'open", "", "-bash: unexpected EOF…", 2},
		{"show version", "", "\nSONiC Software Version: SONiC.202511.…", 0},
	} {
		got, code := b.run(tc.cmd, tc.in)
		if code != tc.code {
			t.Errorf("%s: status %d", tc.cmd, code)
		}
		like(t, got, tc.want)
	}
	var d map[string]map[string]map[string]any
	out, _ := b.run("sonic-cfggen -d --print-data", "")
	if err := json.Unmarshal([]byte(out), &d); err != nil || d["PORT"]["Ethernet0"]["speed"] != "400000" {
		t.Errorf("cfggen: %v", err)
	}
	out, _ = b.run(`sudo redis-dump -d 1 -y -k "ASIC_STATE:SAI_OBJECT_TYPE_WRED*"`, "")
	var dump map[string]any
	if err := json.Unmarshal([]byte(out), &dump); err != nil || len(dump) != 1 || !strings.Contains(out, `"SAI_WRED_ATTR_WEIGHT": "0"`) {
		t.Errorf("redis-dump: %v %s", err, out)
	}
}

func TestConfigCommands(t *testing.T) {
	s, b := newBox(t, Options{ASIC: "th3"})
	ok := func(cmd, in, want string) {
		t.Helper()
		out, code := b.run(cmd, in)
		if code != 0 || !strings.HasSuffix(out, want) {
			t.Errorf("%s: %d %s", cmd, code, out)
		}
	}
	refused := func(cmd, in, want string) {
		t.Helper()
		if out, code := b.run(cmd, in); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", cmd, code, out)
		}
	}
	ok("sudo config checkpoint before", "", "Checkpoint created successfully.\n")
	ok("sudo config list-checkpoints", "", "[\n    \"before\"\n]\n")

	// load merges without checks or flaps; the daemons react, and nothing is saved.
	saved := string(s.Saved())
	ok("cat > /tmp/l.json", `{"PORT_QOS_MAP":{"Ethernet0":{"pfc_enable":"2"}},"QUEUE":{"Ethernet0|3":{"scheduler":"dangling"}}}`, "")
	ok("sudo config load -y /tmp/l.json", "", "--write-to-db\n")
	c := s.Config()
	if c["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] != "AZURE" || c["QUEUE"]["Ethernet0|3"]["wred_profile"] == "" || c["BUFFER_PG"]["Ethernet0|2"]["profile"] != prof40 {
		t.Error("load did not merge, or the daemons slept")
	}
	if len(s.Flaps()) != 0 || string(s.Saved()) != saved {
		t.Error("load flapped or saved")
	}
	// Now the configuration is invalid, and every patch fails.
	refused("sudo config apply-patch /dev/stdin", "[]", "Data Loading Failed\nfailed to parse data tree: Leafref")
	ok("sudo config rollback before", "", "Config rolled back successfully.\n")
	if s.Flaps()["Ethernet0"] == 0 || s.Config()["QUEUE"]["Ethernet0|3"]["scheduler"] != "scheduler.1" {
		t.Error("rollback did not go through the updater")
	}
	patch := `[{"op":"replace","path":"/SCHEDULER/scheduler.1/weight","value":"77"}]`
	ok("sudo config apply-patch -d /dev/stdin", patch, "Patch applied successfully.\n")
	if s.Config()["SCHEDULER"]["scheduler.1"]["weight"] != "15" {
		t.Error("a dry run wrote")
	}
	ok("sudo config apply-patch /dev/stdin", patch, "Patch applied successfully.\n")
	if s.Config()["SCHEDULER"]["scheduler.1"]["weight"] != "77" || string(s.Saved()) != saved {
		t.Error("apply-patch did not write, or saved")
	}
	refused("sudo config apply-patch /dev/stdin", `[{"op":"replace","path":"/BUFFER_POOL/ingress_lossless_pool/size","value":"1"}]`,
		"- localhost: Modification of BUFFER_POOL table is illegal- validating function generic_config_updater.field_operation_validators.rdma_config_update_validator returned False")
	refused("sudo config apply-patch /dev/stdin", `[{"op":"remove","path":"/SCHEDULER/scheduler.0"}]`, "Failed to apply patch due to: Validate json patch")
	refused("sudo config rollback none", "", "does not exist")
	ok("sudo config delete-checkpoint before", "", "Checkpoint deleted successfully.\n")
	ok("sudo config save -y", "", "config_db.json\n")
	if !strings.Contains(string(s.Saved()), `"weight": "77"`) {
		t.Error("save did not save")
	}
	ok("sudo config interface shutdown Ethernet0; sudo config interface startup Ethernet0", "", "")
	if s.Config()["PORT"]["Ethernet0"]["admin_status"] != "up" {
		t.Error("the port stayed down")
	}
	ok("sudo config pfcwd interval 200; sudo config pfcwd start --action forward --restoration-time 500 Ethernet0 400", "", "")
	if r := s.Config()["PFC_WD"]; r["GLOBAL"]["POLL_INTERVAL"] != "200" || r["Ethernet0"]["action"] != "forward" || r["Ethernet0"]["detection_time"] != "400" {
		t.Errorf("watchdog %v", r)
	}
	refused("sudo config pfcwd interval 450", "", "unable to use polling interval = 450ms")
	ok("sudo config pfcwd stop", "", "")
	if r := s.Config()["PFC_WD"]["Ethernet0"]; r != nil {
		t.Errorf("watchdog %v", r)
	}
	ok("sudo config qos reload", "", "")
	if s.Config()["SCHEDULER"]["scheduler.1"]["weight"] != "15" {
		t.Error("qos reload kept what a tool wrote")
	}
	ok("sudo config reload -y", "", "Restarting SONiC target ...\n")
	if s.Config()["SCHEDULER"]["scheduler.1"]["weight"] != "77" {
		t.Error("reload did not load the startup file")
	}
	d := s.docNow()
	d["SCHEDULER"].(map[string]any)["new"] = map[string]any{"type": "STRICT"}
	full, _ := json.Marshal(d)
	ok("sudo config replace /dev/stdin", string(full), "Config replaced successfully.\n")
	if s.Config()["SCHEDULER"]["new"] == nil {
		t.Error("replace did not write")
	}
}

func TestInteractiveShell(t *testing.T) {
	_, b := newBox(t, Options{Name: "leaf1"})
	sess, err := b.c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	in, _ := sess.StdinPipe()
	out, _ := sess.StdoutPipe()
	if err := sess.RequestPty("xterm", 80, 24, ssh.TerminalModes{ssh.ECHO: 1}); err != nil {
		t.Fatal(err)
	}
	if err := sess.Shell(); err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		buf := make([]byte, len(want))
		if _, err := io.ReadFull(out, buf); err != nil || string(buf) != want {
			t.Fatalf("got %q, want %q (%v)", buf, want, err)
		}
	}
	prompt := "admin@leaf1:~$ "
	expect(prompt)
	for _, c := range "echo hi" { // each byte is echoed before the next is sent
		_, _ = io.WriteString(in, string(c))
		expect(string(c))
	}
	_, _ = io.WriteString(in, "\n")
	expect("\r\nhi\r\n" + prompt)
	_, _ = io.WriteString(in, "nope\n")
	expect("nope\r\n-bash: nope: command not found\r\n" + prompt)
	_, _ = io.WriteString(in, "cat > /tmp/f\nline\n\x04cat /tmp/f\n")
	expect("cat > /tmp/f\r\nline\r\n" + prompt + "cat /tmp/f\r\nline\r\n" + prompt)
	_, _ = io.WriteString(in, "exit\n")
	if err := sess.Wait(); err != nil {
		t.Error(err)
	}
}
