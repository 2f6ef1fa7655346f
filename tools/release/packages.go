package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// homepage is the URL of the project.
const homepage = "https://github.com/roce-fabric/roce-fabric"

const (
	summary     = "Plans, applies and validates lossless RoCE fabrics"
	description = "One intent file says what a RoCE fabric should do. roce-fabric turns it into\n" +
		"configuration for SONiC, Arista EOS and Cisco NX-OS switches and for the NICs\n" +
		"of hosts, and proves on every hop that the fabric runs as the intent says."
)

// units are the services in a package. None is started on installation, because each needs an
// intent or a wanted state first.
var units = []string{"roce-fabric-watch.service", "roce-fabric-agent.service"}

// account is the sysusers entry for the user of the watch service.
const account = `u roce-fabric - "Watch a RoCE fabric" /var/lib/roce-fabric
`

// afterInstall creates the account and makes systemd load the units.
const afterInstall = `#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers roce-fabric.conf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
`

// packages writes the deb and the rpm package of a target.
func (r *release) packages(t target, tree []file, folder string) error {
	script, err := stage(folder, file{name: "after-install", mode: 0o755, body: []byte(afterInstall)})
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		description := description
		if format == "deb" { // the first line of a deb description is the summary
			description = summary + "\n" + description
		}
		contents, err := r.contents(format, tree, filepath.Join(folder, format))
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "roce-fabric", Arch: t.arch, Platform: t.os, Version: r.version, Release: "1", MTime: r.time,
			Section: "net", Priority: "optional", Maintainer: "The roce-fabric authors <roce-fabric@users.noreply.github.com>",
			Description: description,
			Homepage:    homepage, License: "Apache-2.0",
			Overridables: nfpm.Overridables{
				Contents: contents,
				Scripts:  nfpm.Scripts{PostInstall: script},
				RPM:      nfpm.RPM{BuildHost: "localhost", Group: "Applications/System", Summary: summary},
			},
		})
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		err = writeFile(filepath.Join(r.out, "roce-fabric_"+t.String()+"."+format), func(w *bytes.Buffer) error { return packager.Package(info, w) })
		if err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

// contents puts the tree below /usr, in the form that the distributions require, and adds the
// files for systemd.
func (r *release) contents(format string, tree []file, folder string) (files.Contents, error) {
	list := files.Contents{{Destination: "/etc/roce-fabric", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755}}}
	put := func(f file) error {
		source, err := stage(folder, f)
		if err != nil {
			return err
		}
		list = append(list, &files.Content{Source: source, Destination: "/" + f.name, FileInfo: &files.ContentFileInfo{Mode: os.FileMode(f.mode), MTime: r.time}})
		return nil
	}
	for _, f := range tree {
		f.name = "usr/" + f.name
		switch {
		case strings.HasPrefix(f.name, "usr/share/man/"):
			body, err := compressed(f.body)
			if err != nil {
				return nil, err
			}
			f.name, f.body = f.name+".gz", body
		case format == "deb" && filepath.Base(f.name) == "_roce-fabric":
			f.name = "usr/share/zsh/vendor-completions/_roce-fabric"
		case format == "deb" && filepath.Base(f.name) == "LICENSE":
			f.name = "usr/share/doc/roce-fabric/copyright"
		}
		if err := put(f); err != nil {
			return nil, err
		}
	}
	for _, name := range units {
		body, err := os.ReadFile(filepath.Join(r.source, "examples/monitoring", name))
		if err != nil {
			return nil, err
		}
		if err := put(file{name: "usr/lib/systemd/system/" + name, mode: 0o644, body: packagedUnit(body)}); err != nil {
			return nil, err
		}
	}
	return list, put(file{name: "usr/lib/sysusers.d/roce-fabric.conf", mode: 0o644, body: []byte(account)})
}

// packagedUnit returns an example unit without its head, which explains how to copy it, and with
// the program's path in a package.
func packagedUnit(body []byte) []byte {
	if at := bytes.Index(body, []byte("[Unit]\n")); at >= 0 {
		body = body[at:]
	}
	return bytes.ReplaceAll(body, []byte("/usr/local/bin/roce-fabric "), []byte("/usr/bin/roce-fabric "))
}
