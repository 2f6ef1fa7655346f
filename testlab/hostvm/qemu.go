package hostvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// ramMiB is the memory of a VM with an empty initrd.
const ramMiB = 320

// cmdline holds the kernel parameters: the console, an exit instead of a halt after a panic, and
// options that avoid unnecessary work on an emulated processor. On a busy machine the kernel
// measures the TSC rate incorrectly, and a clock based on it runs up to three times too fast.
const cmdline = "console=ttyS0 quiet panic=-1 oops=panic rdinit=/init " +
	"mitigations=off nokaslr random.trust_cpu=on tsc=unstable no_timer_check rcupdate.rcu_expedited=1"

// machine is a running emulator.
type machine struct {
	console, output, kept, status stream

	cancel context.CancelCauseFunc
	ctx    context.Context
	ended  chan error // receives when the emulator exits
	reads  errgroup.Group
	stderr head // of the emulator; read after it has exited
}

// start starts the emulator, which is killed when ctx ends.
func start(ctx context.Context, img *Image, initrd string, initrdSize int64, cable *End) (*machine, error) {
	program, err := find(emulator)
	if err != nil {
		return nil, err
	}
	m := &machine{
		console: stream{name: "console", limit: maxConsole},
		output:  stream{name: "output", limit: maxOutput},
		kept:    stream{name: "kept files", limit: maxKept},
		status:  stream{name: "status", limit: 64},
		ended:   make(chan error, 1),
	}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	// The archive and its unpacked content are in memory at the same time.
	ram := ramMiB + 2*int(initrdSize>>20)
	cmd := exec.CommandContext(m.ctx, program,
		"-machine", "pc", "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", fmt.Sprint(ram),
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none",
		"-kernel", img.Kernel, "-initrd", initrd, "-append", cmdline,
		"-device", "virtio-serial-pci")
	cmd.Stderr = &m.stderr
	cmd.Dir = "/"
	cmd.WaitDelay = 5 * time.Second

	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	for i, s := range m.streams() {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		s.r = r
		theirs = append(theirs, w)
		id := fmt.Sprintf("c%d", i)
		cmd.Args = append(cmd.Args,
			"-add-fd", fmt.Sprintf("fd=%d,set=%d", 3+i, 1+i),
			"-chardev", fmt.Sprintf("file,id=%s,append=on,path=/dev/fdset/%d", id, 1+i))
		if s == &m.console {
			cmd.Args = append(cmd.Args, "-serial", "chardev:"+id)
		} else {
			port, _, _ := strings.Cut(s.name, " ")
			cmd.Args = append(cmd.Args, "-device", "virtserialport,chardev="+id+",name="+port)
		}
	}
	cmd.ExtraFiles = theirs
	if cable != nil {
		cmd.Args = append(cmd.Args, cable.args(3+len(theirs))...)
		cmd.ExtraFiles = append(slices.Clone(theirs), cable.socket)
	}
	if err := m.run(cmd); err != nil {
		return nil, errors.Join(err, m.close())
	}
	for _, s := range m.streams() {
		m.reads.Go(func() error { return s.read(m.cancel) })
	}
	return m, nil
}

func (m *machine) streams() []*stream {
	return []*stream{&m.console, &m.output, &m.kept, &m.status}
}

// run starts the emulator in a goroutine that runs until the emulator exits.
func (m *machine) run(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		release := dieWithParent(cmd)
		defer release()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		m.ended <- cmd.Wait()
	}()
	return <-started
}

// wait waits until the emulator has exited and everything that it sent has been read.
func (m *machine) wait() error {
	end := <-m.ended
	read := m.reads.Wait()
	cause := context.Cause(m.ctx)
	if err := errors.Join(read, m.close()); err != nil {
		return err
	}
	if cause != nil {
		return fmt.Errorf("%w%s", cause, lastLine(m.console.bytes()))
	}
	if end != nil {
		return fmt.Errorf("%s: %w: %.500s", emulator, end, strings.TrimSpace(string(m.stderr)))
	}
	return nil
}

func (m *machine) close() error {
	m.cancel(nil)
	var all error
	for _, s := range m.streams() {
		if s.r != nil {
			all = errors.Join(all, s.r.Close())
		}
	}
	return all
}

// head keeps the beginning of what is written to it.
type head []byte

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), 4096-len(*h))]...)
	return len(p), nil
}
