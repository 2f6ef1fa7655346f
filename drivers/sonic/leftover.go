package sonic

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

const (
	// leftoverLead starts the names of files that runs create: uploads and checkpoints.
	leftoverLead  = "roce-fabric-"
	uploadDir     = "/tmp/"
	checkpointDir = "/etc/sonic/checkpoints/" // generic_config_updater
)

var (
	uploadFile     = lazyre.New(`^` + uploadDir + leftoverLead + `[A-Z2-7]{26}\.json$`)
	checkpointFile = lazyre.New(`^` + checkpointDir + `(` + leftoverLead + `([0-9]+-[\w-]+))\.cp\.json$`)
)

// upload writes a file for a load, under a name that matches uploadFile.
func (d *driver) upload(ctx context.Context, data []byte) (string, error) {
	file := uploadDir + leftoverLead + rand.Text() + ".json"
	if err := d.commandInput(ctx, "cat > "+quote(file), data); err != nil {
		return "", err
	}
	return file, nil
}

// sweep removes the uploads and checkpoints of interrupted runs. Only a run that holds the mark on
// the switch does so, because it knows that no other run is active. Files of another account stay,
// because /tmp is sticky; a file that stays does no harm.
func (d *driver) sweep(ctx context.Context) {
	if d.marked == "" {
		return
	}
	out, err := d.exec(ctx, "readlink "+markFile+" && sudo find "+uploadDir+" "+checkpointDir+" -maxdepth 1 -type f -name '"+leftoverLead+"*.json'", nil)
	files := strings.Split(string(out.Stdout), "\n")
	if err != nil || files[0] != d.marked {
		return
	}
	for _, f := range files[1:] {
		cmd := "rm -f " + quote(f)
		if m := checkpointFile.FindStringSubmatch(f); m != nil {
			if _, ours := drivers.RunTime(m[2]); !ours {
				continue
			}
			cmd = "sudo config delete-checkpoint " + quote(m[1])
		} else if !uploadFile.MatchString(f) {
			continue
		}
		if _, err := d.exec(ctx, cmd, nil); err != nil {
			return
		}
	}
}

// tidy sweeps for an interrupted run that has nothing left to write.
func (d *driver) tidy(ctx context.Context, run string) {
	if d.t.SSH == nil || d.wakeSSH(ctx) != nil {
		return
	}
	if _, err := d.hold(ctx, run, 0); err == nil {
		d.sweep(ctx)
		d.release(ctx)
	}
}
