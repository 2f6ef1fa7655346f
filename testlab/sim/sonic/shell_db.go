package sonic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// show implements the few show commands that print data rather than tables for people.
func (c *command) show(args []string) int {
	switch strings.Join(args, " ") {
	case "version":
		s := c.s
		vendor, serial := "broadcom", s.chassis.Serial()
		switch {
		case s.groupMapASIC():
			vendor = "mellanox"
		case s.o.ASIC == "" && s.o.HWSKU == "":
			vendor, serial = "vs", "N/A"
		}
		c.say("\nSONiC Software Version: %s\nSONiC OS Version: 12\nDistribution: Debian 12.9\nKernel: 6.1.0-29-2-amd64\n"+
			"Build commit: 00000000\nBuild date: Thu Jan  1 00:00:00 UTC 1970\nBuilt by: sim@sim\n\nPlatform: %s\nHwSKU: %s\nASIC: %s\nASIC Count: %d\nSerial Number: %s\nModel Number: N/A\nHardware Revision: N/A\n",
			cmp.Or(s.o.Version, "SONiC."+s.o.Release+".1-00000000"), s.o.Platform, s.o.HWSKU, vendor, max(1, s.o.ASICs), serial)
		return 0
	case "runningconfiguration all":
		d := c.s.docNow()
		d["bgpraw"] = ""
		return c.json(d)
	}
	c.warn("Usage: show [OPTIONS] COMMAND [ARGS]...\nTry \"show -h\" for help.\n\nError: No such command \"%s\".\n", strings.Join(args, " "))
	return 2
}

func (c *command) json(v any) int {
	b, err := json.MarshalIndent(v, "", "    ")
	return c.data(b, err)
}

// data prints JSON.
func (c *command) data(b []byte, err error) int {
	if err != nil {
		c.warn("%v\n", err)
		return 1
	}
	if c.s.faults.on(&c.s.faults.truncate) {
		b = b[:len(b)/2]
	}
	c.say("%s\n", b)
	return 0
}

func (c *command) cfggen(args []string) int {
	if strings.Join(args, " ") == "-d --print-data" {
		c.s.mu.Lock()
		b := c.s.cfg.json()
		c.s.mu.Unlock()
		return c.data(bytes.TrimSuffix(b, []byte("\n")), nil)
	}
	if len(args) == 3 && args[0] == "-d" && args[1] == "-v" {
		v, ok := walk(c.s.docNow(), strings.Split(args[2], "."))
		if !ok {
			c.say("\n")
			return 0
		}
		c.say("%s\n", text(v))
		return 0
	}
	c.warn("usage: sonic-cfggen [-h] ...\nsonic-cfggen: error: unrecognized arguments: %s\n", strings.Join(args, " "))
	return 2
}

// splitKey splits a Redis key of a database.
func splitKey(t tables, sep, key string) (table, rest string) {
	table, rest, found := strings.Cut(key, sep)
	if _, ok := t[key][""]; !found && ok {
		return key, ""
	}
	return table, rest
}

// redisKeys returns the keys of a database as Redis has them.
func redisKeys(t tables, sep string) []string {
	var keys []string
	for _, table := range sortedKeys(t) {
		for _, k := range naturalKeys(t[table]) {
			if k == "" {
				keys = append(keys, table)
			} else {
				keys = append(keys, table+sep+k)
			}
		}
	}
	return keys
}

func glob(pattern, key string) bool {
	// In Redis patterns, * matches any character; path.Match stops at a slash.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x01"), strings.ReplaceAll(key, "/", "\x01"))
	return err == nil && ok
}

// dbcli implements sonic-db-cli: Redis commands by database name.
func (c *command) dbcli(args []string) int {
	if len(args) == 1 && strings.EqualFold(args[0], "PING") {
		c.say("PONG\n")
		return 0
	}
	if len(args) < 2 {
		c.warn("usage: sonic-db-cli [-h] [-s] [-n NAMESPACE] db_or_op [cmd [cmd ...]]\n")
		return 2
	}
	db, ok := databases[args[0]]
	if !ok {
		c.warn("Invalid database name input : '%s'\n", args[0])
		return 1
	}
	cmd, rest := strings.ToLower(args[1]), args[2:]
	if args[0] == "CONFIG_DB" && (cmd == "hset" || cmd == "del" || cmd == "hdel") {
		return c.writing(func() int { return c.redis(args[0], db.sep, cmd, rest) })
	}
	return c.redis(args[0], db.sep, cmd, rest)
}

// redis runs one Redis command.
func (c *command) redis(name, sep, cmd string, rest []string) int {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.database(name, "")
	if cmd == "pubsub" {
		return c.consumers(rest)
	}
	argc := map[string]int{"ping": 0, "keys": 1, "hgetall": 1, "hget": 2, "hset": 3, "del": 1, "hdel": 2, "exists": 1}
	n, known := argc[cmd]
	switch {
	case !known:
		c.warn("(error) ERR unknown command '%s'\n", cmd)
		return 1
	case len(rest) < n:
		c.warn("(error) ERR wrong number of arguments for '%s' command\n", cmd)
		return 1
	}
	if cmd == "ping" {
		c.say("PONG\n")
		return 0
	}
	if cmd == "keys" {
		keys := redisKeys(t, sep)
		for table := range t {
			if name, waits := strings.CutPrefix(table, "_"); waits {
				keys = append(keys, name+"_KEY_SET")
			}
		}
		for _, k := range sim.Reorder(s.dice.Answer(), keys) {
			if glob(rest[0], k) {
				c.say("%s\n", k)
			}
		}
		return 0
	}
	table, key := splitKey(t, sep, rest[0])
	r := t[table][key]
	if slices.Contains([]string{"hset", "hdel", "del"}, cmd) {
		s.sshLn.Wrote(c.from)
	}
	switch cmd {
	case "hgetall":
		m := map[string]any{}
		for f, v := range r {
			m[f] = v
		}
		c.say("%s\n", py(m))
	case "hget":
		c.say("%s\n", r[rest[1]])
	case "exists":
		c.say("%d\n", count(r != nil))
	case "hset":
		if len(rest)%2 == 0 {
			c.warn("(error) ERR wrong number of arguments for 'hset' command\n")
			return 1
		}
		fields, added := map[string]string{}, 0
		for i := 1; i < len(rest); i += 2 {
			fields[rest[i]] = rest[i+1]
			if _, have := r[rest[i]]; !have {
				added++
			}
		}
		s.mergeRow(name, table, key, fields)
		c.say("%d\n", added)
	case "hdel":
		gone := 0
		left := copyRow(r)
		for _, f := range rest[1:] {
			if _, have := left[f]; have {
				delete(left, f)
				gone++
			}
		}
		if gone > 0 && name == "CONFIG_DB" {
			if len(left) == 0 {
				left = nil
			}
			s.writeRow(table, key, left)
		}
		c.say("%d\n", gone)
	case "del":
		gone := 0
		for _, k := range rest {
			table, key := splitKey(t, sep, k)
			gone += count(t[table][key] != nil)
			if name == "CONFIG_DB" {
				s.writeRow(table, key, nil)
			} else if s.overlay[name] != nil {
				s.overlay[name].del(table, key)
			}
		}
		c.say("%d\n", gone)
	}
	return 0
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// dump prints the hashes of a database that match a pattern. redis-dump takes the number of the
// database and needs root for the socket; sonic-db-dump takes its name and uses TCP
// (sonic-py-swsssdk sonic_db_dump_load.py).
func (c *command) dump(name string, args []string) int {
	byName := name == "sonic-db-dump"
	if !c.root && !byName {
		c.warn("Traceback (most recent call last):\nredis.exceptions.ConnectionError: Error 13 connecting to unix socket: /var/run/redis/redis.sock. Permission denied.\n")
		return 1
	}
	db, pattern, pretty := "", "*", false
	for i := 0; i < len(args); i++ {
		valued := i+1 < len(args)
		switch a := args[i]; {
		case a == "-y" || a == "--pretty":
			pretty = true
		case !byName && (a == "-d" || a == "--db") && valued, byName && (a == "-n" || a == "--dbname") && valued:
			i++
			db = args[i]
		case (a == "-k" || a == "--keys") && valued:
			i++
			pattern = args[i]
		default:
			c.warn("Usage: %[1]s [options]\n\n%[1]s: error: no such option: %[2]s\n", name, a)
			return 2
		}
	}
	if _, ok := databases[db]; byName && !ok {
		c.warn("Traceback (most recent call last):\nRuntimeError: %s is not a valid database name in configuration file\n", db)
		return 1
	}
	out := map[string]any{}
	for n, d := range databases {
		if db != n && db != strconv.Itoa(d.id) {
			continue
		}
		c.s.mu.Lock()
		t := c.s.database(n, "")
		for _, k := range redisKeys(t, d.sep) {
			if glob(pattern, k) {
				table, key := splitKey(t, d.sep, k)
				out[k] = map[string]any{"expireat": 0, "ttl": -0.001, "type": "hash", "value": copyRow(t[table][key])}
			}
		}
		c.s.mu.Unlock()
	}
	if pretty {
		return c.data(json.MarshalIndent(out, "", "  "))
	}
	return c.data(json.Marshal(out))
}
