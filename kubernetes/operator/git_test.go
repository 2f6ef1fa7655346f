package operator_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/kubernetes/operator"
)

// repository is a Git repository in a folder.
type repository struct {
	*testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

func (r *repository) git(arg ...string) string {
	r.Helper()
	out, err := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@example"}, arg...)...).CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", arg, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) put(name, text string) {
	r.Helper()
	at := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
		r.Fatal(err)
	}
}

// commit commits all files of the folder and returns the commit.
func (r *repository) commit(text string) string {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "--quiet", "-m", text)
	return r.git("rev-parse", "HEAD")
}

// twoCommits creates a repository with two commits on main, an annotated tag at the first and a
// lightweight tag at the second.
func twoCommits(t *testing.T) (r *repository, commits []string) {
	t.Helper()
	r = newRepository(t)
	for _, text := range []string{"one", "two"} {
		for name, of := range map[string]string{"pods/a.yaml": text, "pods/b.yml": "b of " + text, "pods/README": "none", "pods/sub/c.yaml": "below", "empty/README": "none"} {
			r.put(name, of)
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "link.yaml")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		commits = append(commits, r.commit(text))
	}
	r.git("tag", "-a", "-m", "a tag with a text", "v1", commits[0])
	r.git("tag", "v2", commits[1])
	r.git("branch", "v1", commits[1]) // tags take precedence over branches
	return r, commits
}

const gitSecret = "s3cret-of-git"

// gitHTTPS serves a folder through git http-backend, to clients with the right login.
func gitHTTPS(t *testing.T, dir string) (url string, ca []byte) {
	t.Helper()
	h := &cgi.Handler{Path: "/bin/sh", Args: []string{"-c", "exec git http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"}}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case !strings.HasPrefix(r.UserAgent(), "git/"):
			http.NotFound(w, r)
		case strings.HasPrefix(r.URL.Path, "/moved"):
			http.Redirect(w, r, "https://elsewhere.example"+r.URL.Path, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/page"):
			fmt.Fprintln(w, "<html>")
		case strings.HasPrefix(r.URL.Path, "/hangs"):
			<-r.Context().Done()
		case strings.HasPrefix(r.URL.Path, "/large"):
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			caps := "\x00agent=git"
			for i := range 1000 {
				line := fmt.Sprintf("%040x refs/heads/%05d%s%s\n", i+1, i, strings.Repeat("x", 60_000), caps)
				if _, err := fmt.Fprintf(w, "%04x%s", len(line)+4, line); err != nil {
					return
				}
				caps = ""
			}
			fmt.Fprint(w, "0000")
		case strings.HasPrefix(r.URL.Path, "/says"): // echoes what it received
			http.Error(w, "", http.StatusTeapot)
		case user+":"+password != "ann:"+gitSecret && r.Header.Get("Authorization") != "Bearer "+gitSecret:
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// gitSSHD serves repositories through OpenSSH's server, to clients with the right key.
func gitSSHD(t *testing.T) (address string, key, known []byte) {
	t.Helper()
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("no " + sshd + " (Debian: openssh-server)")
	}
	if os.Getuid() == 0 {
		// The folder that sshd needs for privilege separation.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	private, public := newSSHKey(t)
	hostPrivate, hostPublic := newSSHKey(t)
	address = freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	for name, b := range map[string][]byte{
		"host": hostPrivate, "authorized": xssh.MarshalAuthorizedKey(public),
		"config": fmt.Appendf(nil, "ListenAddress 127.0.0.1\nPort %s\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nPidFile none\nUsePAM no\nStrictModes no\n"+
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n", port, dir, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "config"))
	var log bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &log, 5*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for end := time.Now().Add(time.Minute); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return address, private, []byte(knownhosts.Line([]string{address}, hostPublic))
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func newSSHKey(t *testing.T) ([]byte, xssh.PublicKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := xssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := xssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), p
}

// An intent can come from a branch, a tag or a commit, over HTTPS and SSH, with a login and a
// verified server; errors name the problem but contain no secrets.
func TestClone(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	repo, commits := twoCommits(t)
	root, ca := gitHTTPS(t, filepath.Dir(repo.dir))
	https := root + "/" + filepath.Base(repo.dir)
	address, key, known := gitSSHD(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	over := "ssh://" + me.Username + "@" + address + repo.dir
	other, otherPublic := newSSHKey(t)
	for name, data := range map[string]map[string][]byte{
		"token": {"token": []byte(gitSecret + "\n"), "ca.crt": ca}, "basic": {"username": []byte("ann"), "password": []byte(gitSecret), "ca.crt": ca},
		"ca": {"ca.crt": ca}, "bad": {"password": []byte(gitSecret + "x"), "ca.crt": ca}, "noca": {"token": []byte(gitSecret)}, "none": {}, "text": {"ca.crt": []byte("x")},
		"key": {"ssh-privatekey": key, "known_hosts": known}, "badkey": {"ssh-privatekey": other, "known_hosts": known}, "nohost": {"ssh-privatekey": key},
		"stranger": {"ssh-privatekey": key, "known_hosts": []byte("elsewhere.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHhKcAX0MfsVfFIMDNUnLvUDvoM9l2XkcyiKvHJfQQZ9")},
		"changed":  {"ssh-privatekey": key, "known_hosts": []byte(knownhosts.Line([]string{address}, otherPublic))},
	} {
		if err := r.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	const file = "pods/a.yaml"
	clone := func(src v1alpha1.GitSource, secret string) (text, revision string, err error) {
		dir := t.TempDir()
		if src.Path == "" {
			src.Path = file
		}
		if secret != "" {
			src.Secret = &v1alpha1.LocalReference{Name: secret}
		}
		f := &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod1"}, Spec: v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Git: &src}}}
		path, revision, err := operator.Clone(t.Context(), r.Client, f, filepath.Join(dir, "intent"))
		if err != nil {
			if strings.Contains(err.Error(), gitSecret) || strings.Contains(err.Error(), dir) {
				t.Errorf("%v", err)
			}
			return "", "", err
		}
		all, err := filepath.Glob(path + "/*")
		if all == nil && err == nil {
			b, err := os.ReadFile(path)
			return string(b), revision, err
		}
		for i, name := range all {
			all[i] = filepath.Base(name)
		}
		return strings.Join(all, " "), revision, err
	}
	for _, c := range []struct {
		url, secret, ref, revision, path, text string
		commit                                 int
	}{
		{https, "token", "main", "", "", "two", 1},
		{https, "basic", "refs/heads/main", "", "", "two", 1},
		{https, "basic", "v1", "", "", "one", 0},
		{https, "basic", "refs/heads/v1", "", "", "two", 1},
		{https, "basic", "v2", commits[1], "", "two", 1},
		{https, "basic", "v1", commits[0], "", "one", 0},
		{https, "token", "", commits[1], "", "two", 1},
		{https, "token", "", commits[0], "", "one", 0},
		{https, "token", "main", "", "pods", "a.yaml b.yml", 1},
		{over, "key", "main", "", "", "two", 1},
		{over, "key", "v1", "", "./pods//a.yaml", "one", 0},
		{over, "key", "", commits[0], "", "one", 0},
		{over, "key", "main", "", "pods/sub", "c.yaml", 1},
	} {
		text, revision, err := clone(v1alpha1.GitSource{URL: c.url, Ref: c.ref, Revision: c.revision, Path: c.path}, c.secret)
		if err != nil || text != c.text || revision != commits[c.commit] {
			t.Errorf("%+v: %q at %s: %v", c, text, revision, err)
		}
	}
	// The first commit is not a branch: the server advertises its tag, and without the tag it is
	// only in the history.
	repo.git("tag", "-d", "v1")
	for _, allow := range []string{"false", "true"} {
		repo.git("config", "uploadpack.allowReachableSHA1InWant", allow)
		if text, _, err := clone(v1alpha1.GitSource{URL: https, Revision: commits[0]}, "token"); text != "one" {
			t.Errorf("allowReachableSHA1InWant %s: %q, %v", allow, text, err)
		}
	}
	none := strings.Repeat("0", 39) + "1"
	for _, c := range []struct {
		src          v1alpha1.GitSource
		secret, want string
		again        bool // another attempt may succeed
	}{
		{v1alpha1.GitSource{URL: https, Ref: "nope"}, "token", "has no branch or tag nope", false},
		{v1alpha1.GitSource{URL: https, Ref: "main", Revision: commits[0]}, "token", "main of " + https + " is at " + commits[1] + ", not at the revision " + commits[0], false},
		{v1alpha1.GitSource{URL: https, Ref: "main", Path: "pods/none.yaml"}, "token", https + " has no pods/none.yaml at " + commits[1], false},
		{v1alpha1.GitSource{URL: https, Ref: "main", Path: "empty"}, "token", "has no file that ends in .yaml or .yml", false},
		{v1alpha1.GitSource{URL: https, Ref: "main", Path: "link.yaml"}, "token", "link.yaml is a symbolic link", false},
		{v1alpha1.GitSource{URL: https, Ref: "main", Path: "."}, "token", "link.yaml is a symbolic link", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "", "failed to verify certificate", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "noca", "for a private CA, set the key ca.crt", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "ca", "refuses the login of Secret ca (401", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "bad", "refuses the login of Secret bad (401", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "none", "Secret none has no key token, password or ca.crt", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "text", "Secret text: ca.crt has no certificate", false},
		{v1alpha1.GitSource{URL: https, Ref: "main"}, "gone", "there is no Secret gone", false},
		{v1alpha1.GitSource{URL: root + "/nope.git", Ref: "main"}, "token", "is not a repository, or the login has no access to it", false},
		{v1alpha1.GitSource{URL: root + "/moved", Ref: "main"}, "token", "redirects to https://elsewhere.example/moved/info/refs", false},
		{v1alpha1.GitSource{URL: root + "/page", Ref: "main"}, "token", "is not a Git repository: it answers with \"text/html", false},
		{v1alpha1.GitSource{URL: root + "/large", Ref: "main"}, "token", "more than 32 MiB", false},
		{v1alpha1.GitSource{URL: root + "/says", Ref: "main"}, "token", "answers 418", true},
		{v1alpha1.GitSource{URL: "https://" + freeAddress(t) + "/x.git", Ref: "main"}, "token", "connection refused", true},
		{v1alpha1.GitSource{URL: over + "/nope", Ref: "main"}, "key", "git-upload-pack ended with status 128: fatal: ", false},
		{v1alpha1.GitSource{URL: over, Revision: none}, "key", "no commit " + none, false},
		{v1alpha1.GitSource{URL: over, Ref: "main"}, "badkey", "unable to authenticate", false},
		{v1alpha1.GitSource{URL: over, Ref: "main"}, "nohost", "there is no known_hosts", false},
		{v1alpha1.GitSource{URL: over, Ref: "main"}, "", "there is no ssh-privatekey", false},
		{v1alpha1.GitSource{URL: over, Ref: "main"}, "stranger", "is not in known_hosts", false},
		{v1alpha1.GitSource{URL: over, Ref: "main"}, "changed", ", known is ssh-ed25519", false},
	} {
		_, _, err := clone(c.src, c.secret)
		if err == nil || !strings.Contains(err.Error(), c.want) || operator.IsIntentError(err) == c.again {
			t.Errorf("%+v with %s: %v (%T), want %q", c.src, c.secret, err, err, c.want)
		}
	}

	// A server that does not respond is waited for only until the context ends.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, at := range []struct{ url, secret string }{{root + "/hangs", "token"}, {"ssh://git@" + silent.Addr().String() + "/x", "key"}} {
		f := &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: ns}, Spec: v1alpha1.FabricSpec{Intent: v1alpha1.IntentSource{Git: &v1alpha1.GitSource{URL: at.url, Ref: "main", Secret: &v1alpha1.LocalReference{Name: at.secret}}}}}
		if _, _, err := operator.Clone(ctx, r.Client, f, t.TempDir()); err == nil || operator.IsIntentError(err) {
			t.Errorf("%s: %v", at.url, err)
		}
	}
}

// A server's response may contain the login that it received.
func TestGitSaid(t *testing.T) {
	keys := map[string][]byte{"username": []byte("ann"), "password": []byte("p&ss word\n"), "token": []byte("t0ken")}
	err := operator.GitSaid("/work/x-login/known_hosts: YW5uOnAmc3Mgd29yZA==, p&ss word, p%26ss+word, t0ken", "/work/x-login", keys)
	if want := "known_hosts: ***, ***, ***, ***"; err.Error() != want || !operator.IsIntentError(err) {
		t.Errorf("%q", err)
	}
}

// A small pack that unpacks to large objects is rejected before it is unpacked.
func TestPackSize(t *testing.T) {
	pack := func(kind byte, size uint64, body []byte) []byte {
		out := append([]byte("PACK"), 0, 0, 0, 2, 0, 0, 0, 1)
		head := kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out = append(out, head|0x80)
			head = byte(size & 0x7f)
		}
		out = append(out, head)
		if kind == 7 { // an object identified by its hash
			out = append(out, make([]byte, 20)...)
		}
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		if _, err := w.Write(body); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		out = append(out, z.Bytes()...)
		sum := sha1.Sum(out)
		return append(out, sum[:]...)
	}
	const blob, delta = 3, 7
	large := bytes.Repeat([]byte{0}, int(operator.GitObjects)+1)
	makes := binary.AppendUvarint(binary.AppendUvarint(nil, 10), operator.GitObjects+1)
	for name, c := range map[string]struct {
		pack []byte
		want string
	}{
		"blob": {pack(blob, 3, []byte("abc")), ""}, "large": {pack(blob, uint64(len(large)), large), "more than 128 MiB unpacked"},
		"more than it says": {pack(blob, 3, large[:1<<20]), "size"}, "delta": {pack(delta, uint64(len(makes)), makes), "more than 128 MiB unpacked"}, "no pack": {[]byte("PUCK"), ""},
	} {
		err := operator.CheckPack(c.pack)
		if c.want == "" && name != "no pack" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || name == "no pack" && err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A Fabric names a repository and uses the intent at one of its commits. Its status shows the
// commit and any error, and no object contains the login.
func TestGit(t *testing.T) {
	b := newBench(t)
	in := b.start(1)
	repo := newRepository(t)
	const file = "pods/pod1.yaml"
	repo.put(file, strings.Replace(in, "classes:", "clases:", 1))
	first := repo.commit("first")
	root, ca := gitHTTPS(t, filepath.Dir(repo.dir))
	url := root + "/" + filepath.Base(repo.dir)
	b.create(&corev1.Secret{ObjectMeta: b.meta("git"), Data: map[string][]byte{"token": []byte(gitSecret), "ca.crt": ca}})
	made := func(name string, src v1alpha1.GitSource) *v1alpha1.Fabric {
		src.Path = file
		return &v1alpha1.Fabric{ObjectMeta: b.meta(name), Spec: v1alpha1.FabricSpec{
			Intent: v1alpha1.IntentSource{Git: &src}, CredentialsSecret: &v1alpha1.LocalReference{Name: "login"},
		}}
	}
	for at, want := range map[string]string{
		"https://ann:pw@git.example/x": "spec.intent.git.url", "file:///etc": "spec.intent.git.url", "http://git.example/x": "spec.intent.git.url", "ssh://git:pw@git.example/x": "spec.intent.git.url",
		"ssh://git@git.example/x": "git over ssh needs a secret",
	} {
		if err := b.r.Client.Create(t.Context(), made("refused", v1alpha1.GitSource{URL: at, Ref: "main"})); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
	f := made("pod1", v1alpha1.GitSource{URL: url, Ref: "main", Secret: &v1alpha1.LocalReference{Name: "git"}})
	b.create(f)
	b.operate(options())
	says := func(want string) {
		t.Helper()
		b.until(f, want, func() bool { return strings.Contains(condition(f, v1alpha1.IntentValid).Message, want) })
	}
	says(file + `:4:1: unknown key "clases"`)
	repo.put(file, in)
	second := repo.commit("second")
	b.change(f, func() { f.Spec.Intent.Git.Revision = first })
	says("main of " + url + " is at " + second + ", not at the revision " + first)
	b.change(f, func() { f.Spec.Intent.Git.Revision = second })
	b.until(f, "all devices", func() bool { return f.Status.Reachable == 2 && f.Status.Intent.Revision == second })
	b.change(f, func() { f.Spec.Intent.Git.Path = "pods/none.yaml" })
	says("has no pods/none.yaml at " + second)
	b.change(f, func() { f.Spec.Intent.Git.Secret = nil })
	says("failed to verify certificate")
	b.noSecret(gitSecret)
}
