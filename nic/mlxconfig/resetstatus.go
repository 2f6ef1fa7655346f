package mlxconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// resetTools are the tools that know of resets, by the tool of the settings.
var resetTools = map[string]string{"mlxconfig": "mlxfwreset", "mstconfig": "mstfwreset"}

// ResetOption is a reset level or type of a card.
type ResetOption struct {
	// Number is what -l or -t takes: levels 0 live patch, 3 driver restart and
	// PCI reset, 4 warm reboot, 5 cold reboot.
	Number    int    `json:"number"`
	Text      string `json:"text"`
	Supported bool   `json:"supported"`
	// Default is what the tool would take by itself.
	Default bool `json:"default,omitempty"`
}

// Pending is a setting that waits for a reset.
type Pending struct {
	Name    string `json:"name"`
	Default Value  `json:"default"`
	Current Value  `json:"current"`
	Next    Value  `json:"next_boot"`
}

// ResetStatus is what mlxfwreset or mstfwreset says of a card.
type ResetStatus struct {
	Levels []ResetOption `json:"levels"`
	Types  []ResetOption `json:"types,omitempty"`
	// Known says that the tool has the command "status", and that the fields
	// below are set.
	Known  bool `json:"known"`
	Needed bool `json:"needed"`
	// PendingFirmware is a firmware version that waits for a reset, "" for
	// none.
	PendingFirmware string    `json:"pending_firmware,omitempty"`
	RunningFirmware string    `json:"running_firmware,omitempty"`
	Pending         []Pending `json:"pending,omitempty"`
	// Action and Command are the tool's advice, for people; this package
	// carries neither out.
	Action  string   `json:"action,omitempty"`
	Command string   `json:"command,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Notes say why Known is false.
	Notes []string `json:"notes,omitempty"`
}

// ResetStatus asks the reset tool what resets a card can do ("query") and, where
// the tool is new enough, whether it needs one ("status"). It changes nothing.
// ErrUnsupported is the answer for a device of fwctl, which the reset tools do
// not take.
func (t *Tool) ResetStatus(ctx context.Context, dev string) (*ResetStatus, error) {
	dev, err := Device(dev)
	if err != nil {
		return nil, err
	}
	tool := resetTools[t.Name]
	if isFwctl(dev) {
		return nil, fmt.Errorf("%s: %w: %s does not take fwctl devices", dev, ErrUnsupported, tool)
	}
	res, err := t.call(ctx, queryTimeout, tool, "-d", dev, "query")
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return nil, fmt.Errorf("%s: %w: %w", dev, ErrUnsupported, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dev, err)
	case res.Code != 0:
		return nil, fmt.Errorf("%s: %w", dev, failure(tool, "query", res))
	}
	st := &ResetStatus{}
	st.Levels, st.Types = parseResetQuery(res.Stdout)
	if len(st.Levels) == 0 {
		return nil, fmt.Errorf("%s: %s query: %w: no reset levels in it", dev, tool, ErrOutput)
	}
	if res, err = t.call(ctx, queryTimeout, tool, "-d", dev, "--json", "status"); err != nil {
		return nil, fmt.Errorf("%s: %w", dev, err)
	}
	if res.Code != 0 {
		st.Notes = append(st.Notes, failure(tool, "status", res).Error())
		return st, nil
	}
	if err := st.parse(res.Stdout); err != nil {
		return nil, fmt.Errorf("%s: %s status: %w", dev, tool, err)
	}
	return st, nil
}

// resetOption matches a line of a list of "mlxfwreset query" (cmd_reg_mfrl.py).
var resetOption = regexp.MustCompile(`^([0-9]{1,2}): (.*?) *-(Supported|Not [Ss]upported) *(\(default\))? *$`)

// parseResetQuery reads the lists of levels and types; the tool prints further
// ones behind them.
func parseResetQuery(out []byte) (levels, types []ResetOption) {
	const most = 32
	var list *[]ResetOption
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(line, "Reset") {
			switch {
			case strings.HasPrefix(line, "Reset-levels"):
				list = &levels
			case strings.HasPrefix(line, "Reset-types"):
				list = &types
			default:
				list = nil
			}
			continue
		}
		m := resetOption.FindStringSubmatch(line)
		if m == nil || list == nil || len(*list) == most {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		*list = append(*list, ResetOption{Number: n, Text: word(m[2]), Supported: m[3] == "Supported", Default: m[4] != ""})
	}
	return levels, types
}

// parse reads the JSON of "mlxfwreset --json status" (mstfwreset.py); the tool
// prints blank lines and remarks before it.
func (st *ResetStatus) parse(out []byte) error {
	begin, end := bytes.IndexByte(out, '{'), bytes.LastIndexByte(out, '}')
	if begin < 0 || end < begin {
		return fmt.Errorf("%w: no JSON in it", ErrOutput)
	}
	var s struct {
		PendingFW string          `json:"pending_fw_version"`
		RunningFW string          `json:"running_fw_version"`
		Params    json.RawMessage `json:"pending_nvconfig_parameters"`
		Needed    *bool           `json:"reset_needed"`
		Action    string          `json:"description_action"`
		Command   string          `json:"command_required"`
		Reasons   []string        `json:"reasons"`
	}
	if err := json.Unmarshal(out[begin:end+1], &s); err != nil {
		return fmt.Errorf("%w: %w", ErrOutput, err)
	}
	if s.Needed == nil {
		return fmt.Errorf("%w: it does not say whether a reset is needed", ErrOutput)
	}
	// "N/A (no ...)" stands for none, of a list also.
	var params []struct {
		Name    string `json:"name"`
		Default string `json:"default"`
		Current string `json:"current"`
		Next    string `json:"next_boot"`
	}
	var none string
	if len(s.Params) > 0 && json.Unmarshal(s.Params, &none) != nil {
		if err := json.Unmarshal(s.Params, &params); err != nil {
			return fmt.Errorf("%w: pending settings: %w", ErrOutput, err)
		}
	}
	if len(params) > maxParams {
		return fmt.Errorf("%w: %d pending settings", ErrOutput, len(params))
	}
	var pending []Pending
	for _, p := range params {
		if !paramName.MatchString(p.Name) {
			return fmt.Errorf("%w: a pending setting named %q", ErrOutput, word(p.Name))
		}
		pending = append(pending, Pending{p.Name, ParseValue(word(p.Default)), ParseValue(word(p.Current)), ParseValue(word(p.Next))})
	}
	st.Known, st.Needed, st.Pending = true, *s.Needed, pending
	st.PendingFirmware, st.RunningFirmware = unlessNA(s.PendingFW), unlessNA(s.RunningFW)
	st.Action, st.Command = word(s.Action), unlessNA(s.Command)
	for _, r := range s.Reasons[:min(len(s.Reasons), maxWords)] {
		st.Reasons = append(st.Reasons, word(r))
	}
	return nil
}

func unlessNA(s string) string {
	if strings.HasPrefix(s, "N/A") {
		return ""
	}
	return word(s)
}
