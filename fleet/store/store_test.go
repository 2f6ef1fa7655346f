package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/fleet/store/storetest"
)

func TestMain(m *testing.M) {
	code := storetest.Main(m, store.Open)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

func TestOwner(t *testing.T) {
	t.Setenv("SUDO_USER", "ann")
	o := store.Self("run1", "/f.yaml")
	if o.User != "ann" || o.Process != os.Getpid() || o.Host == "" || time.Since(o.Since) > time.Minute || o.Since.Location() != time.UTC {
		t.Errorf("%+v", o)
	}
	o.Host, o.Process, o.Since = "h1", 7, time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	if got := o.String(); got != "run run1, process 7 of ann on h1, since 2026-01-02T03:04:05Z, with /f.yaml" {
		t.Error(got)
	}
	if got := (store.Owner{}).String(); got != "an unknown process" {
		t.Error(got)
	}
}

func TestParseEtcd(t *testing.T) {
	t.Setenv("ETCD_PASSWORD", "pa55")
	c, err := store.ParseEtcd(t.Context(), "etcd://a:1,b,[::1]:3,[::2]/team/x?ca=c.pem&cert=d.pem&key=e.pem&user=ann&password=env:ETCD_PASSWORD&ttl=15s")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.String(); got != "etcd://a:1,b:2379,[::1]:3,[::2]:2379" {
		t.Error(got)
	}
	if c.Prefix != "/team/x" || c.CA != "c.pem" || c.Cert != "d.pem" || c.Key != "e.pem" || c.User != "ann" || c.Password.Reveal() != "pa55" || c.TTL != 15*time.Second || c.Plain {
		t.Errorf("%+v", c)
	}
	if c, err := store.ParseEtcd(t.Context(), "etcd://a?tls=off"); err != nil || c.Prefix != "/roce-fabric" || c.TTL != 30*time.Second || !c.Plain {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"http://a":                      "begins with etcd://",
		"etcd://":                       "lacks a host",
		"etcd://:2379":                  "lacks a host",
		"etcd://a,,b":                   "lacks a host",
		"etcd://ann:pa55@a":             "no user or password before its hosts",
		"etcd://a?x=pa55":               "known keys are ca, ",
		"etcd://a?pa55;":                "query that cannot be read",
		"etcd://a?user=a&user=b":        "more than once",
		"etcd://a?password=pa55":        "not a secret reference",
		"etcd://a?password=env:MISSING": "MISSING",
		"etcd://a?tls=pa55":             "tls can only be off",
		"etcd://a?ttl=pa55":             "from 2s to 1h",
		"etcd://a?ttl=1s":               "from 2s to 1h",
	} {
		if _, err := store.ParseEtcd(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pa55") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"etcd://a?ca=/none":                     "/none",
		"etcd://a?ca=/dev/null":                 "has no certificate",
		"etcd://a?cert=/none":                   "load the certificate",
		"etcd://a?ca=x&tls=off":                 "certificates and tls=off",
		"etcd://127.0.0.1:1?tls=off&ttl=borked": "ttl",
	} {
		if _, err := store.Open(t.Context(), text, "pod1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := store.Open(t.Context(), "etcd://a?tls=off", ""); err == nil {
		t.Error("a store without a fabric")
	}
}

// Errors never repeat text that may be a password. The name in a secret reference is not a
// password.
func FuzzParseEtcd(f *testing.F) {
	for _, s := range []string{"etcd://a:1,[::1]/p?ca=x&ttl=3s", "etcd://u:%s@a", "etcd://a?password=%s", "etcd://%%/?;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const password = "pa55word"
		c, err := store.ParseEtcd(t.Context(), strings.ReplaceAll(text, "%s", password))
		reference := strings.Contains(text, "env") || strings.Contains(text, "file") || strings.Contains(text, "keyring")
		if err != nil && !reference && strings.Contains(err.Error(), password) {
			t.Error(err)
		}
		if err == nil && (len(c.Endpoints) == 0 || c.TTL <= 0 || c.Prefix == "") {
			t.Errorf("%q is %+v", text, c)
		}
	})
}

// Parts of a record may be missing, or left by another attempt.
func TestAssemble(t *testing.T) {
	const r0, r1 = "0000000000.00000.00001", "0000000001.00000.00001"
	for _, c := range []struct {
		from  int64
		parts []string
		want  string
	}{
		{0, nil, ""},
		{0, []string{r0, "1", r1, "2"}, "0 1|1 2"},
		{1, []string{r1, "2"}, "1 2"},
		{0, []string{"0000000000.00000.00002", "[1", "0000000000.00001.00002", ",2]", r1, "2"}, "0 [1,2]|1 2"},
		{0, []string{"0000000000.00000.00002", "[1", r1, "2"}, "here: record 0 is missing or incomplete|1 2"},
		{0, []string{"0000000000.00000.00002", "[1", "0000000000.00001.00002", ",2]", "0000000000.00001.00003", "late"}, "0 [1,2]"},
		{0, []string{"0000000000.00001.00002", "[1", r1, "2"}, "here: record 0 is missing or incomplete|1 2"},
		{0, []string{r0, "1", "0000000001.00000.00002", "[1"}, "0 1|here: record 1 is cut off"},
		{0, []string{r1, "2"}, "here: record 0 is missing or incomplete|1 2"},
		{0, []string{r0, "x", r1, "2"}, "here: record 0 is not a journal record: one line of JSON is expected|1 2"},
		{0, []string{r0, "1", "x", "y", "a.b.c", "z", r1, "2"}, `here: "x" is not a key of a record|here: "a.b.c" is not a key of a record|0 1|1 2`},
	} {
		if got := strings.Join(store.Assemble(c.from, c.parts...), "|"); got != c.want {
			t.Errorf("%q: %s, want %s", c.parts, got, c.want)
		}
	}
}
