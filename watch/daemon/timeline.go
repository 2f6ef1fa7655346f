package daemon

import (
	"os"

	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch"
)

// TimeLine converts the history of a fabric to rounds of a report, oldest first.
func TimeLine(fabric string, records []watch.Record) []report.Round {
	var out []report.Round
	for _, r := range records {
		if r.Fabric != fabric {
			continue
		}
		of := report.Round{Time: r.Time, Verdict: string(r.Verdict), Errors: r.Counts.Error, Warnings: r.Counts.Warning, Devices: r.Devices, Read: r.Read}
		for _, c := range r.Changes {
			of.Changes = append(of.Changes, report.Change{Gone: c.Type == watch.Cleared, Severity: c.Severity, ID: c.ID, Places: c.Places, More: c.More, What: c.What})
		}
		out = append(out, of)
	}
	return out
}

// past returns the rounds of earlier runs from the history file.
func (d *daemon) past(fabric string) []report.Round {
	if d.History == "" {
		return nil
	}
	if _, err := os.Stat(d.History); err != nil {
		return nil // the first round creates the file
	}
	records, err := watch.ReadHistory(d.History)
	d.warnOnce("history", err)
	return TimeLine(fabric, records)
}
