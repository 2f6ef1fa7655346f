package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/fragments"
)

func (a *app) nicFragmentsCommand() *cobra.Command {
	var of, dir string
	c := &cobra.Command{
		Use:  "fragments",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !slices.Contains(fragments.All, fragments.For(of)):
				return usageHint("name one with --for", "--for %q: use networkd, netplan or networkmanager", of)
			case dir == "":
				return usage("name a folder with --out")
			}
			return a.fragments(cmd.Context(), fragments.For(of), dir)
		},
	}
	a.intentFlags(c, onlyHosts)
	c.Flags().StringVar(&of, "for", "", "the hosts' network configuration: networkd|netplan|networkmanager")
	a.choices(c, "for", "networkd", "netplan", "networkmanager")
	c.Flags().StringVar(&dir, "out", "", "folder to write to; each host gets a folder in it")
	_ = c.MarkFlagDirname("out")
	return c
}

// fragments writes the configuration fragments of an intent's hosts.
func (a *app) fragments(ctx context.Context, of fragments.For, dir string) error {
	f, err := a.load(ctx, fleet.TakeHosts)
	if err != nil {
		return err
	}
	hosts, files := 0, 0
	for _, h := range f.Hosts {
		desired, _ := nic.Desired(f.Fabric(), h)
		l, err := fragments.Render(desired, of)
		if err != nil {
			return fleet.NewError(h.Name, fleet.OpPlan, err)
		}
		for _, file := range l {
			if err := atomicfile.WriteBelow(dir, filepath.Join(h.Name, filepath.FromSlash(file.Path)), file.Content, file.Mode); err != nil {
				return err
			}
		}
		if files += len(l); len(l) > 0 {
			hosts++
		}
	}
	a.Talk("wrote %s for %s to %s", words.Count(files, "file"), words.Count(hosts, "host"), dir)
	return nil
}
