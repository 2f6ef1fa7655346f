package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gopkg.in/yaml.v3"
)

const plain = "hunter2-correct-horse"

func TestNeverPrinted(t *testing.T) {
	type holder struct {
		Name string
		P    Secret
		Q    *Secret
		L    []Secret
		M    map[string]Secret
	}
	s := Secret(plain)
	h := holder{"n", s, &s, []Secret{s}, map[string]Secret{"k": s}}
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%10.3s"} {
		out["secret "+verb] = fmt.Sprintf(verb, s)
		out["pointer "+verb] = fmt.Sprintf(verb, &s)
		out["struct "+verb] = fmt.Sprintf(verb, h)
	}
	out["Sprint"] = fmt.Sprint(s, h)
	out["error"] = fmt.Errorf("wrapped %w %v", errors.New("x"), s).Error()
	j, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out["json"] = string(j)
	y, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out["yaml"] = string(y)
	var buf bytes.Buffer
	slog.New(slog.NewTextHandler(&buf, nil)).Info("m", "s", s, "h", h)
	slog.New(slog.NewJSONHandler(&buf, nil)).Info("m", "s", s, "h", h)
	out["slog"] = buf.String()
	for how, text := range out {
		low := strings.ToLower(text)
		if strings.Contains(low, plain) || strings.Contains(low, fmt.Sprintf("%x", plain)) || strings.Contains(low, fmt.Sprintf("% x", plain)) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
		if strings.HasPrefix(how, "secret ") && text != Redacted {
			t.Errorf("%s = %q", how, text)
		}
	}
	if s.Reveal() != plain {
		t.Errorf("Reveal = %q", s.Reveal())
	}
}

func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestResolve(t *testing.T) {
	t.Setenv("SECRET_SET", plain)
	t.Setenv("SECRET_EMPTY", "")
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, "pw"), []byte("at-home\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, "open", "x", 0o644), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ref string
		want      string
		err       error
	}{
		{"env", "env:SECRET_SET", plain, nil},
		{"env unset", "env:SECRET_NOT_SET_AT_ALL", "", errMissing},
		{"env empty", "env:SECRET_EMPTY", "", errMissing},
		{"env bad name", "env:" + plain, "", errReference},
		{"file 0600", "file:" + write(t, "a", " spaced \n", 0o600), " spaced ", nil},
		{"file 0400, no newline", "file:" + write(t, "a", "x", 0o400), "x", nil},
		{"file crlf", "file:" + write(t, "a", "x\r\n", 0o600), "x", nil},
		{"file one newline only", "file:" + write(t, "a", "x\n\n", 0o600), "x\n", nil},
		{"file group", "file:" + write(t, "a", "x", 0o640), "", errPermissions},
		{"file world", "file:" + write(t, "a", "x", 0o604), "", errPermissions},
		{"file link to open", "file:" + link, "", errPermissions},
		{"file empty", "file:" + write(t, "a", "\n", 0o600), "", errMissing},
		{"file absent", "file:" + filepath.Join(home, "absent"), "", errMissing},
		{"file at the limit", "file:" + write(t, "a", strings.Repeat("x", maxFileBytes), 0o600), strings.Repeat("x", maxFileBytes), nil},
		{"file too large", "file:" + write(t, "a", strings.Repeat("x", maxFileBytes+1), 0o600), "", errReference},
		{"directory", "file:" + home, "", errReference},
		{"fifo does not hang", "file:" + fifo, "", errReference},
		{"home", "file:~/pw", "at-home", nil},
		{"keyring no user", "keyring:svc/", "", errReference},
		{"plain", plain, "", errReference},
		{"plain with colon", plain + ":" + plain, "", errReference},
		{"empty", "", "", errReference},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Resolve(t.Context(), c.ref)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if got.Reveal() != c.want {
				t.Errorf("got %q, want %q", got.Reveal(), c.want)
			}
			if err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), plain) {
				t.Errorf("error shows the text: %v", err)
			}
			if _, bad := parse(c.ref); (bad != nil) != (errors.Is(c.err, errReference) && !strings.HasPrefix(c.ref, "file:")) {
				t.Errorf("parse: %v", bad)
			}
		})
	}
}

func TestUsername(t *testing.T) {
	t.Setenv("U", "admin")
	for _, c := range []struct{ ref, want string }{
		{"env:U", "admin"},
		{"operator", "operator"},
		{"DOMAIN:user", "DOMAIN:user"},
	} {
		got, err := Username(t.Context(), c.ref)
		if err != nil || got != c.want {
			t.Errorf("Username(%q) = %q, %v", c.ref, got, err)
		}
	}
	for _, ref := range []string{"", "env:UNSET_U", "file:"} {
		if got, err := Username(t.Context(), ref); err == nil || got != "" {
			t.Errorf("Username(%q) = %q, %v", ref, got, err)
		}
	}
}
