package report

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

type aboutJSON struct {
	Version       string       `json:"version"`
	Go            string       `json:"go"`
	Platform      string       `json:"platform"`
	SONiCReleases []string     `json:"sonic_releases"`
	Models        []aboutModel `json:"models"`
}

type aboutModel struct {
	OS     string         `json:"os"`
	Name   string         `json:"name"`
	Vendor string         `json:"vendor"`
	ASIC   string         `json:"asic"`
	Tested catalog.Tested `json:"tested"`
	Note   string         `json:"note,omitempty"`
}

// About writes the version of the program, and what it knows: releases and models.
func About(w io.Writer, version string, releases []string, asJSON bool) error {
	a := aboutJSON{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, SONiCReleases: releases}
	if !asJSON {
		var models []string
		for _, os := range intent.Systems() {
			if n := len(catalog.ModelsOf(os)); n > 0 {
				models = append(models, fmt.Sprintf("%d of %s", n, os))
			}
		}
		_, err := fmt.Fprintf(w, "roce-fabric %s %s %s\nsonic releases: %s\nmodels: %s\n", a.Version, a.Go, a.Platform, strings.Join(releases, " "), strings.Join(models, ", "))
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
