package daemon

import (
	"os"

	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch"
)

// TimeLine is what a report shows of the rounds of a fabric, oldest first.
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

// past are the rounds of earlier runs, which the history file has.
func (d *daemon) past(fabric string) []report.Round {
	if d.History == "" {
		return nil
	}
	if _, err := os.Stat(d.History); err != nil {
		return nil // it is made by the first round
	}
	records, err := watch.ReadHistory(d.History)
	d.warnOnce("history", err)
	return TimeLine(fabric, records)
}
