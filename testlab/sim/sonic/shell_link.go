package sonic

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// link is a symbolic link.
type link struct {
	to   string
	time time.Time // of its last change
}

// folders lists the folders in which a link may be created.
var folders = []string{"/run", "/tmp", "/home/admin"}

// links implements the programs of GNU coreutils that create and show symbolic links, with the
// options that management tools need.
func (c *command) links(name string, args []string) int {
	s := c.s
	wrong := func() int {
		c.warn("%s: the simulated switch does not know %q\n", name, strings.Join(args, " "))
		return 1
	}
	flags, at := map[rune]bool{}, args
	for len(at) > 0 && strings.HasPrefix(at[0], "-") && len(at[0]) > 1 {
		opt := at[0]
		if at = at[1:]; opt == "--" {
			break
		}
		for _, r := range opt[1:] {
			flags[r] = true
		}
	}
	only := func(letters string, n int) bool {
		for r := range flags {
			if !strings.ContainsRune(letters, r) {
				return false
			}
		}
		return len(at) == n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	there := func(f string) bool {
		_, is := s.links[f]
		_, file := s.files[f]
		return is || file
	}
	fails := func(what, f, why string) int {
		c.warn("%s: %s '%s': %s\n", name, what, f, why)
		return 1
	}
	switch name {
	case "date":
		if !slices.Equal(args, []string{"+%s"}) {
			return wrong()
		}
		c.say("%d\n", time.Now().Unix())
	case "ln":
		if !only("sT", 2) || !flags['s'] || !flags['T'] {
			return wrong()
		}
		const what = "failed to create symbolic link"
		f := clean(at[1])
		switch {
		case there(f) || slices.Contains(folders, f):
			return fails(what, at[1], "File exists")
		case !slices.Contains(folders, path.Dir(f)) || at[0] == "":
			return fails(what, at[1], "No such file or directory")
		case denied(f) && !c.root:
			return fails(what, at[1], "Permission denied")
		case len(at[0]) >= 4096: // PATH_MAX of Linux
			return fails(what, at[1], "File name too long")
		case len(s.links) >= maxFiles:
			return fails(what, at[1], "No space left on device")
		}
		if s.links == nil {
			s.links = map[string]link{}
		}
		s.links[f] = link{at[0], time.Now()}
	case "mv":
		if !only("nT", 2) || !flags['T'] {
			return wrong()
		}
		from, to := clean(at[0]), clean(at[1])
		l, ok := s.links[from]
		switch {
		case !ok:
			return fails("cannot stat", at[0], "No such file or directory")
		case flags['n'] && there(to):
			return 0 // as before coreutils 9.2
		case (denied(from) || denied(to)) && !c.root:
			return fails("cannot move", at[0], "Permission denied")
		case !slices.Contains(folders, path.Dir(to)):
			return fails("cannot move", at[0], "No such file or directory")
		}
		delete(s.links, from)
		delete(s.files, to)
		s.links[to] = l
	case "readlink":
		l, ok := link{}, false
		if !only("", 1) {
			return wrong()
		}
		if l, ok = s.links[clean(at[0])]; !ok {
			return 1
		}
		c.say("%s\n", l.to)
	case "stat":
		if len(args) == 3 && args[1] == "%s" && clean(args[2]) == startupFile {
			c.say("%d\n", len(s.savedJSON()))
			return 0
		}
		if len(args) != 3 || args[0] != "-c" || args[1] != "%Y" {
			return wrong()
		}
		l, ok := s.links[clean(args[2])]
		if !ok {
			return fails("cannot statx", args[2], "No such file or directory")
		}
		c.say("%d\n", l.time.Unix())
	case "touch":
		// touch -h [-d @SECONDS] FILE
		when := time.Now()
		if len(args) == 4 && args[1] == "-d" {
			n, err := strconv.ParseInt(strings.TrimPrefix(args[2], "@"), 10, 40)
			if err != nil {
				return wrong()
			}
			when, args = time.Unix(n, 0), []string{args[0], args[3]}
		}
		if len(args) != 2 || args[0] != "-h" {
			return wrong()
		}
		f := clean(args[1])
		l, ok := s.links[f]
		switch {
		case !ok:
			return fails("cannot touch", args[1], "No such file or directory")
		case denied(f) && !c.root:
			return fails("cannot touch", args[1], "Permission denied")
		}
		l.time = when
		s.links[f] = l
	}
	return 0
}
