package eos

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// The texts of rejections (ansible-collections/arista.eos terminal/eos.py, scrapli
// arista_eos.yaml).
const (
	incomplete        = "% Incomplete command"
	privilegeRequired = "% Invalid input (privileged mode required)"
	unconverted       = "% This is an unconverted command\n{\n    \"errors\": [\n        \"This is an unconverted command\"\n    ]\n}"
)

// invalid returns the rejection of a line at one of its words.
func invalid(line string, token int) string {
	words := strings.Fields(line)
	if token >= len(words) {
		return "% Invalid input"
	}
	return fmt.Sprintf("%% Invalid input (at token %d: '%s')", token, words[token])
}

// command is a command of exec mode.
type command struct {
	words      string // words in capitals are arguments
	privileged bool
	run        func(sh *shell, args []string) string
}

// Pattern returns the pattern in the table of commands.
func (c command) Pattern() string { return c.words }

// find looks up a command. If there is none, it returns the box's rejection, which names the first
// word that no command has in that position, or says that words are missing.
func find[C cli.Entry](table []C, words []string) (*C, []string, string) {
	c, args, at := cli.Find(table, words)
	switch {
	case c != nil:
		return c, args, ""
	case at == len(words):
		return nil, nil, incomplete
	}
	return nil, nil, invalid(strings.Join(words, " "), at)
}

var execCommands = []command{
	{"enable", false, (*shell).enable},
	{"disable", false, func(sh *shell, _ []string) string { sh.privileged = false; return "" }},
	{"exit", false, (*shell).logout},
	{"logout", false, (*shell).logout},
	{"terminal length LENGTH", false, (*shell).terminalLength},
	{"terminal width WIDTH", false, (*shell).terminalWidth},
	{"configure", true, (*shell).configureTerminal},
	{"configure terminal", true, (*shell).configureTerminal},
	{"configure session NAME", true, (*shell).configureSession},
	{"configure session NAME commit", true, func(sh *shell, args []string) string {
		return sh.commit("configure", args[0], 0)
	}},
	{"configure session NAME commit timer TIME", true, func(sh *shell, args []string) string {
		timer, ok := parseTimer(args[1])
		if !ok {
			return invalid("configure session "+args[0]+" commit timer "+args[1], 5)
		}
		return sh.commit("configure", args[0], timer)
	}},
	{"configure session NAME abort", true, func(sh *shell, args []string) string { return sh.f.e.abort(args[0]) }},
	{"write memory", true, (*shell).save},
	{"copy running-config startup-config", true, (*shell).save},
	{"copy running-config FILE", true, func(sh *shell, args []string) string {
		return sh.copyTo("running-config", args[0], sh.f.e.Running())
	}},
	{"copy startup-config FILE", true, func(sh *shell, args []string) string {
		return sh.copyTo("startup-config", args[0], sh.f.e.Startup())
	}},
	{"more FILE", true, func(sh *shell, args []string) string {
		text, ok := sh.f.world.File(strings.TrimPrefix(args[0], "flash:"))
		if !ok || !strings.HasPrefix(args[0], "flash:") {
			return "% Error displaying " + args[0] + " (No such file or directory)"
		}
		return text
	}},
}

func (sh *shell) enable([]string) string {
	if sh.privileged || sh.f.o.EnablePassword == "" {
		sh.privileged = true
		return ""
	}
	sh.t.Print("Password: ")
	given, err := sh.t.Line(0, 0, true)
	if err != nil || !cli.Same(given, sh.f.o.EnablePassword) {
		return "% Bad secret"
	}
	sh.privileged = true
	return ""
}

func (sh *shell) logout([]string) string { sh.over = true; return "" }

func (sh *shell) terminalLength(args []string) string {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > cli.MaxTerminal {
		return invalid("terminal length "+args[0], 2)
	}
	if !sh.f.faults.IsStuck() {
		sh.length = n
	}
	if n == 0 {
		return "Pagination disabled."
	}
	return fmt.Sprintf("Pagination set to %d lines.", n)
}

func (sh *shell) terminalWidth(args []string) string {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 10 || n > cli.MaxTerminal {
		return invalid("terminal width "+args[0], 2)
	}
	sh.width = n
	return fmt.Sprintf("Width set to %d columns.", n)
}

func (sh *shell) configureTerminal([]string) string {
	sh.config, sh.name = sh.f.e.openTerminal(sh.f.o.Username), ""
	return ""
}

func (sh *shell) configureSession(args []string) string {
	s, err := sh.f.e.openSession(args[0], sh.f.o.Username)
	if err != nil {
		return err.Error()
	}
	sh.config, sh.name = s, args[0]
	return ""
}

func (sh *shell) save([]string) string {
	if sh.f.faults.IsReadOnly() {
		return notAuthorised("write")
	}
	if sh.f.faults.SaveFails() {
		return "% Error copying system:/running-config to flash:/startup-config (No space left on device)"
	}
	if !sh.f.faults.TakePretendSave() {
		sh.f.e.save()
	}
	return "Copy completed successfully."
}

// copyTo stores a configuration in flash.
func (sh *shell) copyTo(from, file, text string) string {
	name, ok := strings.CutPrefix(file, "flash:")
	if !ok || name == "" {
		return invalid("copy "+from+" "+file, 2)
	}
	if sh.f.faults.IsReadOnly() {
		return notAuthorised("copy")
	}
	if !sh.f.world.Keep(name, text) {
		return "% Error copying " + from + " to " + file + " (No space left on device)"
	}
	return "Copy completed successfully."
}
