package sonic

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Ready reports whether the daemons that apply CONFIG_DB run and keep up. Without them, every write
// succeeds and ports flap for it, but nothing changes in the ASIC. Only SSH shows whether they run.
//
// Ready also checks that the disk has room for a save.
func (d *driver) Ready(ctx context.Context) (sure bool, err error) {
	if d.answersSSH(ctx) {
		if err := d.room(ctx); err != nil {
			return false, err
		}
	}
	err = d.keepUp(ctx)
	return d.sure, err
}

// keepUp returns an error if the daemons do not run, as far as the switch shows that, or do not
// keep up.
func (d *driver) keepUp(ctx context.Context) (err error) {
	d.sure = false
	if d.answersSSH(ctx) {
		if d.sure, err = d.daemons(ctx); err != nil {
			return err
		}
	}
	return d.awaitOrchagent(ctx)
}

// answersSSH reports whether there is an SSH session, and opens a new one if the last was lost.
func (d *driver) answersSSH(ctx context.Context) bool {
	return d.t.SSH != nil && d.sshDown == nil && d.wakeSSH(ctx) == nil
}

// channel is a Redis channel on which orchagent waits for work; older images name it without the
// number of the database (sonic-swss-common common/table.h, consumerstatetable.cpp).
const channel = "PORT_TABLE_CHANNEL"

const askDaemons = "sonic-db-cli APPL_DB PUBSUB NUMSUB " + channel + " " + channel + "@0; pgrep -l -x 'orchagent|buffermgrd|portmgrd'"

// daemons returns an error if orchagent listens on none of its channels. It also does so if the
// host shows the processes of containers and buffermgrd or portmgrd is missing.
func (d *driver) daemons(ctx context.Context) (sure bool, err error) {
	out, err := d.exec(ctx, askDaemons, nil)
	if err != nil {
		return false, err
	}
	listeners, answered := 0, false
	runs := map[string]bool{}
	last := ""
	for line := range strings.Lines(string(out.Stdout)) {
		f := strings.Fields(line)
		switch n, err := strconv.Atoi(strings.Join(f, " ")); {
		case err == nil && strings.HasPrefix(last, channel):
			answered, listeners = true, listeners+n
		case len(f) == 2:
			runs[f[1]] = true
		}
		last = strings.TrimSpace(line)
	}
	switch {
	case answered && listeners == 0:
		return false, notReady("orchagent does not run: nothing reads APPL_DB")
	case runs["orchagent"] && !runs["buffermgrd"]:
		return false, notReady("buffermgrd does not run")
	case runs["orchagent"] && !runs["portmgrd"]:
		return false, notReady("portmgrd does not run")
	}
	return answered, nil
}

func notReady(why string) error {
	return hint.With(fmt.Errorf("%w: %s", drivers.ErrNotReady, why),
		"'docker ps' and 'show services' list the daemons; 'sudo systemctl restart swss' starts them again and takes all ports down meanwhile")
}

// waiting lists tables of APPL_DB with rows that the daemons have written and orchagent has not
// read yet. Two tables are enough, because orchagent reads each like all others (sonic-swss-common
// common/producerstatetable.cpp).
var waiting = []string{"_PORT_TABLE", "_" + native.TGroup + "_TABLE"}

// awaitOrchagent waits until orchagent has read everything that was sent to it.
func (d *driver) awaitOrchagent(ctx context.Context) error {
	var left []string
	done, err := d.poll(ctx, taken, func() (bool, error) {
		tables, err := d.tables(ctx, "APPL_DB", waiting...)
		if err != nil {
			return false, err
		}
		left = nil
		for i, t := range tables {
			for _, key := range natural.Keys(t) {
				left = append(left, strings.TrimPrefix(waiting[i], "_")+":"+key)
			}
		}
		return len(left) == 0, nil
	})
	if done || err != nil {
		return err
	}
	return notReady(fmt.Sprintf("orchagent has not read %s of APPL_DB for %s, first %s", words.Count(len(left), "row"), drivers.Spell(taken), slices.Min(left)))
}

// objects returns the objects in ASIC_DB that orchagent creates from a row alone; nil if ASIC_DB
// shows nothing.
func (d *driver) objects(ctx context.Context) (map[string]bool, error) {
	all, err := d.readASIC(ctx)
	if err != nil || len(all[oPort]) == 0 {
		return nil, err
	}
	out := map[string]bool{"": true}
	for _, kind := range []string{oMap, oWRED, oScheduler} {
		for oid := range all[kind] {
			out[oid] = true
		}
	}
	return out, nil
}

// awaitObjects waits until ASIC_DB has a new object after a step that creates some. Over gNMI
// alone, nothing else shows that orchagent runs before a port goes down.
func (d *driver) awaitObjects(ctx context.Context, before map[string]bool) error {
	done, err := d.poll(ctx, taken, func() (bool, error) {
		now, err := d.objects(ctx)
		for oid := range now {
			if !before[oid] {
				return true, err
			}
		}
		return false, err
	})
	if done || err != nil {
		return err
	}
	return notReady(fmt.Sprintf("maps, schedulers or WRED profiles were written, and orchagent has made none of them in ASIC_DB within %s", drivers.Spell(taken)))
}
