package report

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

type aboutJSON struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// SONiCReleases holds the releases of SONiC also under the name that earlier versions gave them.
	SONiCReleases []string            `json:"sonic_releases"`
	Releases      map[string][]string `json:"releases"`
	Config        Config              `json:"config"`
	ModelCounts   map[string]int      `json:"model_counts"` // by system
	Models        []aboutModel        `json:"models,omitempty"`
}

// Config describes the user's file of default flags.
type Config struct {
	File  string            `json:"file"`  // path, whether or not the file exists; "" if the config folder is unknown
	Flags map[string]string `json:"flags"` // the flags that have a default in the file
}

// String returns the file and the flags that it sets.
func (c Config) String() string {
	switch {
	case len(c.Flags) > 0:
		return c.File + ": " + strings.Join(natural.Keys(c.Flags), ", ")
	case c.File != "":
		return "no defaults in " + c.File
	}
	return "none"
}

type aboutModel struct {
	OS     string         `json:"os"`
	Name   string         `json:"name"`
	Vendor string         `json:"vendor"`
	ASIC   string         `json:"asic"`
	Tested catalog.Tested `json:"tested"`
	Note   string         `json:"note,omitempty"`
}

// About writes the program's version, the releases and the number of switch models it supports,
// the user's default flags and, if models is set, the models.
func About(w io.Writer, version string, systems drivers.Systems, config Config, asJSON, models bool) error {
	a := aboutJSON{Config: config, Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Releases: map[string][]string{}, ModelCounts: map[string]int{}}
	known := ""
	for _, s := range systems {
		if s.Releases != nil {
			a.Releases[s.Name] = s.Releases
			known += s.Name + " releases: " + strings.Join(s.Releases, " ") + "\n"
		}
	}
	a.SONiCReleases = a.Releases["sonic"]
	var counts []string
	for _, os := range intent.Systems() {
		names := catalog.ModelsOf(os)
		if len(names) > 0 {
			a.ModelCounts[os] = len(names)
			counts = append(counts, fmt.Sprintf("%d of %s", len(names), os))
		}
		if !models {
			continue
		}
		for _, name := range names {
			if m, ok := catalog.ModelOf(os, name); ok {
				tested, _ := m.SelfTest()
				a.Models = append(a.Models, aboutModel{os, m.Name, m.Vendor, m.ASICID, tested, m.Note})
			}
		}
	}
	if asJSON {
		return WriteDocument(w, a)
	}
	fmt.Fprintf(w, "roce-fabric %s %s %s\n%smodels: %s\nconfig: %s\n", a.Version, a.Go, a.Platform, known, strings.Join(counts, ", "), config)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range a.Models {
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.OS, m.Name, m.ASIC)
	}
	return t.Flush()
}
