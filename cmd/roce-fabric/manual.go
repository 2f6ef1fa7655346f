package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/man"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) manCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "man [COMMAND...]",
		RunE: func(_ *cobra.Command, args []string) error {
			book, err := a.book()
			if err != nil {
				return err
			}
			root := newPlainApp().root()
			if dir == "" {
				at, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 {
					return unknownCommand(at, strings.Join(args, " "))
				}
				_, err = a.Out.Write(book.Page(at))
				return err
			}
			if len(args) > 0 {
				return usage("--out writes the pages of all commands; leave out COMMAND")
			}
			n, err := writePages(book, root, dir)
			if err == nil {
				a.Talk("wrote %s to %s", words.Count(n, "page"), dir)
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "out", "", "folder to write the pages of all commands to")
	_ = c.MarkFlagDirname("out")
	return c
}

// newPlainApp returns the program independent of the environment and the user's defaults.
func newPlainApp() *app {
	return &app{bare: true, Console: report.Console{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}}
}

// book returns the parts common to all pages. Its date is that of SOURCE_DATE_EPOCH, as in other
// reproducible builds.
func (a *app) book() (*man.Book, error) {
	b := &man.Book{Version: version, Exit: helpText("exit-status"), Variables: helpText("environment"), Files: helpText("files")}
	if s := a.Getenv("SOURCE_DATE_EPOCH"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, usage("SOURCE_DATE_EPOCH must be seconds since 1970, not %q", s)
		}
		b.Date = time.Unix(n, 0).UTC().Format(time.DateOnly)
	}
	return b, nil
}

// writePages writes the pages of a command and its subcommands to a folder, and returns their
// number.
func writePages(b *man.Book, c *cobra.Command, dir string) (n int, err error) {
	if c.HasParent() && !c.IsAvailableCommand() {
		return 0, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	if err := atomicfile.WriteBelow(dir, man.Name(c)+".1", b.Page(c), 0o644); err != nil {
		return 0, err
	}
	n = 1
	for _, sub := range c.Commands() {
		more, err := writePages(b, sub, dir)
		if err != nil {
			return n, err
		}
		n += more
	}
	return n, nil
}
