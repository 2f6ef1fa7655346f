package cumulus

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/hint"
)

// Each form of a task is read like the equivalent commands.
func TestPlaybook(t *testing.T) {
	const same = "nv set qos roce mode lossless\nnv set interface swp1-2 link mtu 9216"
	for name, text := range map[string]string{
		"command":            "- hosts: leaf1\n  tasks:\n  - name: RoCE\n    nvidia.nvue.command:\n      commands:\n      - set qos roce mode lossless\n      - set interface swp1-2 link mtu 9216\n      - set system message pre-login \"{{ MSG }}\"\n      apply: true\n    register: out\n  - nvidia.nvue.command: {commands: [config show], apply: false}\n",
		"template":           "- nvidia.nvue.command:\n    template: |\n      set qos roce mode lossless\n      set interface swp1-2 link mtu 9216\n",
		"api":                "- hosts: [a]\n  tasks:\n  - nvidia.nvue.api:\n      operation: set\n      force: true\n      data:\n        qos: {roce: {mode: lossless}}\n        interface: {'swp1-2': {link: {mtu: 9216}}}\n        system: {message: {pre-login: \"{{ x }}\"}}\n  - nvidia.nvue.api: {operation: get}\n    when: x\n",
		"api with a path":    "- nvidia.nvue.api: {operation: set, path: /qos/roce, data: {mode: lossless}}\n- nvidia.nvue.api: {operation: set, path: interface, data: {'swp1-2': {link: {mtu: 9216}}}}\n",
		"object modules":     "- nvidia.nvue.qos: {state: merged, revid: '{{ r }}', data: {roce: {mode: lossless}}}\n- nvidia.nvue.interface:\n    state: merged\n    data:\n    - id: swp1-2\n      link: {mtu: 9216}\n- nvidia.nvue.config: {state: apply}\n- nvidia.nvue.interface: {state: gathered}\n",
		"uri":                "- uri:\n    url: '{{ base }}/?rev={{ id }}'\n    method: PATCH\n    body:\n      qos: {roce: {mode: lossless}}\n      interface: {'swp1-2': {link: {mtu: 9216}}}\n  tasks: []\n",
		"shell":              "- hosts: x\n  tasks:\n  - shell: nv set qos roce mode lossless && nv set interface swp1-2 link mtu 9216 && nv config apply -y\n",
		"a loop of commands": "- hosts: x\n  tasks:\n  - command: '{{ item }}'\n    loop:\n    - nv set qos roce mode lossless\n    - nv set interface swp1-2 link mtu 9216\n",
		"Kayobe":             "nvue_switch_config:\n- set qos roce mode lossless\nnvue_switch_interface_config:\n  swp1-2: {description: server, config: [link mtu 9216]}\n",
	} {
		want, got := parse(t, same), parse(t, text)
		for _, path := range []Path{{"qos"}, {"interface", "swp1", "link"}, {"interface", "swp2", "link"}} {
			if !got.Tree.At(path...).Equal(want.Tree.At(path...)) {
				t.Errorf("%s: %s is\n%s", name, path, got.Tree.JSON())
			}
		}
		told := 0
		for _, l := range Account(got) {
			if l.No == 0 {
				t.Errorf("%s: no line of %s", name, l.Text)
			}
			told++
		}
		if told < 2 {
			t.Errorf("%s: %d lines are accounted for", name, told)
		}
	}
}

// Lists in the arguments of the QoS module become collections.
func TestPlaybookOfTheQoSModule(t *testing.T) {
	c := parse(t, "- nvidia.nvue.qos:\n    state: merged\n    data:\n      pfc:\n      - {id: my_pfc, cable_length: 40, tx: enable, switch_priority: [{id: '3'}]}\n      mapping: [{id: m, trust: l3, dscp: [{id: '26', switch_priority: 3}]}]\n")
	want := parse(t, "nv set qos pfc my_pfc cable-length 40\nnv set qos pfc my_pfc tx enable\nnv set qos pfc my_pfc switch-priority 3\nnv set qos mapping m trust l3\nnv set qos mapping m dscp 26 switch-priority 3")
	if !c.Tree.Equal(want.Tree) {
		t.Errorf("%s", c.Tree.JSON())
	}
}

// Values that only Ansible knows are not guessed; the error says what to provide instead.
func TestPlaybookThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"- nvidia.nvue.command:\n    commands:\n    - set interface {{ item }} qos pfc profile p\n":                            "line 3: interface {{ item }} qos pfc profile p: a template",
		"- nvidia.nvue.command:\n    template: |\n      {% for p in ports %}\n      set qos roce\n      {% endfor %}\n":        "line 4: only Ansible can evaluate its condition",
		"- nvidia.nvue.api:\n    operation: set\n    data: '{{ dict(host_variables) }}'\n":                                     "line 3: a template",
		"- nvidia.nvue.api:\n    operation: set\n    data:\n      qos:\n        roce:\n          mode: '{{ roce_mode }}'\n":    "line 6: qos roce mode: a template",
		"- nvidia.nvue.api: {operation: set, data: {qos: {roce: }}}\n":                                                         "qos roce has no value",
		"- nvidia.nvue.qos: {state: deleted, data: {roce: {mode: lossy}}}\n":                                                   "takes parts of qos away",
		"- hosts: a\n  tasks:\n  - {shell: nv set qos roce, when: leaf}\n":                                                     "line 3: only Ansible can evaluate its condition",
		"- hosts: leaf\n  tasks: [{shell: nv set qos roce}]\n- hosts: spine\n  tasks: [{shell: nv set qos roce mode lossy}]\n": "line 4: plays for different hosts set QoS, leaf and spine",
		"- hosts: leaf\n  roles: [nvidia.nvue.bgp]\n":                                                                          "no task in the playbook sets anything of NVUE",
		"for p in swp1 swp2; do\n  nv set interface $p qos pfc profile p\ndone\n":                                              "line 2: interface $p qos pfc profile p: a template, which only Ansible or a script",
		"nv set interface <interface-id> qos pfc profile p\n":                                                                  "line 1: interface <interface-id",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "nv config show -o yaml") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Commands in scripts are recognized.
func TestCommandsOfScripts(t *testing.T) {
	want := parse(t, "nv set qos roce mode lossy\nnv set interface swp1 link mtu 9000").Tree
	for _, text := range []string{
		"ssh sn5600 'nv set qos roce mode lossy\nnv set interface swp1 link mtu 9000\nnv config apply -y'",
		"ssh -o StrictHostKeyChecking=no cumulus@leaf1 \"nv set qos roce mode lossy && nv set interface swp1 link mtu 9000\"",
		"  /usr/bin/nv set qos roce mode lossy; sudo nv set interface swp1 link mtu 9000 | tee log",
		"nv set qos roce mode lossy\nnv set interface swp1 link mtu 9000\nnv set interface swp1 qos pfc profile p\nnv unset interface swp1 qos 2>/dev/null || true",
		"runcmd:\n- nv set qos roce mode lossy\n- 'nv set interface swp1 link mtu 9000'",
	} {
		if c, err := Parse([]byte(text)); err != nil || !c.Tree.Equal(want) {
			t.Errorf("%s\n%v", text, err)
			if c != nil {
				t.Logf("%s", c.Tree.JSON())
			}
		}
	}
	// Commands in the text of a banner are ignored.
	banner := "log in with ssh and run 'nv set interface swp1 link mtu 9000'"
	for _, text := range []string{
		"{\"qos\": {\"roce\": {\"mode\": \"lossy\"}}, \"interface\": {\"swp1\": {\"link\": {\"mtu\": 9000}}},\n \"system\": {\"message\": {\n  \"pre-login\": \"" + banner + "\"}}}",
		"- set:\n    qos: {roce: {mode: lossy}}\n    interface: {swp1: {link: {mtu: 9000}}}\n    system:\n      message:\n        pre-login: |\n          nv set qos roce\n          " + banner + "\n",
	} {
		c := parse(t, text)
		if c.Tree.Remove("system"); !c.Tree.Equal(want) {
			t.Errorf("%s", c.Tree.JSON())
		}
	}
	if got := strings.Join(expandPorts("swp1-2,6,8-9,bond1,3,swp7s0-1,3"), " "); got != "swp1 swp2 swp6 swp8 swp9 bond1 bond3 swp7s0 swp7s1 swp7s3" {
		t.Error(got)
	}
}
