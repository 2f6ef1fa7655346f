package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/testlab/containerlab"
)

func (a *app) labContainerlabCommand() *cobra.Command {
	var out string
	var images []string
	var force bool
	c := &cobra.Command{
		Use:  "containerlab",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" || out == "-" {
				return usageHint("such as --out clab.yml", "--out must name the topology file; the lab's other files go into the same folder")
			}
			return a.labContainerlab(cmd.Context(), out, images, force)
		},
	}
	a.fileFlag(c)
	c.Flags().StringVar(&out, "out", "", "file of the topology; the other files are written next to it")
	c.Flags().StringArrayVar(&images, "image", nil, "image of a system's switches or of a kind of node: NAME=IMAGE; may be repeated. NAME is one of "+strings.Join(containerlab.Names(), ", "))
	c.Flags().BoolVar(&force, "force", false, "replace existing files")
	_ = c.MarkFlagFilename("out", "yml", "yaml")
	a.choices(c, "image", containerlab.Names()...)
	return c
}

func (a *app) labContainerlab(ctx context.Context, out string, args []string, force bool) error {
	images, err := containerlab.ParseImages(args)
	if err != nil {
		return usage("--image: %w", err)
	}
	if _, err := atomicfile.CheckOutput(out); err != nil {
		return usage("--out: %w", err)
	}
	var stdin bytes.Buffer
	a.In = io.TeeReader(a.In, &stdin)
	c, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	doc, err := intent.Document(a.file, intent.Options{Stdin: &stdin, Name: a.name})
	if err != nil {
		return err
	}
	dir, file := filepath.Split(out)
	l, err := containerlab.New(c.Fabric(), doc, images, file)
	if err != nil {
		return usageHint(hint.Of(err), "%w", err)
	}
	taken, err := l.Taken(dir)
	if err != nil {
		return err
	}
	if len(taken) > 0 && !force {
		return usageHint("--force replaces what is there; --out in another folder keeps it", "%s there already: %s", words.Are(len(taken), "file"), strings.Join(taken, ", "))
	}
	if err := l.Write(dir); err != nil {
		return err
	}
	nodes, links := l.Size()
	a.Talk("wrote a lab of %s and %s: %s", words.Count(nodes, "node"), words.Count(links, "link"), strings.Join(l.Files(), ", "))
	next := "sudo containerlab deploy -t " + words.Shell(file)
	if dir != "" {
		next = "cd " + words.Shell(filepath.Clean(dir)) + " && " + next
	}
	a.Hint("next: " + next + "; " + file + " begins with all of the commands")
	return nil
}
