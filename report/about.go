package report

import (
	"fmt"
	"io"
	"runtime"
	"strings"

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
	Models        []aboutModel        `json:"models"`
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

// About writes the program's version, the releases and switch models it supports, and the
// user's default flags.
func About(w io.Writer, version string, systems drivers.Systems, config Config, asJSON bool) error {
	a := aboutJSON{Config: config, Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Releases: map[string][]string{}}
	known := ""
	for _, s := range systems {
		if s.Releases != nil {
			a.Releases[s.Name] = s.Releases
			known += s.Name + " releases: " + strings.Join(s.Releases, " ") + "\n"
		}
	}
	a.SONiCReleases = a.Releases["sonic"]
	if !asJSON {
		var models []string
		for _, os := range intent.Systems() {
			if n := len(catalog.ModelsOf(os)); n > 0 {
				models = append(models, fmt.Sprintf("%d of %s", n, os))
			}
		}
		_, err := fmt.Fprintf(w, "roce-fabric %s %s %s\n%smodels: %s\nconfig: %s\n", a.Version, a.Go, a.Platform, known, strings.Join(models, ", "), config)
		return err
	}
	for _, os := range intent.Systems() {
		for _, name := range catalog.ModelsOf(os) {
			m, ok := catalog.ModelOf(os, name)
			if !ok {
				continue
			}
			tested, _ := m.SelfTest()
			a.Models = append(a.Models, aboutModel{os, m.Name, m.Vendor, m.ASICID, tested, m.Note})
		}
	}
	return WriteDocument(w, a)
}
