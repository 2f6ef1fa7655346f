package main

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/watch/keep"
)

// policyFlag is the value of --policy.
type policyFlag struct{ keep.Policy }

func (f *policyFlag) String() string { return string(f.Policy) }
func (f *policyFlag) Type() string   { return "policy" }
func (f *policyFlag) Set(s string) error {
	if !slices.Contains(keep.Policies, keep.Policy(s)) {
		return errors.New("must be report or repair")
	}
	f.Policy = keep.Policy(s)
	return nil
}

// nicAgentCommand returns the command of the daemon that keeps this machine in its wanted state.
func (a *app) nicAgentCommand() *cobra.Command {
	var cfg keep.Config
	var file, host, listen string
	policy, allow := policyFlag{keep.Report}, impactFlag{qos.ImpactCounters}
	c := &cobra.Command{
		Use:  "agent",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Policy, cfg.Allow, cfg.CutOff = policy.Policy, allow.Impact, a.nic.cutOff
			return onThisMachine(func(m *local.Machine) error {
				cfg.Machine, cfg.Source = m, keep.HostFile{Roots: m.Roots}
				if file != "" {
					cfg.Source = keep.Intent{Path: file, Host: host, Roots: m.Roots, Warn: func(text string) { a.Warn("%s", text) }}
				} else if host != "" {
					return usageHint("name the intent with -f", "--host needs an intent")
				}
				a.waited = true
				return keep.Run(cmd.Context(), &a.Console, cfg, keep.Options{Version: version, Listen: listen, Reload: onHangup()})
			})
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "file", "f", "", "the intent, a file or a folder (default: the settings of the boot unit)")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	f.StringVar(&host, "host", "", "the name of this machine in the intent (default: its host name)")
	a.completeHost(c)
	f.Var(&policy, "policy", "what to do about a difference: report|repair")
	a.choices(c, "policy", "report", "repair")
	f.Var(&allow, "allow", "the largest impact of a repair: none|counters|port-flap|traffic-loss")
	a.choices(c, "allow", "none", "counters", "port-flap", "traffic-loss")
	a.cutOffFlag(c)
	f.DurationVar(&cfg.Interval, "interval", time.Minute, "time between checks of the host: 10s to 24h")
	f.IntVar(&cfg.Rounds, "rounds", 0, "stop after this many checks (default: never)")
	f.StringVar(&listen, "listen", "", "serve metrics and health at this address: 127.0.0.1:9601 (default: off)")
	a.outputFlag(c, "text", "json")
	return c
}

// onHangup makes SIGHUP request a reload instead of ending the program.
func onHangup() <-chan struct{} {
	signals, out := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Reset(syscall.SIGHUP)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out
}
