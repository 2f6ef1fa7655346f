package dcb

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The names of errors match those in the kernel's headers.
func TestErrnoNames(t *testing.T) {
	for e, name := range errnoNames {
		want := unix.ErrnoName(syscall.Errno(e))
		if e == eOPNOTSUPP {
			want = "EOPNOTSUPP" // the kernel's name; POSIX calls it ENOTSUP
		}
		if name != want {
			t.Errorf("%d is %s, not %s", int(e), want, name)
		}
	}
	for e, want := range map[Errno]string{eINVAL: "EINVAL", 200: "errno 200"} {
		if got := e.String(); got != want {
			t.Errorf("%d is %q, want %q", int(e), got, want)
		}
	}
}

func TestDCBXNames(t *testing.T) {
	for d, want := range map[DCBX]string{
		0: "none", DCBXHost: "host", DCBXManaged: "lld-managed", DCBXHost | DCBXIEEE: "host,ieee", DCBXCEE | DCBXStatic: "cee,static",
		DCBXHost | 0x40: "host,0x40", 0x80: "0x80",
	} {
		if got := d.String(); got != want {
			t.Errorf("%#x is %q, want %q", uint8(d), got, want)
		}
	}
}
