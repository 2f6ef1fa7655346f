// Command roce-fabric plans, applies and validates lossless RoCE fabrics from one intent file.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // maintenance windows name time zones, and minimal systems have no zone database

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/report"
)

// version is the module version recorded by go build in a clone or by go install: a tag, or a
// pseudo-version with the commit.
var version = stamped()

func stamped() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func main() { os.Exit(realMain()) }

// patience is the number of SIGINT and SIGTERM signals that end the program at once. The first
// one ends the run cleanly, which may include reverting a device; an impatient second one must
// not leave that device half changed. SIGHUP is not counted, because a closed terminal causes
// several, from the shell and the kernel.
const patience = 3

func realMain() int {
	limitMemory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2*patience)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1) ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		for n := 0; n < patience; {
			if <-signals != syscall.SIGHUP {
				n++
			}
			outliveOutput()
			cancel()
		}
		os.Exit(exitInterrupted)
	}()
	var screen term.Screen
	a := &app{Console: report.Console{In: os.Stdin, Out: screen.Above(os.Stdout), Err: screen.Above(os.Stderr), Getenv: os.Getenv}}
	return a.run(ctx, os.Args[1:])
}

// limitMemory makes the garbage collector work harder before the memory of the container or the
// machine is used up, unless GOMEMLIMIT is set. If the amount of memory is unknown, there is no
// limit.
func limitMemory() {
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
}

// outliveOutput makes the program survive when its standard output or standard error is closed:
// writes then fail instead of ending it. Commands that write to devices call it first, so that a
// lost connection or a dead pager does not leave a device half changed. Other commands still end
// with SIGPIPE. Child processes are unaffected, because the signal is caught and not ignored.
func outliveOutput() { signal.Notify(brokenPipes, syscall.SIGPIPE) }

var brokenPipes = make(chan os.Signal, 1)
