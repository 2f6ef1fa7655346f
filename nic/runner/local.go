package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Defaults of Local.
const (
	defaultPath    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	defaultLimit   = 8 << 20
	defaultTimeout = 2 * time.Minute
)

// grace is how long a program may take to exit after it was asked to. The firmware tools delay a
// signal while they hold a lock of the card (Mellanox/mstflint
// mlxconfig/mlxcfg_generic_commander.cpp), so they are asked before they are killed.
const grace = 5 * time.Second

// Local runs programs on this machine. The zero value is ready to use.
type Local struct {
	// Path is the list of directories to search; "" stands for defaultPath. The caller's PATH is
	// not used, because the tool often runs as root.
	Path string
	// Limit is the maximum size of stdout and stderr, in bytes each; 0 stands for defaultLimit.
	Limit int
	// Timeout limits a run without a deadline; 0 stands for defaultTimeout.
	Timeout time.Duration

	grace time.Duration // 0 stands for the constant
}

var _ Runner = Local{}

// Run implements Runner.
func (l Local) Run(ctx context.Context, name string, args ...string) (Result, error) {
	path, err := l.find(name)
	if err != nil {
		return Result{}, err
	}
	var cancel context.CancelFunc
	if _, has := ctx.Deadline(); has {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(l.Timeout, defaultTimeout))
	}
	defer cancel()
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%s: %w", name, err)
	}

	limit := cmp.Or(l.Limit, defaultLimit)
	stdout, stderr := &capped{limit: limit, full: cancel}, &capped{limit: limit, full: cancel}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + cmp.Or(l.Path, defaultPath), "LC_ALL=C"}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = cmp.Or(l.grace, grace)
	end := ownGroup(cmd)
	err = cmd.Run()
	if err != nil {
		end()
	}
	res := Result{Stdout: stdout.bytes(), Stderr: stderr.bytes()}
	if stdout.over() || stderr.over() {
		return res, fmt.Errorf("%s: %w: more than %d bytes", name, ErrOutput, limit)
	}
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return res, fmt.Errorf("%s: %w", name, ctx.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		res.Code = exit.ExitCode()
		return res, nil
	}
	return res, fmt.Errorf("%s: %w", name, err)
}

// find returns the path of a program. It does not use exec.LookPath, which searches the caller's
// PATH.
func (l Local) find(name string) (string, error) {
	if filepath.IsAbs(name) {
		if runnable(name) {
			return name, nil
		}
		return "", fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	if name == "" || filepath.Base(name) != name {
		return "", fmt.Errorf("%q: %w: neither a name nor an absolute path", name, ErrNotFound)
	}
	for _, dir := range filepath.SplitList(cmp.Or(l.Path, defaultPath)) {
		if p := filepath.Join(dir, name); filepath.IsAbs(p) && runnable(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrNotFound)
}

func runnable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && (st.Mode()&0o111 != 0 || filepath.Ext(path) == ".exe")
}

// capped stores up to limit bytes of a program's output, and calls full if there is more.
type capped struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	limit int
	full  func()
	spilt bool
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := c.limit - c.buf.Len(); len(p) > room {
		c.buf.Write(p[:room])
		c.spilt = true
		c.full()
		return room, io.ErrShortWrite
	}
	return c.buf.Write(p)
}

func (c *capped) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.buf.Bytes())
}

func (c *capped) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spilt
}
