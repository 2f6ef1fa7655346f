package systems

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

// texts holds configurations as switches print them, with and without headers, including
// lines that several systems share.
var texts = map[string]struct{ text, system string }{
	"eos":                     {"! Command: show running-config\n! device: leaf1 (DCS-7060DX5-64S, EOS-4.30.1F)\n!\n! boot system flash:/EOS.swi\n!\nhostname leaf1\n!\nend\n", "eos"},
	"eos, engineering build":  {"! device: s1-leaf1 (cEOSLab, EOS-4.33.0F-39050855.4330F (engineering build))\n!\nno aaa root\n", "eos"},
	"eos with policy-maps":    {"! Command: show running-config\n! device: leaf1 (DCS-7280CR3-32P4, EOS-4.31.2F)\n!\nclass-map type qos match-any VOICE\n   match ip dscp 46\n!\npolicy-map type quality-of-service MARK\n   class VOICE\n      set traffic-class 5\n!\ninterface Ethernet1/1\n   service-policy type qos input MARK\n", "eos"},
	"eos of old, no header":   {"hostname leaf1\n!\npolicy-map type qos REWRITE\n   class class-default\n      set dscp 26\n!\nclass-map type qos match-all ROCE\n   match ip dscp 26\n!\ninterface Ethernet1/1\n   service-policy type qos input REWRITE\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n", "eos"},
	"eos, profile alone":      {"qos profile ROCE\n   qos trust dscp\n   uc-tx-queue 3\n      bandwidth percent 50\ninterface Ethernet1/1\n   service-profile ROCE\n", "eos"},
	"eos, no qos":             {"hostname leaf1\n!\nspanning-tree mode mstp\n!\ninterface Ethernet1\n   no switchport\n!\ninterface Management1\n   ip address 192.0.2.1/24\n", "eos"},
	"eos as JSON":             {`{"cmds": {"hostname leaf1": null, "interface Ethernet1": {"cmds": {"no switchport": null}}}}`, "Arista EOS in JSON"},
	"onyx":                    {"##\n## Running database \"initial\"\n## Generated at 2024/01/01 10:00:00 +0000\n## Hostname: leaf1\n##\n   roce lossless\n   interface ethernet 1/1 speed 100G force\n", "NVIDIA Onyx"},
	"vrp":                     {"!Software Version V200R022C00SPC500\n#\nsysname leaf1\n#\ninterface 100GE1/0/1\n dcb pfc enable mode manual\n#\n", "Huawei VRP"},
	"comware":                 {"#\n version 7.1.070, Release 6710\n#\n sysname leaf1\n#\ninterface HundredGigE1/0/1\n priority-flow-control no-drop dot1p 3\n#\n", "H3C Comware"},
	"sr linux":                {"set / system name host-name leaf1\nset / interface ethernet-1/1 admin-state enable\n", "Nokia SR Linux"},
	"minigraph":               {"<DeviceMiniGraph xmlns=\"Microsoft.Search.Autopilot.Evolution\">\n  <CpgDec>\n", "SONiC in a minigraph"},
	"openconfig":              {`{"openconfig-qos:qos": {"interfaces": {}}}`, "OpenConfig"},
	"nxos":                    {"\n!Command: show running-config\n!Running configuration last done at: Mon Sep 26 14:45:03 2022\n!Time: Thu Oct  6 15:21:46 2022\n\nversion 10.3(2) Bios:version 05.47 \nhostname leaf1\nvdc leaf1 id 1\n\nfeature lldp\n", "nxos"},
	"nxos, no change":         {"!Command: show running-config\n!No configuration change since last restart\n!Time: Sat Apr 11 03:56:01 2026\n\nversion 9.3(8) Bios:version  \nfeature bgp\n", "nxos"},
	"nxos, no header":         {"class-map type qos match-any ROCE\n  match dscp 26\npolicy-map type qos IN\n  class ROCE\n    set qos-group 3\nsystem qos\n  service-policy type network-qos NQ\ninterface Ethernet1/1\n  priority-flow-control mode on\n  service-policy type qos input IN\n", "nxos"},
	"nxos, ports alone":       {"interface Ethernet1/1\n  no switchport\n  mtu 9216\n  priority-flow-control mode on\n  no shutdown\n", "nxos"},
	"eos of RANCID":           {"!RANCID-CONTENT-TYPE: arista\n!\nhostname leaf1\n!\ninterface Ethernet1/1\n   mtu 9214\n", "eos"},
	"nxos of RANCID":          {"!RANCID-CONTENT-TYPE: cisco-nx\n!\nhostname leaf1\n\ninterface breakout module 1 port 1 map 10g-4x\ninterface Ethernet1/1\n  mtu 9216\n", "nxos"},
	"nxos of Oxidized":        {"! Cisco Nexus Operating System (NX-OS) Software\n! TAC support: http://www.cisco.com/tac\nhostname leaf1\ninterface Ethernet1/1\n  mtu 9216\n", "nxos"},
	"ios of RANCID":           {"!RANCID-CONTENT-TYPE: cisco\n!\nhostname sw1\nvrf context blue\ninterface Ethernet1/1\n mtu 9216\n", "Cisco IOS or IOS-XE"},
	"junos of RANCID":         {"#RANCID-CONTENT-TYPE: juniper\n#\ninterfaces {\n}\n", "Juniper Junos"},
	"eos named as nxos":       {"!RANCID-CONTENT-TYPE: cisco-nx\n! device: leaf1 (DCS-7060DX5-64S, EOS-4.30.1F)\nservice routing protocols model multi-agent\ninterface Ethernet1/1\n   mtu 9214\n", ""},
	"sonic":                   {`{"DEVICE_METADATA": {"localhost": {"hwsku": "x"}}, "PORT": {"Ethernet0": {}}}`, "sonic"},
	"sonic, a fragment":       {"{\n  \"PORT_QOS_MAP\": {\n    \"Ethernet0\": {\"pfc_enable\": \"3,4\"}\n  }\n}\n", "sonic"},
	"other JSON":              {`{"name": "leaf1", "interfaces": {"port": {}}}`, ""},
	"prose":                   {"Dear colleague,\nthe switch is in the rack.\n", ""},
	"eos and nxos":            {"interface Ethernet1/1\n  priority-flow-control on\n  priority-flow-control mode on\n", ""},
	"junos":                   {"## Last commit: 2025-03-01 10:00:00 UTC by root\nversion 22.2R1.9;\nsystem {\n    host-name leaf1;\n}\nclass-of-service {\n}\n", "Juniper Junos"},
	"junos, set":              {"set version 22.2R1.9\nset system host-name leaf1\nset class-of-service classifiers dscp roce\n", "Juniper Junos"},
	"ios-xe":                  {"Building configuration...\n\nCurrent configuration : 8123 bytes\n!\nversion 17.9\nservice timestamps debug datetime msec\npolicy-map type queueing Q\n class ROCE\ninterface TwentyFiveGigE1/0/1\n no switchport\nend\n", "Cisco IOS or IOS-XE"},
	"ios-xe, no header":       {"hostname sw1\nclass-map match-any ROCE\n match dscp 26\ninterface TenGigabitEthernet1/0/1\n service-policy output Q\n", "Cisco IOS or IOS-XE"},
	"nvue":                    {"- header:\n    model: MSN4600C\n    nvue-api-version: nvue_v1\n- set:\n    qos:\n      roce:\n        enable: on\n", "cumulus"},
	"nv set":                  {"nv set system hostname leaf1\nnv set qos roce enable on\n", "cumulus"},
	"nvue in JSON":            {`[{"header": {"model": "vx"}}, {"set": {"interface": {"swp1-4": {"qos": {"pfc": {"profile": "P"}}}}, "qos": {"pfc-watchdog": {"robustness": 3}}}}]`, "cumulus"},
	"ifupdown":                {"auto swp1\niface swp1\n    mtu 9216\n", "Cumulus Linux without NVUE"},
	"frr":                     {"frr version 8.2.2\nfrr defaults traditional\nhostname leaf1\ninterface Ethernet0\n ip address 192.0.2.1/31\n", "FRRouting"},
	"os10":                    {"! Version 10.5.4.2\n! Last configuration change at Nov 01 10:10:10 2025\nsystem qos\n trust-map dscp default\nclass-map type network-qos ROCE\n match qos-group 3\npolicy-map type network-qos PFC\n class ROCE\n  pause\n  pfc-cos 3\ninterface ethernet1/1/1\n flowcontrol receive off\n service-policy input type network-qos PFC\n", "Dell OS10"},
	"os10, no header":         {"dcbx enable\nclass-map type network-qos c3\n match qos-group 3\npolicy-map type network-qos p3\n class c3\n  pause\n  pfc-cos 3\nsystem qos\n trust-map dot1p default\ninterface ethernet1/1/1\n priority-flow-control mode on\n service-policy input type network-qos p3\n ets mode on\n", "Dell OS10"},
	"os9":                     {"dcb-map ROCE\n priority-group 0 bandwidth 50 pfc off\n priority-group 1 bandwidth 50 pfc on\n priority-pgid 0 0 0 1 0 0 0 0\ninterface fortyGigE 1/1\n mtu 9216\n dcb-map ROCE\n", "Dell OS9"},
	"enterprise sonic, ports": {"roce enable\ninterface Eth1/1/1\n mtu 9216\n queue 3 wred-policy ROCE\n priority-flow-control priority 3\n priority-flow-control watchdog on detect-time 200\n", "Enterprise SONiC"},
	"ruijie":                  {"Building configuration...\nCurrent configuration: 9048 bytes\n!\nhostname RG-S6520\nvlan 100\ninterface TFGigabitEthernet 0/15\n switchport access vlan 100\n mtu 9216\nend\n", "Ruijie RGOS"},
	"ruijie, ports":           {"hostname sw1\nclass-map RDMA\n match ip dscp 26\ninterface HundredGigabitEthernet 0/1\n mls qos trust dscp\n mtu 9216\n", "Ruijie RGOS"},
	"eos, a session":          {"leaf1(config)#interface ethernet 14/1, 15/1\nleaf1(config-if-Et14/1,15/1)#dcbx mode ieee\nleaf1(config-if-Et14/1,15/1)#priority-flow-control on\nleaf1(config-if-Et14/1,15/1)#priority-flow-control priority 3 no-drop\n", "eos"},
	"nxos, a session":         {"leaf1(config)# policy-map type network-qos N\nleaf1(config-pmap-nqos)# class type network-qos c-8q-nq3\nleaf1(config-pmap-nqos-c)# pause pfc-cos 3\nleaf1(config)# system qos\nleaf1(config-sys-qos)# service-policy type network-qos N\n", "nxos"},
	"enterprise sonic":        {"!\nqos scheduler-policy ROCE\n !\n queue 0\n  type dwrr\nqos map dscp-tc ROCE\n dscp 26 traffic-class 3\ninterface Ethernet0\n mtu 9100\n", "Enterprise SONiC"},
}

// A text is recognised as the system that printed it, or as one that is not supported, even if
// other systems have similar lines, and in the forms in which editors and terminals save it.
func TestRecognise(t *testing.T) {
	for name, c := range texts {
		for form, text := range map[string]string{
			"": c.text, ", CRLF": strings.ReplaceAll(c.text, "\n", "\r\n"), ", BOM": "\xef\xbb\xbf" + c.text, ", prompt": "leaf1# show running-config\n" + c.text,
		} {
			got, err := drivers.Recognised(All.Rate(All.Plain([]byte(text))))
			switch _, known := All.Find(c.system); {
			case known:
				if got != c.system || err != nil {
					t.Errorf("%s%s is %q, %v", name, form, got, err)
				}
			case err == nil:
				t.Errorf("%s%s is %q", name, form, got)
			case c.system != "" && (errors.Is(err, drivers.ErrUnclear) || !strings.Contains(err.Error(), c.system)):
				// Lines of another system among its own make the system unclear.
				if name != "os10" || !errors.Is(err, drivers.ErrUnclear) {
					t.Errorf("%s%s: %v", name, form, err)
				}
			case c.system == "" && !errors.Is(err, drivers.ErrUnclear):
				t.Errorf("%s%s: %v", name, form, err)
			}
		}
	}
}

// A rendered configuration is recognised as the system that it was rendered for.
func TestRecogniseRendered(t *testing.T) {
	for _, name := range examples.Names() {
		text, err := examples.Intent(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := intent.Load("-", intent.Options{Stdin: bytes.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := render.New(f, All.Fits())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, s := range c.Fabric().Switches {
			if key := s.OS + s.Role; !seen[key] {
				seen[key] = true
				d := c.Device(s)
				_, native := Of(d).Encode(d)
				if got, err := drivers.Recognised(All.Rate(native)); got != s.OS {
					t.Errorf("%s: what is rendered for %s is %q, %v", name, s.Name, got, err)
				}
			}
		}
	}
}
