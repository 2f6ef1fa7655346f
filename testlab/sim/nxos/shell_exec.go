package nxos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// marker ends refusals that mark a place.
const marker = "at '^' marker."

// refusal refuses a line at one of its words, or because words are missing. It returns a line
// with a mark below the place, and the reason (ansible-collections/cisco.nxos
// plugins/terminal/nxos.py).
func (sh *shell) refusal(line string, word int) string {
	at, words := 0, strings.Fields(line)
	for i, w := range words {
		at += strings.Index(line[at:], w)
		if i == word {
			return strings.Repeat(" ", len(sh.prompt())+at) + "^\n% Invalid command " + marker
		}
		at += len(w)
	}
	return strings.Repeat(" ", len(sh.prompt())+len(line)+1) + "^\n% Incomplete command " + marker
}

// command is a command of exec mode.
type command struct {
	words string // words in capitals stand for arguments
	run   func(sh *shell, args []string) string
}

// Pattern returns the command as written in the table.
func (c command) Pattern() string { return c.words }

// everywhere lists the exec commands that configuration modes accept as well.
var everywhere = []command{
	{"copy running-config|run startup-config|start", (*shell).save},
	{"terminal|term length|len LENGTH", (*shell).terminalLength},
	{"terminal|term width WIDTH", (*shell).terminalWidth},
	{"terminal dont-ask", func(sh *shell, _ []string) string { sh.dontAsk = true; return "" }},
	{"no terminal dont-ask", func(sh *shell, _ []string) string { sh.dontAsk = false; return "" }},
}

// execCommands begins with everywhere, because "copy running-config FILE" accepts any word as a
// file.
var execCommands = append(slices.Clone(everywhere), []command{
	{"exit", (*shell).logout},
	{"end", func(*shell, []string) string { return "" }},
	{"configure|config|conf", (*shell).configureTerminal},
	{"configure|config|conf terminal|term|t", (*shell).configureTerminal},
	{"configure dual-stage", (*shell).configureDualStage},
	{"checkpoint NAME", changes(func(sh *shell, args []string) string { return sh.f.n.addCheckpoint(args[0]) })},
	{"no checkpoint NAME", changes(func(sh *shell, args []string) string { return sh.f.n.removeCheckpoint(args[0]) })},
	{"rollback running-config checkpoint NAME", (*shell).rollback},
	{"rollback running-config checkpoint NAME MODE", (*shell).rollback},
	{"copy running-config FILE", changes(func(sh *shell, args []string) string { return sh.copyTo("running-config", args[0], sh.f.n.Running()) })},
	{"copy startup-config FILE", changes(func(sh *shell, args []string) string { return sh.copyTo("startup-config", args[0], sh.f.n.Startup()) })},
}...)

// changes wraps a command that read-only accounts must not run.
func changes(run func(*shell, []string) string) func(*shell, []string) string {
	return func(sh *shell, args []string) string {
		if sh.f.faults.IsReadOnly() {
			return denied
		}
		return run(sh, args)
	}
}

func (sh *shell) logout([]string) string { sh.over = true; return "" }

func (sh *shell) terminalLength(args []string) string {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > 511 {
		return sh.refusal("terminal length "+args[0], 2)
	}
	if !sh.f.faults.IsStuck() {
		sh.length = n
	}
	return ""
}

func (sh *shell) terminalWidth(args []string) string {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 24 || n > 511 {
		return sh.refusal("terminal width "+args[0], 2)
	}
	sh.width = n
	return ""
}

// howToEnd is printed on entering configuration mode.
const howToEnd = "Enter configuration commands, one per line. End with CNTL/Z."

func (sh *shell) configureTerminal([]string) string {
	if sh.f.faults.IsReadOnly() {
		return denied
	}
	sh.config, sh.entry, sh.dual = sh.f.n.openTerminal(sh.f.o.Username), nil, false
	return howToEnd
}

func (sh *shell) configureDualStage([]string) string {
	if sh.f.faults.IsReadOnly() {
		return denied
	}
	c, refused := sh.f.n.openDualStage(sh.f.o.Username)
	if refused {
		return sh.refusal("configure dual-stage", 1)
	}
	sh.config, sh.entry, sh.dual = c, nil, true
	return howToEnd
}

func (sh *shell) save([]string) string {
	if sh.f.faults.IsReadOnly() {
		return denied
	}
	if sh.f.faults.SaveFails() {
		return "[#######                                 ]  17%\nConfiguration update aborted: request was aborted"
	}
	if !sh.f.faults.TakePretendSave() {
		sh.f.n.save()
	}
	return "[########################################] 100%\nCopy complete, now saving to disk (please wait)...\nCopy complete."
}

// copyTo saves a configuration to bootflash.
func (sh *shell) copyTo(from, file, text string) string {
	name, ok := strings.CutPrefix(file, "bootflash:")
	name = strings.TrimLeft(name, "/")
	if !ok || name == "" {
		return sh.refusal("copy "+from+" "+file, 2)
	}
	if _, there := sh.f.world.File(name); there && !sh.dontAsk && sh.t.PTY {
		sh.t.Print("Warning: There is already a file existing with this name. Do you want to\noverwrite (y/n)?[n] ")
		answer, err := sh.t.Line(0, 0, false)
		if err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
			return "Copy aborted."
		}
	}
	if !sh.f.world.Keep(name, text) {
		return "ERROR: no space left on device"
	}
	return "Copy complete, now saving to disk (please wait)...\nCopy complete."
}

// rollback executes "rollback running-config checkpoint NAME [MODE]".
func (sh *shell) rollback(args []string) string {
	mode := "atomic"
	if len(args) > 1 {
		mode = args[1]
		if mode != "atomic" && mode != "best-effort" && mode != "stop-at-first-failure" {
			return sh.refusal("rollback running-config checkpoint "+args[0]+" "+mode, 4)
		}
	}
	const failure = "Rollback failed."
	fl := sh.f.faults
	return sh.write(cli.Write{Denied: denied, Failure: failure, Do: func() string {
		if fl.On(&fl.rollbackFails) {
			sh.f.n.Attempt()
			return failure
		}
		if fl.Take(&fl.dropInRollback) {
			sh.cut()
		}
		return sh.f.n.rollback(args[0], mode)
	}})
}

// commit executes "commit [confirmed SECONDS]" in dual-stage mode.
func (sh *shell) commit(line string, words []string) string {
	seconds := 0
	switch {
	case len(words) == 1:
	case words[1] != "confirmed":
		return sh.refusal(line, 1)
	case len(words) == 2:
		return sh.refusal(line, 2)
	case len(words) > 3:
		return sh.refusal(line, 3)
	default:
		var err error
		if seconds, err = strconv.Atoi(words[2]); err != nil || seconds < 30 || seconds > 65535 {
			return sh.refusal(line, 2)
		}
	}
	return sh.write(cli.Write{Denied: denied, Failure: "Failed. err=internal error\ncommit verification failed", Do: func() string {
		return sh.config.commit(seconds)
	}})
}

// write performs a write that takes effect as a whole.
func (sh *shell) write(w cli.Write) string {
	w.Attempt, w.Pretend, w.DropAfter = sh.f.n.Attempt, sh.f.n.Pretend, &sh.f.faults.dropAfter
	out, end := sh.f.Write(w)
	if end == cli.Gone || end == cli.Silent {
		sh.lost = true
	}
	return out
}
