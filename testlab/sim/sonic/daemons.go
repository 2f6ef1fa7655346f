package sonic

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Orchagent is the daemon that programs the ASIC from the databases.
const Orchagent = "orchagent"

// daemons are the processes that pgrep finds on the switch: containers share the process table of
// the host (sonic-mgmt runs pgrep -x orchagent there).
var daemons = []string{"buffermgrd", Orchagent, "portmgrd", "portsyncd", "redis-server", "syncd"}

// Kill ends a daemon. It stays dead until the switch loads its configuration again. Without
// orchagent, ASIC_DB stays as it is, and what other daemons write to APPL_DB waits there
// (sonic-swss-common common/producerstatetable.cpp).
func (s *Switch) Kill(daemon string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill(daemon)
}

// kill is Kill for a caller that holds mu.
func (s *Switch) kill(daemon string) {
	if s.dead[daemon] {
		return
	}
	s.logf("ERR %s: terminated by SIGSEGV (core dumped)", daemon)
	if daemon == Orchagent {
		s.still = map[string]tables{"APPL_DB": s.applDB("").clone(), "ASIC_DB": s.asicDB("").clone()}
	}
	if s.dead == nil {
		s.dead = map[string]bool{}
	}
	s.dead[daemon] = true
}

// RestartSwss restarts the container of orchagent, which then applies the contents of the
// databases.
func (s *Switch) RestartSwss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	flaps := s.flaps
	s.boot(s.cfg)
	s.flaps = flaps
}

// table returns a copy of one table; "" means all.
func (t tables) table(only string) tables {
	switch {
	case only == "":
		return t.clone()
	case t[only] == nil:
		return tables{}
	}
	return tables{only: t[only]}.clone()
}

// unread returns APPL_DB without orchagent: its old contents, and rows that wait for orchagent in
// tables whose names start with "_".
func (s *Switch) unread(only string) tables {
	still := s.still["APPL_DB"]
	out := still.table(only)
	for table, rows := range s.applDB(strings.TrimPrefix(only, "_")) {
		if !isRequested(only, "_"+table) {
			continue
		}
		for key, r := range rows {
			if !maps.Equal(r, still[table][key]) {
				r = copyRow(r)
				delete(r, "oper_status") // written by orchagent
				out.set("_"+table, key, r)
			}
		}
	}
	return out
}

// consumers answers "pubsub numsub": orchagent listens on one channel for each of its tables in
// APPL_DB (sonic-swss-common common/table.h).
func (c *command) consumers(args []string) int {
	if len(args) == 0 || !strings.EqualFold(args[0], "numsub") {
		c.warn("(error) ERR Unknown PUBSUB subcommand or wrong number of arguments\n")
		return 1
	}
	for _, channel := range args[1:] {
		table, ok := strings.CutSuffix(channel, "_CHANNEL@0")
		heard := ok && !c.s.dead[Orchagent] && (table == "PORT_TABLE" || slices.Contains(bufferTables, strings.TrimSuffix(table, "_TABLE")))
		c.say("%s\n%d\n", channel, count(heard))
	}
	return 0
}

// pgrep searches for a pattern in the command lines of running commands (-f), or in the names of
// daemons.
func (c *command) pgrep(args []string) int {
	flags, rest := options(args, "-f")
	text, byLine := flags["-f"]
	if !byLine && len(rest) == 1 {
		text = rest[0]
	}
	if has(flags, "-x") {
		text = "^(" + text + ")$"
	}
	pattern, err := regexp.Compile(text)
	if err != nil || text == "" {
		return 2
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	found := 1
	say := func(name string) {
		if found = 0; has(flags, "-l") {
			c.say("4711 %s\n", name)
		} else {
			c.say("4711\n")
		}
	}
	if !byLine {
		for _, name := range daemons {
			if !c.s.dead[name] && pattern.MatchString(name) {
				say(name)
			}
		}
		return found
	}
	for line, n := range c.s.processes {
		if n > 0 && pattern.MatchString(line) {
			say(line)
			break
		}
	}
	return found
}
