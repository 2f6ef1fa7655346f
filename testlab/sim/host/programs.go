package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// programNamed returns one of the programs that the host has besides the agent.
func programNamed(name string) func(sh *shell, args []string, s streams) int {
	switch name {
	case "sh":
		return runSh
	case "sudo":
		return runSudo
	case "echo":
		return runEcho
	case "uname":
		return runUname
	case "id":
		return runID
	case "sha256sum":
		return runSHA256Sum
	case "cat":
		return runCat
	case "mkdir":
		return runMkdir
	case "chmod":
		return runChmod
	case "mv":
		return runMv
	case "rm":
		return runRm
	}
	return nil
}

// program runs a program, given by name or by path.
func (sh *shell) program(args []string, s streams) int {
	if run := programNamed(args[0]); run != nil {
		return run(sh, args[1:], s)
	}
	if !strings.Contains(args[0], "/") {
		sh.complain(s, "%s: not found", args[0])
		return 127
	}
	f, err := sh.host.files.stat(args[0])
	switch {
	case err != nil:
		sh.complain(s, "%s: not found", args[0])
		return 127
	case f.dir || f.mode&0o100 == 0:
		sh.complain(s, "%s: Permission denied", args[0])
		return 126
	case f.runsOn(sh.host.machine) != nil:
		sh.complain(s, "%s: Exec format error", args[0])
		return 126
	}
	return sh.agent(args[1:], s)
}

// agent stands in for the program that was copied here: this process answers as `nic serve` would.
func (sh *shell) agent(args []string, s streams) int {
	if strings.Join(args, " ") != "nic serve" {
		fmt.Fprintf(s.err, "error: unknown command %q\n", strings.Join(args, " "))
		return 2
	}
	in, out := sh.host.faults.wrapStreams(s.in, s.out)
	if err := agent.Serve(sh.ctx, in, out, sh.host.agentOf(sh.acct)); err != nil {
		fmt.Fprintf(s.err, "error: %v\n", err)
		return 1
	}
	return 0
}

func usage(s streams, name string, args []string) int {
	fmt.Fprintf(s.err, "%s: the simulated host does not know %q\n", name, strings.Join(args, " "))
	return 2
}

func runSh(sh *shell, args []string, s streams) int {
	if len(args) < 2 || args[0] != "-c" {
		return usage(s, "sh", args)
	}
	if sh.depth >= 4 {
		sh.complain(s, "Cannot fork")
		return 2
	}
	sub := &shell{host: sh.host, ctx: sh.ctx, acct: sh.acct, name: "sh", vars: maps.Clone(sh.vars), mask: sh.mask, depth: sh.depth + 1}
	if len(args) > 2 {
		sub.name, sub.params = args[2], args[3:]
	}
	return sub.run(args[1], s)
}

func runEcho(_ *shell, args []string, s streams) int {
	fmt.Fprintln(s.out, strings.Join(args, " "))
	return 0
}

func runUname(sh *shell, args []string, s streams) int {
	switch strings.Join(args, " ") {
	case "", "-s":
		fmt.Fprintln(s.out, "Linux")
	case "-m":
		fmt.Fprintln(s.out, sh.host.o.Processor)
	default:
		return usage(s, "uname", args)
	}
	return 0
}

func runID(sh *shell, args []string, s streams) int {
	if strings.Join(args, " ") != "-u" {
		return usage(s, "id", args)
	}
	fmt.Fprintln(s.out, sh.acct.uid())
	return 0
}

func runSHA256Sum(_ *shell, args []string, s streams) int {
	if len(args) > 0 {
		return usage(s, "sha256sum", args)
	}
	digest := ""
	if f, ok := s.in.(input); ok {
		digest = f.digest
	} else {
		h := sha256.New()
		if _, err := io.Copy(h, io.LimitReader(s.in, maxSize)); err != nil {
			fmt.Fprintf(s.err, "sha256sum: -: %v\n", err)
			return 1
		}
		digest = hex.EncodeToString(h.Sum(nil))
	}
	fmt.Fprintf(s.out, "%s  -\n", digest)
	return 0
}

func runCat(_ *shell, args []string, s streams) int {
	if len(args) > 0 {
		return usage(s, "cat", args)
	}
	if _, err := io.Copy(s.out, s.in); err != nil {
		fmt.Fprintf(s.err, "cat: write error: %v\n", err)
		return 1
	}
	return 0
}

func runMkdir(sh *shell, args []string, s streams) int {
	if len(args) != 2 || args[0] != "-p" {
		return usage(s, "mkdir", args)
	}
	if err := sh.host.files.mkdirAll(args[1], 0o777&^sh.mask); err != nil {
		fmt.Fprintf(s.err, "mkdir: cannot create directory '%s': %s\n", args[1], reason(err))
		return 1
	}
	return 0
}

func runChmod(sh *shell, args []string, s streams) int {
	if len(args) != 2 {
		return usage(s, "chmod", args)
	}
	mode, err := strconv.ParseUint(args[0], 8, 9)
	if err != nil {
		return usage(s, "chmod", args)
	}
	if err := sh.host.files.chmod(args[1], fs.FileMode(mode)); err != nil {
		fmt.Fprintf(s.err, "chmod: cannot access '%s': %s or directory\n", args[1], reason(err))
		return 1
	}
	return 0
}

func runMv(sh *shell, args []string, s streams) int {
	if len(args) != 3 || args[0] != "-fT" {
		return usage(s, "mv", args)
	}
	if err := sh.host.files.rename(args[1], args[2]); err != nil {
		fmt.Fprintf(s.err, "mv: cannot move '%s' to '%s': %s\n", args[1], args[2], reason(err))
		return 1
	}
	return 0
}

func runRm(sh *shell, args []string, s streams) int {
	if len(args) < 2 || args[0] != "-f" {
		return usage(s, "rm", args)
	}
	status := 0
	for _, name := range args[1:] {
		if err := sh.host.files.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(s.err, "rm: cannot remove '%s': %s\n", path.Clean(name), err)
			status = 1
		}
	}
	return status
}

// sudoTries is how often sudo asks for the password (sudoers(5), passwd_tries).
const sudoTries = 3

// runSudo simulates sudo 1.9 with the options that a program uses: -n does not ask, -S reads the
// password from standard input, -p sets the prompt.
func runSudo(sh *shell, args []string, s streams) int {
	noAsk, stdin, prompt := false, false, "[sudo] password for "+sh.host.o.Username+": "
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		if flag == "--" {
			break
		}
		switch {
		case flag == "-n":
			noAsk = true
		case flag == "-S":
			stdin = true
		case flag == "-p" && len(args) > 0:
			prompt, args = args[0], args[1:]
		default:
			return usage(s, "sudo", []string{flag})
		}
	}
	if len(args) == 0 {
		return usage(s, "sudo", nil)
	}
	rule := sh.host.sudo()
	if !sh.acct.root && rule != SudoFree {
		switch {
		case noAsk:
			fmt.Fprintln(s.err, "sudo: a password is required")
			return 1
		case !stdin:
			fmt.Fprintln(s.err, "sudo: a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper")
			return 1
		}
		if status := sh.askPassword(s, prompt, rule); status != 0 {
			return status
		}
	}
	if _, err := sh.host.files.stat(args[0]); err != nil && programNamed(args[0]) == nil {
		fmt.Fprintf(s.err, "sudo: %s: command not found\n", args[0])
		return 1
	}
	sub := *sh
	sub.acct.root = true
	return sub.program(args, s)
}

func (sh *shell) askPassword(s streams, prompt string, rule Sudo) int {
	for try := 1; ; try++ {
		_, _ = io.WriteString(s.err, prompt)
		line, err := readLine(s.in)
		if err != nil {
			fmt.Fprintln(s.err, "\nsudo: no password was provided\nsudo: a password is required")
			return 1
		}
		switch {
		case cli.Same(line, sh.host.o.Password) && rule == SudoNobody:
			fmt.Fprintf(s.err, "%s is not in the sudoers file.\n", sh.host.o.Username)
			return 1
		case cli.Same(line, sh.host.o.Password):
			return 0
		case try == sudoTries:
			fmt.Fprintf(s.err, "sudo: %d incorrect password attempts\n", sudoTries)
			return 1
		}
		fmt.Fprintln(s.err, "Sorry, try again.")
	}
}

// maxPassword is the maximum length of a password that sudo reads (sudo's SUDO_CONV_REPL_MAX).
const maxPassword = 1023

// readLine reads a line byte by byte, because what follows is meant for another reader.
func readLine(in io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) <= maxPassword {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
	return "", syscall.EMSGSIZE
}
