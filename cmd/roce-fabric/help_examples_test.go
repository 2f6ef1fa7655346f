package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// exampleSetup prepares the examples of a help text: first runs once, each before every example.
type exampleSetup struct{ first, each string }

// yangModels is a folder with SONiC's models next to the checkout.
const yangModels = "../shared/data/yang/sonic/202511"

const (
	anIntent = "cp examples/quickstart/fabric.yaml fabric.yaml\n"
	aLab     = anIntent + "lab fabric.yaml\n"
	aProof   = aLab + "roce-fabric prove plan --state state --out rounds.json >/dev/null 2>&1; roce-fabric prove run --state state --plan rounds.json --out certificate.json --yes >/dev/null 2>&1 || true\n"
	change   = "roce-fabric apply --allow traffic-loss >/dev/null\n"

	// savedConfigs creates configuration files of SONiC and EOS switches from mixed.yaml and
	// eos.yaml.
	savedConfigs = `cp examples/mixed/fabric.yaml mixed.yaml
cp examples/eos-clos/fabric.yaml eos.yaml
roce-fabric render -f mixed.yaml --only leaf1 >config_db.json
roce-fabric render -f eos.yaml --only leaf1 >leaf1.cfg
cp leaf1.cfg running.cfg
sed s/leaf1/leaf2/ leaf1.cfg >leaf2.txt
`
)

// exampleSetups maps commands to their setups. Other commands need none.
var exampleSetups = map[string]exampleSetup{
	"roce-fabric advise":           {first: anIntent},
	"roce-fabric apply":            {first: aLab, each: "roce-fabric rollback --allow traffic-loss >/dev/null 2>&1 || true\nroce-fabric plan --only role:leaf --save leaves.plan >/dev/null\n"},
	"roce-fabric check":            {first: savedConfigs + "cp eos.yaml fabric.yaml; mkdir fabric; cp mixed.yaml fabric/; ln -s $REPOSITORY/" + yangModels + " yang-models\n"},
	"roce-fabric completion":       {first: "mkdir -p ~/.local/share/bash-completion/completions\n"},
	"roce-fabric completion bash":  {first: "mkdir -p ~/.local/share/bash-completion/completions\n"},
	"roce-fabric completion fish":  {first: "mkdir -p ~/.config/fish/completions\n"},
	"roce-fabric diff":             {first: savedConfigs + "cp eos.yaml fabric.yaml; sed -i s/9100/9000/ fabric.yaml; lab fabric.yaml\n"},
	"roce-fabric explain":          {first: anIntent},
	"roce-fabric fmt":              {first: anIntent + "mkdir fabric; cp fabric.yaml fabric/; cp fabric.yaml pod1.yaml; cp fabric.yaml pod2.yaml\n"},
	"roce-fabric import":           {first: savedConfigs + "cp -r $REPOSITORY/render/inventory/testdata/netbox4 netbox; lab mixed.yaml; cp mixed.yaml switches.yaml; roce-fabric lab containerlab -f mixed.yaml --out lab.clab.yml >/dev/null 2>&1\n", each: "rm -f fabric.yaml\n"},
	"roce-fabric init":             {each: "rm -f *.yaml\n"},
	"roce-fabric lab containerlab": {first: "mkdir lab\n", each: "rm -f *.yml *.yaml\n" + anIntent},
	"roce-fabric lab fault":        {first: aLab},
	"roce-fabric lab fault clear":  {first: aLab + "for d in leaf1 spine1; do roce-fabric lab fault mtu --device $d; done\n"},
	"roce-fabric lab fault list":   {first: aLab},
	"roce-fabric lab up":           {first: savedConfigs + anIntent},
	"roce-fabric lab":              {first: anIntent},
	"roce-fabric man":              {first: "mkdir -p ~/.local/share/man/man1\n"},
	"roce-fabric nic":              {first: aLab},
	"roce-fabric nic apply":        {first: aLab},
	"roce-fabric nic fragments":    {first: anIntent},
	"roce-fabric nic reset":        {first: aLab + "printf '#!/bin/sh\\n' >drain.sh; chmod +x drain.sh\n"},
	"roce-fabric nic rollback":     {first: aLab + "roce-fabric nic apply --allow traffic-loss >/dev/null\n"},
	"roce-fabric nic unit":         {first: aLab},
	"roce-fabric nic unit install": {first: aLab},
	"roce-fabric nic unit remove":  {first: aLab + "roce-fabric nic unit install >/dev/null\n"},
	"roce-fabric plan":             {first: aLab},
	"roce-fabric plan show":        {first: aLab + "roce-fabric plan --save pod1.plan >/dev/null\n"},
	"roce-fabric prove":            {first: aLab},
	"roce-fabric prove plan":       {first: anIntent},
	"roce-fabric prove compare":    {first: aProof + "cp certificate.json before.json; cp certificate.json after.json\n"},
	"roce-fabric prove run":        {first: aLab + "roce-fabric prove plan --out rounds.json >/dev/null 2>&1\n"},
	"roce-fabric prove show":       {first: aProof},
	"roce-fabric prove verify":     {first: aProof + "cp state/key.pub acceptance.pub\n"},
	"roce-fabric render":           {first: anIntent},
	"roce-fabric rollback":         {first: aLab, each: change + "RUN=$(roce-fabric rollback --list | grep -o '^2[0-9]*-[0-9]*-[0-9a-f]*' | sort | tail -n 1)\n"},
	"roce-fabric simulate":         {first: anIntent},
	"roce-fabric unlock":           {first: aLab},
	"roce-fabric validate":         {first: aLab + change},
	"roce-fabric watch":            {first: aLab},
	"roce-fabric":                  {first: aLab + change},
}

// examplesNotRun lists the examples that no test runs, with the reason.
var examplesNotRun = map[string]string{
	"roce-fabric init": "asks its questions on a terminal",
	"roce-fabric init                    # write a first intent":                      "asks its questions on a terminal",
	"roce-fabric completion powershell | Out-String | Invoke-Expression":              "needs PowerShell",
	"source <(roce-fabric completion zsh)":                                            "needs a zsh session",
	`roce-fabric completion zsh > "${fpath[1]}/_roce-fabric"`:                         "needs a zsh session",
	"roce-fabric completion fish | source":                                            "needs a fish session",
	"roce-fabric nic serve":                                                           "is spoken to over SSH by the tool itself",
	"roce-fabric nic agent --listen 127.0.0.1:9601":                                   "works on the NICs of the machine itself",
	"roce-fabric nic agent --policy repair --allow port-flap":                         "works on the NICs of the machine itself",
	"roce-fabric nic agent -f fabric.yaml --host gpu1 --rounds 1":                     "works on the NICs of the machine itself",
	"roce-fabric nic boot ens1f0np0":                                                  "works on the NICs of the machine itself",
	"roce-fabric unlock 20261121-150405123-a1b2 --state etcd://10.0.0.5":              "calls another machine",
	"roce-fabric watch --webhook https://hooks.example.org/x --webhook-token env:KEY": "calls another machine",
}

// exampleStatus lists the exit statuses of examples that do not end with 0.
var exampleStatus = map[string]string{
	"roce-fabric plan -f fabric.yaml --only role:leaf --save leaves.plan --exit-code": "3",
	"roce-fabric diff -f fabric.yaml --config leaf1=leaf1.cfg --exit-code":            "3",
	// The inventory contradicts the cables of the lab.
	"roce-fabric import --inventory netbox/ --username env:FABRIC_USER --password env:FABRIC_PASSWORD --out fabric.yaml": "3",
	"roce-fabric prove run -f fabric.yaml --plan rounds.json --out cert.json --yes":                                      "3", // the switches are not configured
	"roce-fabric prove run --plan rounds.json --out new.json --yes --output markdown":                                    "3",
	"roce-fabric validate -f fabric.yaml --window 2m":                                                                    "1", // there is no traffic
}

// inExamples replaces placeholder values, and options that take minutes.
var inExamples = strings.NewReplacer("20261121-150405123-a1b2", "$RUN", "--window 2m", "--window 1s")

// continued matches the end of a line that continues on the next one.
var continued = regexp.MustCompile(`\\\n\s*`)

// TestHelpExamples runs the examples of every help text in order: those of commands that need a lab in
// make nightly, and of some of these commands otherwise.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	_, err := os.Stat(filepath.Join("..", "..", yangModels))
	models := err == nil
	var withLab []string
	for _, name := range slices.Sorted(maps.Keys(exampleSetups)) {
		if strings.Contains(exampleSetups[name].first, "lab ") {
			withLab = append(withLab, name)
		}
	}
	sample := sharedtest.Sample(withLab, 7)
	seen := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		setup := exampleSetups[c.CommandPath()]
		blocks := []block{{info: "sh", text: ":\n", setup: setup.first, status: "0"}}
		for line := range strings.Lines(continued.ReplaceAllString(c.Example, "")) {
			line = strings.TrimSpace(line)
			seen[line] = true
			if examplesNotRun[line] != "" || strings.Contains(line, " --local") {
				continue // --local acts on the NICs of the test machine
			}
			if strings.Contains(line, " --yang ") && !models {
				t.Logf("not run: %s: %s is not there", line, yangModels)
				continue
			}
			status := exampleStatus[line]
			if status == "" {
				status = "0"
			}
			blocks = append(blocks, block{info: "sh", text: inExamples.Replace(line) + "\n", setup: setup.each, status: status})
		}
		if len(blocks) > 1 && (!slices.Contains(withLab, c.CommandPath()) || slices.Contains(sample, c.CommandPath())) {
			t.Run(c.CommandPath(), func(t *testing.T) {
				t.Parallel()
				runBlocks(t, c.CommandPath()+" --help", blocks)
			})
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(silentApp().root())
	for line := range examplesNotRun {
		if !seen[line] {
			t.Errorf("no help text has the example %q any more", line)
		}
	}
	for line := range exampleStatus {
		if !seen[line] {
			t.Errorf("no help text has the example %q any more", line)
		}
	}
}
