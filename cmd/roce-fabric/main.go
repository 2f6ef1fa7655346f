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

func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	return a.run(ctx, os.Args[1:])
}
