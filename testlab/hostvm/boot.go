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

// DefaultTimeout limits a run from the start of the kernel to its end, on a machine that is busy
// with other tests.
const DefaultTimeout = 15 * time.Minute

// InMachine is an environment variable that is 1 inside the VM, so that a test binary knows where
// it runs.
const InMachine = "ROCE_FABRIC_HOSTVM"

// Limits for what a VM may send, in bytes.
const (
	maxOutput  = 16 << 20
	maxConsole = 4 << 20
	maxKept    = 64 << 20
)

// Errors of Boot; test with errors.Is. If the context ended, the error is context.Canceled or
// context.DeadlineExceeded.
var (
	// errStopped: the VM stopped before its script ended, because the kernel panicked, a module did
	// not load, or the script stopped it.
	errStopped = errors.New("the machine stopped before the script ended")
	// errTooMuch: the VM sent more than the limit, and was killed.
	errTooMuch = errors.New("too much output")
)

// Options say what a VM does.
type Options struct {
	// Files are copied into the VM: the keys are paths in the VM, the values files or directories
	// of this machine. They are copied with their modes, in order of the paths. Programs must be
	// static; see Programs for others.
	Files map[string]string
	// Tree holds files by content, such as the Kept of an earlier run, which makes this run a
	// reboot of the earlier VM. They are added after Files.
	Tree map[string]File
	// Programs are programs of this machine that are copied to /usr/bin together with their shared
	// libraries. The VM always has busybox, kmod, ethtool, and dcb, ip and rdma of iproute2.
	Programs []string
	// FakeDCB holds the parameters of the module fakedcb, such as "rules=bnxt ndev=4"; "" stands
	// for the defaults in fakedcb/main.c.
	FakeDCB string
	// Cable is one end of a cable to another VM; nil if there is none.
	Cable *End
	// Systemd boots the VM with Debian's systemd and udevd, which run the script as a service once
	// the existing devices have been announced to udev. Units and rules are read from /etc, so
	// Files and Tree may add some. See MissingSystemd.
	Systemd bool
	// Script is run by "sh -eu" (dash) as root, with empty standard input and [InMachine] in its
	// environment. The devices roce0 and roce1 exist and are down.
	Script string
	// Keep lists the files and directories of the VM that Result.Kept holds when the script has
	// ended, whatever its status. Missing ones are ignored.
	Keep []string
	// Timeout limits the run; 0 stands for DefaultTimeout. An earlier deadline of the context takes
	// precedence.
	Timeout time.Duration
}

// Result is the result of a run.
type Result struct {
	// Status is the exit status of the script, 0..255.
	Status int
	// Output is what the script wrote to standard output and standard error.
	Output []byte
	// Console is the output of the kernel and of the first process.
	Console []byte
	// Kept holds the files of Options.Keep by absolute path.
	Kept map[string]File
}

// Boot starts a VM, runs the script in it, and waits until the VM has stopped. The VM is killed
// when ctx ends and, on Linux, when this process exits. An error means that the script did not run
// to its end; the Result is never nil and holds what was received. A nonzero status of the script
// is not an error.
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

// writeInitrd writes what the kernel unpacks: the image's archive, and an archive with the files of
// this run. It returns the size in bytes.
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

// parseStatus parses the final message of the first process: "exit 3".
func parseStatus(b []byte) (int, error) {
	s, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "exit ")
	n, err := strconv.ParseUint(s, 10, 8)
	if !ok || err != nil {
		return 0, errStopped
	}
	return int(n), nil
}

// lastLine returns the last non-empty line, as a suffix for an error message.
func lastLine(console []byte) string {
	s := strings.TrimSpace(string(console))
	s = strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
	if s == "" {
		return ""
	}
	return fmt.Sprintf("; the console ends with %.200q", s)
}

// stream collects the data from a VM, up to a limit.
type stream struct {
	name  string
	limit int
	r     *os.File

	mu  sync.Mutex
	buf []byte
}

// read collects data until the other end is closed. It calls full at the first byte above the
// limit, and drops the rest.
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
