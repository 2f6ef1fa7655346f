// Command roce-fabric plans, applies and proves lossless RoCE fabrics from one
// intent file.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version = "devel"

func main() { os.Exit(realMain()) }

// patience is how many signals it takes to end at once. The first ends the run
// cleanly, which may mean to take a device back; a nervous second must not
// leave that device in between.
const patience = 3

func realMain() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, patience)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		for n := 1; ; n++ {
			<-signals
			cancel()
			if n == patience {
				os.Exit(exitInterrupted)
			}
		}
	}()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	return a.run(ctx, os.Args[1:])
}
