package sonic

import (
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// config implements the config command of sonic-utilities.
func (c *command) config(args []string) int {
	if !c.root {
		c.warn("Root privileges are required for this operation\n")
		return 1
	}
	c.s.sshLn.Wrote(c.from)
	sub := ""
	if len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	flags, rest := options(args, "-i", "-f", "-t", "-a", "--action", "-r", "--restoration-time")
	run := func() int { return c.configCommand(sub, flags, rest) }
	switch sub {
	case "load", "replace", "rollback", "reload", "qos", "pfcwd", "interface":
		line := "config " + sub + " " + strings.Join(args, " ")
		c.s.process(line, 1)
		defer c.s.process(line, -1)
		return c.writing(run)
	case "apply-patch": // FailAt counts its changes, not the command
		return c.cut(run)
	}
	return run()
}

// writing runs a command that changes CONFIG_DB in one step, and injects the faults for writes.
func (c *command) writing(run func() int) int {
	f := c.s.faults
	return c.cut(func() int {
		f.hook()
		if f.countStep(&f.failAt) == 0 || f.on(&f.readOnly) {
			c.warn("Traceback (most recent call last):\nredis.exceptions.ConnectionError: Error 111 connecting to unix socket\n")
			return 1
		}
		if f.take(&f.pretend) {
			return 0
		}
		code := run()
		if f.countStep(&f.restartAt) == 0 {
			_ = c.s.Restart() // a startup file that does not load leaves the switch as it is
			return c.endLostShell()
		}
		if code == 0 && f.take(&f.failApplied) {
			c.warn("Traceback (most recent call last):\nBrokenPipeError: [Errno 32] Broken pipe\n")
			return 1
		}
		return code
	})
}

// cut runs a command that changes CONFIG_DB, and loses the connection before or after it if such a
// fault is set.
func (c *command) cut(run func() int) int {
	s := c.s
	s.mu.Lock()
	s.loads++
	s.mu.Unlock()
	if s.faults.take(&s.faults.dropBefore) {
		s.dropConnections()
		return c.endLostShell()
	}
	code := run()
	if code == 0 && s.faults.take(&s.faults.dropAfter) {
		s.dropConnections()
		return 255
	}
	return code
}

// process records that a program with this command line starts (1) or ends (-1).
func (s *Switch) process(line string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes[line] += n
}

// endLostShell ends the shell as if the switch had never started it, or had gone down with it.
func (c *command) endLostShell() int {
	c.killed, c.exited = true, true
	return 255
}

// options separates flags from arguments; flags in valued take a value.
func options(args []string, valued ...string) (map[string]string, []string) {
	flags, rest := map[string]string{}, []string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case slices.Contains(valued, a) && i+1 < len(args):
			i++
			flags[a] = args[i]
		case strings.HasPrefix(a, "-") && a != "-":
			flags[a] = ""
		default:
			rest = append(rest, a)
		}
	}
	return flags, rest
}

func has(flags map[string]string, names ...string) bool {
	for _, n := range names {
		if _, ok := flags[n]; ok {
			return true
		}
	}
	return false
}

// diskBlock is the number of bytes that a write to a full disk leaves of a file that it emptied
// first.
const diskBlock = 4096

// noSpace is the error output of a Python command on a full disk.
const noSpace = `Traceback (most recent call last):
  File "/usr/local/bin/sonic-cfggen", line 487, in <module>
    main()
  File "/usr/local/bin/sonic-cfggen", line 443, in main
    print(json.dumps(data, indent=4, cls=minigraph_encoder))
OSError: [Errno 28] No space left on device
`

// df implements "df -P -k FOLDER" (POSIX).
func (c *command) df(args []string) int {
	if len(args) != 3 || args[0] != "-P" || args[1] != "-k" {
		c.warn("df: the simulator knows df -P -k FOLDER\n")
		return 1
	}
	const size, used = 14384136, 3546936
	free := size - used
	if c.s.faults.on(&c.s.faults.full) && strings.HasPrefix(clean(args[2])+"/", "/etc/sonic/") {
		free = 0
	}
	c.say("Filesystem     1024-blocks    Used Available Capacity Mounted on\nroot-overlay      %d %d %d %7d%% /\n", size, size-free, free, (size-free)*100/size)
	return 0
}

func (c *command) configCommand(sub string, flags map[string]string, rest []string) int {
	s := c.s
	arg := func(i int) string {
		if i < len(rest) {
			return rest[i]
		}
		return ""
	}
	switch sub {
	case "save":
		file := startupFile
		if arg(0) != "" {
			file = arg(0)
		}
		c.say("Running command: /usr/local/bin/sonic-cfggen -d --print-data > %s\n", file)
		if !s.wait(0.5) {
			return 1
		}
		s.faults.event(Saving)
		s.mu.Lock()
		data := s.cfg.json()
		full := s.faults.on(&s.faults.full) && path.Dir(clean(file)) == path.Dir(startupFile)
		switch {
		case full:
			data = data[:min(len(data), diskBlock)]
			s.rawSaved = data
		case file == startupFile:
			s.save()
		}
		s.mu.Unlock()
		if full {
			c.warn("%s", noSpace)
			return 1
		}
		if file != startupFile && !s.writeFile(file, data, true) {
			return 1
		}
		return 0
	case "load":
		return c.load(arg(0))
	case "reload":
		if !has(flags, "-y", "--yes") {
			c.warn("Aborted!\n")
			return 1
		}
		c.say("Stopping SONiC target ...\nRunning command: /usr/local/bin/sonic-cfggen -j %s --write-to-db\n", startupFile)
		if err := s.reload(); err != nil {
			c.warn("%v\n", err)
			return 1
		}
		c.say("Restarting SONiC target ...\n")
		return 0
	case "checkpoint", "rollback", "delete-checkpoint", "list-checkpoints":
		return c.checkpoint(sub, arg(0))
	case "apply-patch":
		return c.applyPatch(flags, arg(0))
	case "replace":
		return c.replace(arg(0))
	case "interface":
		return c.configInterface(arg(0), arg(1))
	case "qos":
		s.mu.Lock()
		defer s.mu.Unlock()
		switch arg(0) {
		case "reload":
			s.qosReload()
			return 0
		case "clear":
			s.qosClear()
			return 0
		}
	case "pfcwd":
		return c.pfcwd(flags, rest)
	}
	return c.usage("config", "No such command \""+sub+"\".")
}

// usage reports a wrong command line like click.
func (c *command) usage(cmd, msg string) int {
	c.warn("Usage: %s [OPTIONS]\nTry \"%s -h\" for help.\n\nError: %s\n", cmd, cmd, msg)
	return 2
}

func (c *command) input(file string) ([]byte, bool) {
	if file == "/dev/stdin" {
		b, err := io.ReadAll(io.LimitReader(c.in, maxInput))
		return b, err == nil
	}
	return c.s.readFile(file)
}

// load merges a file into CONFIG_DB field by field, without checks or link flaps. A row or table
// that is null is removed.
func (c *command) load(file string) int {
	if file == "" {
		file = startupFile
	}
	c.say("Running command: /usr/local/bin/sonic-cfggen -j %s --write-to-db\n", file)
	data, ok := c.input(file)
	if !ok {
		c.warn("Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: '%s'\n", file)
		return 1
	}
	var d map[string]any
	if err := decodeJSON(data, &d); err != nil {
		c.warn("Traceback (most recent call last):\njson.decoder.JSONDecodeError: %v\n", err)
		return 1
	}
	s := c.s
	if !s.wait(0.6) {
		return 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tablesOf(d)
	for _, table := range ordered.Sorted(slices.Values(sortedKeys(t)), func(a, b string) int { return rank(a) - rank(b) }) {
		for _, key := range naturalKeys(t[table]) {
			fields := copyRow(t[table][key])
			if s.cfg[table][key] != nil {
				delete(fields, "NULL")
			}
			s.mergeRow("CONFIG_DB", table, key, fields)
		}
	}
	for _, table := range sortedKeys(d) {
		keys, _ := d[table].(map[string]any)
		if d[table] == nil {
			for key := range s.cfg[table] {
				s.writeRow(table, key, nil)
			}
		}
		for _, key := range sortedKeys(keys) {
			if keys[key] == nil && s.cfg[table][key] != nil {
				s.writeRow(table, key, nil)
			}
		}
	}
	return 0
}

func (c *command) applyPatch(flags map[string]string, file string) int {
	const cmd = "config apply-patch"
	data, ok := c.input(file)
	if !ok {
		return c.usage(cmd, "Failed to apply patch due to: [Errno 2] No such file or directory: '"+file+"'")
	}
	ops, err := parsePatch(data)
	if err != nil {
		return c.failed(cmd, "Failed to apply patch due to: ", &gcuError{msg: err.Error()})
	}
	c.say("Patch Applier: localhost: Patch application starting.\nPatch Applier: localhost: Patch: %s\n", pyOps(ops))
	if err := c.s.applyPatch(ops, gcuOptions{dryRun: has(flags, "-d", "--dry-run"), ignoreNonYANG: has(flags, "-n", "--ignore-non-yang-tables")}); err != nil {
		return c.failed(cmd, "Failed to apply patch due to: ", err)
	}
	c.say("Patch applied successfully.\n")
	return 0
}

func (c *command) failed(cmd, lead string, err *gcuError) int {
	c.warn("%s%s\n", lead, err.msg)
	return c.usage(cmd, err.msg)
}

func (c *command) replace(file string) int {
	const cmd = "config replace"
	data, ok := c.input(file)
	if !ok {
		return c.usage(cmd, "[Errno 2] No such file or directory: '"+file+"'")
	}
	var d map[string]any
	if err := decodeJSON(data, &d); err != nil || d == nil {
		return c.failed(cmd, "Failed to replace config due to: ", &gcuError{msg: "the file is not a JSON object"})
	}
	if err := c.s.replaceConfig(d); err != nil {
		return c.failed(cmd, "Failed to replace config due to: ", err)
	}
	c.say("Config replaced successfully.\n")
	return 0
}

func (c *command) checkpoint(sub, name string) int {
	s, cmd := c.s, "config "+sub
	if sub == "list-checkpoints" {
		s.mu.Lock()
		l := sortedKeys(s.checks)
		s.mu.Unlock()
		if l == nil {
			l = []string{}
		}
		return c.json(l)
	}
	if name == "" {
		return c.usage(cmd, "Missing argument \"CHECKPOINT_NAME\".")
	}
	s.mu.Lock()
	have := s.checks[name]
	s.mu.Unlock()
	if sub != "checkpoint" && have == nil {
		return c.usage(cmd, "Checkpoint '"+name+"' does not exist")
	}
	switch sub {
	case "checkpoint":
		if s.faults.on(&s.faults.full) {
			return c.failed(cmd, "Failed to create checkpoint due to: ", &gcuError{msg: "[Errno 28] No space left on device"})
		}
		if err := validate(s.docNow(), s.rel); err != nil {
			return c.failed(cmd, "Failed to create checkpoint due to: ", &gcuError{msg: "Running config is not valid. Error: " + err.Error()})
		}
		s.mu.Lock()
		if s.checks == nil {
			s.checks = map[string]tables{}
		}
		s.checks[name] = s.cfg.clone()
		s.mu.Unlock()
		c.say("Checkpoint created successfully.\n")
	case "rollback":
		if err := s.replaceConfig(s.docOf(have)); err != nil {
			return c.failed(cmd, "Failed to rollback config due to: ", err)
		}
		c.say("Config rolled back successfully.\n")
	case "delete-checkpoint":
		s.mu.Lock()
		delete(s.checks, name)
		s.mu.Unlock()
		c.say("Checkpoint deleted successfully.\n")
	}
	return 0
}

func (c *command) configInterface(sub, port string) int {
	state, ok := map[string]string{"startup": "up", "shutdown": "down"}[sub]
	if !ok {
		return c.usage("config interface", "No such command \""+sub+"\".")
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg["PORT"][port] == nil {
		return c.usage("config interface "+sub, "Interface name is invalid. Please enter a valid interface name!!")
	}
	s.mergeRow("CONFIG_DB", "PORT", port, map[string]string{"admin_status": state})
	return 0
}

// pfcwd writes PFC_WD without the config updater, so neither its rules nor the models apply.
func (c *command) pfcwd(flags map[string]string, rest []string) int {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(rest) == 0 {
		return c.usage("config pfcwd", "Missing command.")
	}
	switch rest[0] {
	case "interval":
		if len(rest) != 2 {
			return c.usage("config pfcwd interval", "Missing argument \"POLL_INTERVAL\".")
		}
		poll, err := strconv.Atoi(rest[1])
		if err != nil || poll < 100 || poll > 3000 {
			return c.usage("config pfcwd interval", "Invalid value for \"POLL_INTERVAL\": "+rest[1]+" is not in the valid range of 100 to 3000.")
		}
		least, which := 3000, ""
		for _, port := range naturalKeys(s.cfg["PFC_WD"]) {
			for _, f := range []string{"detection_time", "restoration_time"} {
				if ms, err := strconv.Atoi(s.cfg["PFC_WD"][port][f]); port != "GLOBAL" && err == nil && ms < least {
					least, which = ms, strings.ReplaceAll(f, "_", " ")
				}
			}
		}
		if least < poll {
			c.warn("unable to use polling interval = %dms, value is bigger than one of the configured %s values, please choose a smaller polling_interval\n", poll, which)
			return 1
		}
		s.mergeRow("CONFIG_DB", "PFC_WD", "GLOBAL", map[string]string{"POLL_INTERVAL": rest[1]})
		return 0
	case "start":
		return c.pfcwdStart(flags, rest[1:])
	case "stop":
		ports := rest[1:]
		if len(ports) == 0 || ports[0] == "all" {
			ports = naturalKeys(s.cfg["PORT"])
		}
		for _, p := range ports {
			s.writeRow("PFC_WD", p, nil)
		}
		return 0
	}
	return c.usage("config pfcwd", "No such command \""+rest[0]+"\".")
}

func (c *command) pfcwdStart(flags map[string]string, args []string) int {
	s := c.s
	flag := func(def string, names ...string) string {
		for _, n := range names {
			if v := flags[n]; v != "" {
				return v
			}
		}
		return def
	}
	action := flag("drop", "-a", "--action")
	if !slices.Contains(pfcwdActions, action) {
		return c.usage("config pfcwd start", "Invalid value for \"-a\" / \"--action\": invalid choice: "+action+". (choose from drop, forward, alert)")
	}
	if len(args) < 2 {
		return c.usage("config pfcwd start", "Missing argument \"DETECTION_TIME\".")
	}
	detect := args[len(args)-1]
	ms, err := strconv.Atoi(detect)
	if err != nil || ms < 100 || ms > 5000 {
		return c.usage("config pfcwd start", "Invalid value for \"DETECTION_TIME\": "+detect+" is not in the valid range of 100 to 5000.")
	}
	restore := flag(strconv.Itoa(2*ms), "-r", "--restoration-time")
	if n, err := strconv.Atoi(restore); err != nil || n < 100 || n > 60000 {
		return c.usage("config pfcwd start", "Invalid value for \"--restoration-time\": "+restore+" is not in the valid range of 100 to 60000.")
	}
	ports := args[:len(args)-1]
	if slices.Contains(ports, "all") {
		ports = naturalKeys(s.cfg["PORT"])
	}
	for _, p := range ports {
		if s.cfg["PORT"][p] == nil {
			c.warn("Failed to run command, invalid options:\n%s\n", p)
			return 1
		}
	}
	for _, p := range ports {
		if s.cfg["PORT_QOS_MAP"][p]["pfc_enable"] == "" {
			continue // the command skips ports without lossless queues
		}
		s.writeRow("PFC_WD", p, nil)
		s.writeRow("PFC_WD", p, row{"action": action, "detection_time": detect, "restoration_time": restore})
	}
	return 0
}
