package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
)

func (a *app) fmtCommand() *cobra.Command {
	var check, diff bool
	c := &cobra.Command{
		Use: "fmt [FILE]...",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				args = []string{a.file}
			case cmd.Flags().Changed("file"):
				return usage("--file and arguments exclude each other: both name files")
			case len(args) > 1 && slices.Contains(args, "-"):
				return usage("- must be the only path: standard output holds either the formatted text or file names")
			}
			return a.fmt(args, check, diff)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	a.fileFlag(c)
	c.Flags().BoolVar(&check, "check", false, "write nothing, name the files that are not formatted, and end with status 3 if there are any")
	c.Flags().BoolVar(&diff, "diff", false, "write nothing, and show what would change")
	return c
}

// fmt formats the files at the given paths. It continues if a file cannot be formatted.
func (a *app) fmt(paths []string, check, diff bool) error {
	var files []intent.File
	for _, path := range paths {
		of, err := intent.Files(path, intent.Options{Stdin: a.In, Name: a.name})
		if err != nil {
			return missingIntent(err)
		}
		files = append(files, of...)
	}
	differ, faulty := false, false
	for _, f := range files {
		text, err := intent.Format(f)
		if err != nil {
			a.Error(err)
			faulty = true
			continue
		}
		same := bytes.Equal(text, f.Data)
		differ = differ || !same
		switch {
		case diff:
			err = a.UnifiedDiff(f.Name, f.Name, string(f.Data), string(text))
		case paths[0] == "-" && !check:
			_, err = a.Out.Write(text)
		case same:
		default:
			if !check {
				err = rewrite(f.Name, text)
			}
			if err == nil {
				_, err = fmt.Fprintln(a.Out, f.Name)
			}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case faulty:
		return &statusError{status: exitUsage}
	case check && differ:
		return &statusError{status: exitDiffers}
	}
	return nil
}

// rewrite replaces the content of a file and keeps its mode.
func rewrite(name string, text []byte) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	return atomicfile.WriteOutput(name, text, st.Mode().Perm())
}
