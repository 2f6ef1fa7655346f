package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/kubernetes/node"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch/keep"
)

// ownNode is the environment variable with the name of the Pod's Node.
const ownNode = "NODE_NAME"

// attend keeps the NICs of the machine in their wanted state, like 'roce-fabric nic agent', and
// reports their state on the machine's Node.
func attend(ctx context.Context, args []string) (err error) {
	var cfg keep.Config
	var log zap.Options
	var name, file, host, policy, listen string
	var taint bool
	f := flag.NewFlagSet("roce-fabric-operator node", flag.ContinueOnError)
	f.Usage = usageOf(f, "Keep the NICs of this machine as 'roce-fabric nic agent' does, and say on its Node whether\nthey are as wanted: the condition RoCEReady, labels of rails, and a taint.")
	f.StringVar(&name, "node", os.Getenv(ownNode), "the `name` of the Node (default: $"+ownNode+")")
	f.StringVar(&file, "file", "", "the intent, a `file` or a folder (default: the settings of the boot unit)")
	f.StringVar(&host, "host", "", "the `name` of this machine in the intent (default: that of the Node)")
	f.StringVar(&policy, "policy", string(keep.Report), "what to do about a difference: report or repair")
	f.TextVar(&cfg.Allow, "allow", qos.ImpactCounters, "the largest `impact` of a repair: none, counters, port-flap or traffic-loss")
	f.DurationVar(&cfg.Interval, "interval", time.Minute, "time between checks of the host: 10s to 24h")
	f.StringVar(&listen, "listen", "", "serve metrics and health at this `address`: 127.0.0.1:9601 (default: off)")
	f.BoolVar(&taint, "taint", false, "taint the Node with "+node.Taint+":NoSchedule while RoCEReady is False")
	config.RegisterFlags(f)
	log.BindFlags(f)
	if err := parseFlags(f, args); err != nil {
		return err
	}
	cfg.Policy = keep.Policy(policy)
	switch {
	case name == "":
		return wrong("the Node is not known: name it with --node, or in $%s", ownNode)
	case !slices.Contains(keep.Policies, cfg.Policy):
		return wrong("--policy %s: use report or repair", policy)
	case file == "" && host != "":
		return wrong("--host names a host of an intent: it needs --file")
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&log)))
	c, err := nodeClient()
	if err != nil {
		return err
	}
	m, err := local.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r := node.Reporter{Client: c, Node: name, Taint: taint, Log: ctrl.Log}
	cfg.Machine, cfg.Source = m, keep.HostFile{Roots: m.Roots}
	if file != "" {
		in := &node.Intent{Intent: keep.Intent{Path: file, Host: host, Roots: m.Roots, Warn: func(text string) { ctrl.Log.Info(text) }}}
		if host == "" {
			in.Host = name
		}
		cfg.Source, r.Rails = in, in.Rails
	}
	reporter := node.New(r)
	cfg.Looked = reporter.Looked
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() { reporter.Run(ctx) })
	out := &report.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Output: "json"}
	err = keep.Run(ctx, out, cfg, keep.Options{Version: version, Listen: listen})
	cancel()
	work.Wait()
	return err
}

// nodeClient returns a client that can write Nodes and caches none.
func nodeClient() (client.Client, error) {
	cfg, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	cfg.UserAgent = "roce-fabric-operator-node/" + version
	known := runtime.NewScheme()
	if err := corev1.AddToScheme(known); err != nil {
		return nil, err
	}
	return client.New(cfg, client.Options{Scheme: known})
}
