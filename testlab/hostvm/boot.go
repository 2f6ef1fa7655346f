package hostvm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultTimeout bounds a run from the start of the kernel to its end, on a machine
// that is busy with other tests.
const DefaultTimeout = 15 * time.Minute

// InMachine is an environment variable that is 1 in a machine, so that a test
// binary knows where it runs.
const InMachine = "ROCE_FABRIC_HOSTVM"

// The bounds of what a machine may send, in bytes.
const (
	maxOutput  = 16 << 20
	maxConsole = 4 << 20
	maxKept    = 64 << 20
)

// The errors of Boot; test with errors.Is. The end of a context is the third:
// context.Canceled or context.DeadlineExceeded.
var (
	// errStopped: the machine stopped before its script ended, because the
	// kernel panicked, a module did not load, or the script stopped it.
	errStopped = errors.New("the machine stopped before the script ended")
	// errTooMuch: the machine sent more than it may, and was killed.
	errTooMuch = errors.New("too much output")
)

// Options say what a machine does.
type Options struct {
	// Files are put into the machine: paths in it, and the files or folders of
	// this machine that are copied there, with their modes, in the order of
	// the paths. A program must be static; see Programs for others.
	Files map[string]string
	// Tree are files by content, such as the Kept of an earlier run: that
	// makes this run a reboot of that machine. They come after Files.
	Tree map[string]File
	// Programs are programs of this machine that are copied into /usr/bin with
	// their shared libraries. In the machine are busybox, kmod, ethtool, and
	// dcb, ip and rdma of iproute2.
	Programs []string
	// FakeDCB are the parameters of the module fakedcb, "" for those in
	// fakedcb/main.c: "rules=bnxt ndev=4".
	FakeDCB string
	// Cable is the end of a cable to another machine; nil is none.
	Cable *End
	// Systemd has the machine start with Debian's systemd and udevd, which runs
	// the script as a service once the devices that are there are announced to
	// udev. Units and rules of the machine are read from /etc, so that Files and
	// Tree may bring some. See MissingSystemd.
	Systemd bool
	// Script is run by "sh -eu" (dash) as root, with nothing on standard
	// input and [InMachine] in its environment. The devices roce0 and roce1 are
	// there and down.
	Script string
	// Keep are the files and folders of the machine that Result.Kept has when
	// the script has ended, whatever its status; what is not there is passed
	// over.
	Keep []string
	// Timeout bounds the run; 0 is DefaultTimeout. An earlier deadline of the
	// context holds.
	Timeout time.Duration
}

// Result is what a machine left behind.
type Result struct {
	// Status is the exit status of the script, 0..255.
	Status int
	// Output is what the script wrote to standard output and standard error.
	Output []byte
	// Console is what the kernel wrote, and the first process.
	Console []byte
	// Kept are the files of Options.Keep by absolute path.
	Kept map[string]File
}

// Boot starts a machine, runs the script in it, and waits until the machine
// has ended. It is killed when ctx ends, and on Linux when this process does.
// An error says that the script did not run to its end; the Result holds what
// there is and is never nil. A status that is not 0 is no error.
//
// Each run needs about half a gigabyte of memory and one core.
func Boot(ctx context.Context, img *Image, o Options) (*Result, error) {
	res := &Result{}
	if err := boot(ctx, img, o, res); err != nil {
		return res, fmt.Errorf("host VM: %w", err)
	}
	return res, nil
}

func boot(ctx context.Context, img *Image, o Options, res *Result) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, DefaultTimeout))
	defer cancel()
	tmp, err := os.MkdirTemp("", "hostvm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	initrd := filepath.Join(tmp, "initrd")
	size, err := writeInitrd(ctx, img, o, initrd)
	if err != nil {
		return err
	}
	m, err := start(ctx, img, initrd, size, o.Cable)
	if err != nil {
		return err
	}
	err = m.wait()
	res.Output, res.Console = m.output.bytes(), m.console.bytes()
	if err != nil {
		return err
	}
	status, err := parseStatus(m.status.bytes())
	if err != nil {
		return fmt.Errorf("%w%s", err, lastLine(res.Console))
	}
	res.Status = status
	res.Kept, err = parseKept(m.kept.bytes())
	return err
}

// writeInitrd writes what the kernel unpacks: the image's archive and one with
// the files of this run. It returns the size in bytes.
func writeInitrd(ctx context.Context, img *Image, o Options, name string) (int64, error) {
	t := tree{}
	if o.Systemd {
		if lack := MissingSystemd(); lack != "" {
			return 0, errors.New(lack)
		}
		if err := t.putSystemd(ctx); err != nil {
			return 0, err
		}
	}
	for _, to := range slices.Sorted(maps.Keys(o.Files)) {
		if err := t.putHost(to, o.Files[to]); err != nil {
			return 0, err
		}
	}
	for _, to := range slices.Sorted(maps.Keys(o.Tree)) {
		n, err := o.Tree[to].node()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", to, err)
		}
		t.put(to, n)
	}
	for _, p := range o.Programs {
		if err := t.putProgram(ctx, p); err != nil {
			return 0, err
		}
	}
	var keep strings.Builder
	for _, k := range o.Keep {
		if strings.ContainsRune(k, '\n') {
			return 0, fmt.Errorf("keep %q: a path of one line is needed", k)
		}
		fmt.Fprintln(&keep, path.Clean("/" + k)[1:])
	}
	t.put("/etc/hostvm/keep", node{mode: 0o644, data: []byte(keep.String())})
	t.put("/etc/hostvm/script", node{mode: 0o644, data: []byte(o.Script)})
	if o.FakeDCB != "" {
		t.put("/etc/modprobe.d/fakedcb.conf", node{mode: 0o644, data: []byte("options fakedcb " + o.FakeDCB + "\n")})
	}

	if err := copyFile(img.Initrd, name); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 0, err
	}
	err = t.archive(f)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// parseStatus reads what the first process says at the end: "exit 3".
func parseStatus(b []byte) (int, error) {
	s, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "exit ")
	n, err := strconv.ParseUint(s, 10, 8)
	if !ok || err != nil {
		return 0, errStopped
	}
	return int(n), nil
}

// lastLine returns the last line that is not empty, as the end of a message.
func lastLine(console []byte) string {
	s := strings.TrimSpace(string(console))
	s = strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
	if s == "" {
		return ""
	}
	return fmt.Sprintf("; the console ends with %.200q", s)
}

// stream collects what comes from a machine, up to a limit.
type stream struct {
	name  string
	limit int
	r     *os.File

	mu  sync.Mutex
	buf []byte
}

// read collects until the other end is closed; full is called at the first
// byte above the limit, and what follows is dropped.
func (s *stream) read(full func(error)) error {
	chunk := make([]byte, 64<<10)
	for {
		n, err := s.r.Read(chunk)
		s.mu.Lock()
		room := s.limit - len(s.buf)
		s.buf = append(s.buf, chunk[:min(n, room)]...)
		s.mu.Unlock()
		if n > room {
			full(fmt.Errorf("%w: %s has more than %d bytes", errTooMuch, s.name, s.limit))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
}

func (s *stream) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf
}
