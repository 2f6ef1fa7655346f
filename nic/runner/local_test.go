//go:build unix

package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// programs creates a directory with shell scripts.
func programs(t *testing.T, scripts map[string]string) Local {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return Local{Path: dir + ":" + defaultPath}
}

func TestLocal(t *testing.T) {
	l := programs(t, map[string]string{
		"say":   `printf '%s|' "$@"; echo oops >&2; exit 3`,
		"env":   `exec /usr/bin/env`,
		"input": `cat; echo end`,
		"dies":  `kill -KILL $$`,
	})
	t.Setenv("SECRET_TOKEN", "hunter2")
	ctx := t.Context()

	res, err := l.Run(ctx, "say", "a b", "$HOME", "-x")
	if err != nil || res.Code != 3 || string(res.Stdout) != "a b|$HOME|-x|" || string(res.Stderr) != "oops\n" {
		t.Errorf("say: %d %q %q %v", res.Code, res.Stdout, res.Stderr, err)
	}
	res, err = l.Run(ctx, "env")
	if err != nil || !strings.Contains(string(res.Stdout), "LC_ALL=C\n") || strings.Contains(string(res.Stdout), "hunter2") {
		t.Errorf("the environment of a program is %q, %v", res.Stdout, err)
	}
	if res, err = l.Run(ctx, "input"); err != nil || string(res.Stdout) != "end\n" {
		t.Errorf("a program that reads its input: %q, %v", res.Stdout, err)
	}
	if _, err = l.Run(ctx, "dies"); err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a killed program: %v", err)
	}
}

func TestLocalFind(t *testing.T) {
	l := programs(t, map[string]string{"here": "echo here"})
	dir := filepath.SplitList(l.Path)[0]
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if res, err := l.Run(t.Context(), filepath.Join(dir, "here")); err != nil || string(res.Stdout) != "here\n" {
		t.Errorf("by path: %q, %v", res.Stdout, err)
	}
	for _, name := range []string{"nowhere", "plain", "", "./here", "../" + filepath.Base(dir) + "/here", filepath.Join(dir, "nowhere"), dir} {
		if _, err := l.Run(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", name, err)
		}
	}
	if _, err := (Local{}).Run(t.Context(), "here"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a program in the caller's PATH alone: %v, want ErrNotFound", err)
	}
}

func TestLocalOutputIsBounded(t *testing.T) {
	l := programs(t, map[string]string{"loud": "echo first; while :; do echo more; done", "louder": "while :; do echo more >&2; done"})
	l.Limit = 64
	for _, name := range []string{"loud", "louder"} {
		res, err := l.Run(t.Context(), name)
		if !errors.Is(err, ErrOutput) || len(res.Stdout)+len(res.Stderr) != 64 {
			t.Errorf("%s: %d bytes, %v", name, len(res.Stdout)+len(res.Stderr), err)
		}
	}
}

// TestLocalEnds interrupts a program with a child that ignores SIGTERM: both are gone afterwards,
// and the output is not lost.
func TestLocalEnds(t *testing.T) {
	dir := t.TempDir()
	held := filepath.Join(dir, "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	l := programs(t, map[string]string{"slow": `exec 3>` + held + `; (trap "" TERM; exec sleep 1000) & echo started; echo x >&3; exec sleep 1000`})
	l.grace = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		f, err := os.Open(held)
		if err != nil {
			gone <- err
			return
		}
		defer f.Close()
		if _, err = f.Read(make([]byte, 2)); err == nil {
			cancel()
			_, err = io.ReadAll(f) // ends when the last process closes the other end
		}
		gone <- err
	}()
	res, err := l.Run(ctx, "slow")
	if !errors.Is(err, context.Canceled) || string(res.Stdout) != "started\n" {
		t.Errorf("cancelled: %q, %v", res.Stdout, err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("a child of the program is still there")
	}

	l.Timeout = 20 * time.Millisecond
	if _, err := programsWith(l, t, "hang", "sleep 1000").Run(t.Context(), "hang"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a deadline of the caller: %v", err)
	}
	done, cancelled := context.WithCancel(t.Context())
	cancelled()
	mark := filepath.Join(dir, "mark")
	if _, err := programsWith(l, t, "touch", "echo > "+mark).Run(done, "touch"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program was started after the end of its context")
	}
}

func programsWith(l Local, t *testing.T, name, body string) Local {
	l.Path = programs(t, map[string]string{name: body}).Path
	return l
}
