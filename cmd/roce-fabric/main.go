// Command roce-fabric plans, applies and proves lossless RoCE fabrics from one
// intent file.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // maintenance windows name time zones, and a small machine knows none

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/report"
)

// version is that of the module, as go build stamps it in a clone and go install knows it:
// a tag, or a pseudo-version with the commit.
var version = stamped()

func stamped() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func main() { os.Exit(realMain()) }

// patience is how many of SIGINT and SIGTERM it takes to end at once. The first
// ends the run cleanly, which may mean to revert a device; a nervous second must
// not leave that device in between. SIGHUP is not counted: one closed terminal
// sends several, from the shell and from the kernel.
const patience = 3

func realMain() int {
	limitMemory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2*patience)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1) has it ignored
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

// limitMemory has garbage collected harder before the memory of the container or the
// machine is used up, unless GOMEMLIMIT says when. Where neither tells how much it has,
// there is no limit, as without this.
func limitMemory() {
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
}

// outliveOutput lets the program go on where nobody reads its standard output or
// standard error any more: writes to them fail and do not end it. Commands that
// write to devices call it before they begin, so that a lost connection or a dead
// pager leaves no device in between; for the others, whose result nobody reads,
// SIGPIPE is the end. Programs that are started are as before: the signal is
// caught and not ignored.
func outliveOutput() { signal.Notify(brokenPipes, syscall.SIGPIPE) }

var brokenPipes = make(chan os.Signal, 1)
