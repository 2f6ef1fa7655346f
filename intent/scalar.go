package intent

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// codePoint is one DSCP value or a span of values.
type codePoint struct{ lo, hi int }

// textRule is the syntax of a text value.
type textRule struct {
	re   *lazyre.Regexp // in the common subset of Go and ECMA-262 syntax
	want string         // such as "a port name"
	hint string
	// plain accepts some of the texts that re matches, much faster: a large fabric has hundreds
	// of thousands of ports. nil accepts none.
	plain func(string) bool
}

// match reports whether a text follows the rule.
func (r textRule) match(s string) bool { return r.plain != nil && r.plain(s) || r.re.MatchString(s) }

// plainText reports whether a text has 1 to 63 bytes, begins with a letter or digit, and contains
// only letters, digits and the bytes of others.
func plainText(s, others string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') && (i == 0 || strings.IndexByte(others, c) < 0) {
			return false
		}
	}
	return 0 < len(s) && len(s) <= 63
}

func plainPort(s string) bool { return plainText(s, "_./:@-") }

func plainEndpoint(s string) bool {
	device, port, _ := strings.Cut(s, "/")
	return plainText(device, "_.-") && plainPort(port)
}

const (
	nameWant   = "a name of at most 63 letters, digits, dots, dashes and underscores"
	rangeText  = `\[[0-9:,-]+\]`
	clockHint  = "two digits each for hours and minutes, in 24 hours"
	macHint    = "write 52:54:00:12:34:56"
	secretHint = "write env:NAME, file:PATH or keyring:SERVICE/USER, never the secret itself"
)

// textRules maps the names used in rule tags to the syntax of texts. Texts with ranges are
// checked again after expansion.
var textRules = map[string]textRule{
	"name":      {re: lazyre.New(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9_])?$`), want: nameWant},
	"class":     {re: lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`), want: "a class name of at most 32 letters, digits, dashes and underscores"},
	"card":      {re: lazyre.New(`^[A-Za-z0-9][A-Za-z0-9 :-]{0,31}$`), want: "a card, a vendor or PCI numbers", hint: "write ConnectX-7, nvidia or \"15b3:1021\""},
	"devices":   {re: lazyre.New(`^([A-Za-z0-9_.-]|` + rangeText + `)+$`), want: nameWant, hint: "a range holds numbers: leaf[1-32]"},
	"ports":     {re: lazyre.New(`^([A-Za-z0-9_./:@-]|` + rangeText + `)+$`), want: "a port name", hint: "a range holds numbers: Ethernet[0-124:4]"},
	"endpoint":  {re: lazyre.New(`^([A-Za-z0-9_.-]|` + rangeText + `)+/([A-Za-z0-9_./:@-]|` + rangeText + `)+$`), want: "device/port", hint: "write leaf1/Ethernet0; a range holds numbers: leaf[1-32]/Ethernet[0-124:4]", plain: plainEndpoint},
	"port":      {re: lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_./:@-]{0,62}$`), want: "a port name", plain: plainPort},
	"model":     {re: lazyre.New(`^[A-Za-z0-9][A-Za-z0-9 ._+/()-]{0,126}$`), want: "a model or release of letters, digits and . _ + / ( ) -"},
	"serial":    {re: lazyre.New(`^([A-Za-z0-9_.:/-]|` + rangeText + `)+$`), want: "a serial number"},
	"mac":       {re: lazyre.New(`^([0-9A-Fa-f:.-]|` + rangeText + `)+$`), want: "a MAC address", hint: macHint},
	"address":   {re: lazyre.New(`^[A-Za-z0-9_.:%,[\]-]+$`), want: "host:port", hint: "write 192.0.2.11:8080, switch.example.net:8080 or [2001:db8::1]:8080"},
	"breakout":  {re: lazyre.New(`^[1-9]x[1-9][0-9]*G(\[[0-9G,]+\])?$`), want: "a breakout mode such as 4x100G"},
	"username":  {re: lazyre.New(`^[!-~]{1,256}$`), want: "a user name without spaces"},
	"reference": {re: lazyre.New(`^(env:[A-Za-z_][A-Za-z0-9_]*|file:.*[^ ]|keyring:[^/ ]+/[^/ ]+)$`), want: "a reference to a secret", hint: secretHint},
	"path":      {re: lazyre.New(`^[^\x00-\x1f]+$`), want: "the path of a file"},
	"selection": {re: lazyre.New(`^([A-Za-z0-9_.*?:!^-]|\[[A-Za-z0-9:,!^-]+\])+$`), want: "a name, range, glob, role:ROLE or os:OS", hint: "write leaf1, leaf[1-32], leaf* or role:leaf"},
	"pin":       {re: lazyre.New(`^sha256:[0-9a-fA-F]{64}$`), want: "sha256: and 64 hex digits"},
	"check":     {re: lazyre.New(`^([A-Z]{2,8}(-[0-9]{2})?|gate:[a-z-]{1,32})$`), want: "the id of a check", hint: "'roce-fabric check --list' shows them"},
	"scope":     {re: lazyre.New(`^[A-Za-z0-9_.*?,:[\]-]+(/[A-Za-z0-9_./:@*?,[\]-]+)?$`), want: "device or device/port", hint: "with ranges or globs: leaf*, leaf[1-2]/Ethernet0"},
	"date":      {re: lazyre.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`), want: "a day such as 2026-12-31"},
	"share":     {re: lazyre.New(`^([1-9][0-9]{0,4}|([1-9][0-9]?|100)%)$`), want: "a number of devices or a percentage", hint: "write 4 or 25%"},
	"clock":     {re: lazyre.New(`^([01][0-9]|2[0-3]):[0-5][0-9]$`), want: "a time such as 22:00", hint: clockHint},
	"clockEnd":  {re: lazyre.New(`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`), want: "a time such as 04:00", hint: clockHint},
	"timezone":  {re: lazyre.New(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`), want: "a time zone such as Europe/Berlin"},
	"argument":  {re: lazyre.New(`^[^\x00-\x1f]*$`), want: "one line of text"},
	"url":       {re: lazyre.New(`^https://[A-Za-z0-9.:[\]-]+([/?][!-~]*)?$`), want: "an address such as https://change.example.net/roce", hint: "it is https, without a user; the token has a key of its own"},
	"pciVendor": {re: lazyre.New(`^(nvidia|broadcom|intel|amd|(0x)?[0-9a-fA-F]{4})$`), want: "nvidia, broadcom, intel, amd or the number of a PCI vendor"},
	"pci":       {re: lazyre.New(`^([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`), want: "a PCI address such as 0000:3b:00.0"},
	"rate":      {re: lazyre.New(`^[0-9]+(\.[0-9]+)? ?(G|M|T)$`), want: "a speed such as 100G"},
	"rail":      {re: lazyre.New(`^([1-9][0-9]{0,2}|` + rangeText + `)$`), want: "a number from 1, or a range of them", hint: "write 3, or \"[1-8]\" for a range of names"},
	"load":      {re: lazyre.New(`^(always|pairs|ring|incast(:[1-9][0-9]{0,4}(:[1-9][0-9]{0,4})?)?|alltoall(:[0-9.]+[KMGT]?i?B)?|allreduce:[0-9.]+[KMGT]?i?B)$`), want: "a traffic pattern", hint: "write always, incast:8:1, pairs, ring, alltoall or allreduce:64MB"},
	"jump":      {re: lazyre.New(`^[A-Za-z0-9_.-]+@([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]+$`), want: "user@host:port"},
}

const decimal = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`

var (
	spanRule = lazyre.New(`^[0-9]{1,2}-[0-9]{1,2}$`)
	intRule  = lazyre.New(`^(0|-?[1-9][0-9]{0,17})$`)
)

// quantity is the syntax of a value with a unit.
type quantity struct {
	re   *lazyre.Regexp
	read func(n *yaml.Node, target any, f *field) *scalarError
}

// quantities maps the pointer type that parseScalar fills to the syntax of its values.
var quantities = map[reflect.Type]quantity{
	reflect.TypeFor[*qos.Threshold](): quantityOf(qos.ParseThreshold, lazyre.New(`^(`+decimal+` ?(KiB|MiB|GiB|KB|kB|MB|GB|B)|[0-9]+( segments| cells| packets|%|ms|us))$`), "write bytes such as 150KB, or 320 segments, 40 cells, 100 packets, 20%, 50us"),
	reflect.TypeFor[*units.Bytes]():   quantityOf(units.ParseBytes, lazyre.New(`^`+decimal+` ?(KiB|MiB|GiB|KB|kB|MB|GB|B)$`), "write bytes such as 150KB, 1.5MiB or 4096B"),
	reflect.TypeFor[*units.Rate]():    quantityOf(units.ParseRate, lazyre.New(`^`+decimal+` ?(G|M|T)$`), "write a rate such as 400G or 25G"),
	reflect.TypeFor[*units.Length]():  quantityOf(units.ParseLength, lazyre.New(`^`+decimal+` ?(km|m)$`), "write a length such as 5m, 0.5m or 2km"),
	reflect.TypeFor[*units.Percent](): quantityOf(units.ParsePercent, lazyre.New(`^`+decimal+` ?%$`), "write a percentage such as 60%"),
	reflect.TypeFor[*time.Duration](): quantityOf(time.ParseDuration, lazyre.New(`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`), "write a time such as 400ms or 2s"),
	reflect.TypeFor[*Response]():      quantityOf(parseResponse, lazyre.New(`^([1-9][0-9]{0,4}q|([0-9]+(\.[0-9]+)?(ns|us|µs|ms))+)$`), "write a time such as 2us or quanta of 512 bit times such as 905q"),
}

func quantityOf[T any](parse func(string) (T, error), re *lazyre.Regexp, hint string) quantity {
	return quantity{re, func(n *yaml.Node, target any, f *field) *scalarError {
		return parseUnit(n, target.(*T), f, textRule{re: re, hint: hint}, parse)
	}}
}

// scalarError is a problem of one scalar; msg follows the key in the full message.
type scalarError struct{ msg, hint string }

// parseScalar parses a node into the value that target points to.
func parseScalar(n *yaml.Node, target any, f *field) *scalarError {
	switch t := target.(type) {
	case *string:
		return parseText(n, t, f)
	case *int:
		return parseInt(n, t, f)
	case *float64:
		return parseFloat(n, t, f)
	case *bool:
		if n.Kind != yaml.Bool || n.Value != "true" && n.Value != "false" {
			return &scalarError{"must be true or false, not " + given(n, f), ""}
		}
		*t = n.Value == "true"
		return nil
	case *codePoint:
		return parseCodePoint(n, t, f)
	}
	if q, ok := quantities[reflect.TypeOf(target)]; ok {
		return q.read(n, target, f)
	}
	panic(fmt.Sprintf("no scalar form for %T", target)) // a raw type is missing a case here
}

// scalarSchema returns the JSON Schema of the syntax that parseScalar accepts.
func scalarSchema(target any, f *field) map[string]any {
	switch target.(type) {
	case *string:
		return textSchema(f)
	case *int:
		s := map[string]any{"type": "integer"}
		if f.enum != nil {
			var l []int
			for _, e := range f.enum {
				v, _ := strconv.Atoi(e) // the tags are constants; a test reads all of them
				l = append(l, v)
			}
			s["enum"] = l
		}
		return withLimits(s, f)
	case *float64:
		return withLimits(map[string]any{"type": "number"}, f)
	case *bool:
		return map[string]any{"type": "boolean"}
	case *codePoint:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "integer", "minimum": 0, "maximum": 63},
			map[string]any{"type": "string", "pattern": spanRule.String()}}}
	}
	if q, ok := quantities[reflect.TypeOf(target)]; ok {
		return map[string]any{"type": "string", "pattern": q.re.String()}
	}
	panic(fmt.Sprintf("no schema for %T", target))
}

func textSchema(f *field) map[string]any {
	s := map[string]any{"type": "string"}
	if f.loose {
		s["type"] = []string{"string", "number"}
	}
	if f.enum != nil {
		s["enum"] = f.enum
	}
	if f.rule != "" {
		s["pattern"] = textRules[f.rule].re.String()
	}
	return s
}

func withLimits(s map[string]any, f *field) map[string]any {
	if f.limited {
		s["minimum"], s["maximum"] = f.min, f.max
	}
	return s
}

func isScalar(n *yaml.Node) bool {
	return n.Kind != yaml.Map && n.Kind != yaml.List && n.Kind != yaml.Null
}

// given describes a scalar in an error message: its text if it is short and not secret, otherwise
// its kind.
func given(n *yaml.Node, f *field) string {
	if !isScalar(n) || f.secret || len(n.Value) > 60 || strings.Contains(n.Value, "@") {
		return n.Kind.String()
	}
	return strconv.Quote(n.Value)
}

func parseText(n *yaml.Node, t *string, f *field) *scalarError {
	if n.Kind != yaml.Text && !(f.loose && (n.Kind == yaml.Int || n.Kind == yaml.Float)) {
		hint := ""
		if isScalar(n) {
			hint = "put it in quotes"
		}
		if f.secret {
			hint = textRules[f.rule].hint
		}
		return &scalarError{"must be text, not " + n.Kind.String(), hint}
	}
	if f.enum != nil && !slices.Contains(f.enum, n.Value) {
		return &scalarError{"must be " + listed(f.enum, "or") + ", not " + given(n, f), hintFor(n.Value, f.enum)}
	}
	if r := textRules[f.rule]; f.rule != "" && !r.match(n.Value) {
		return &scalarError{"must be " + r.want + ", not " + given(n, f), r.hint}
	}
	*t = n.Value
	return nil
}

func parseInt(n *yaml.Node, t *int, f *field) *scalarError {
	v, err := strconv.Atoi(n.Value)
	switch {
	case err != nil || n.Kind != yaml.Int || !intRule.MatchString(n.Value):
		return &scalarError{"must be a whole number, not " + given(n, f), ""}
	case f.enum != nil && !slices.Contains(f.enum, n.Value):
		return &scalarError{fmt.Sprintf("must be %s, not %d", listed(f.enum, "or"), v), ""}
	case f.limited && (float64(v) < f.min || float64(v) > f.max):
		return &scalarError{fmt.Sprintf("must be %.0f to %.0f, not %d", f.min, f.max, v), ""}
	}
	*t = v
	return nil
}

func parseFloat(n *yaml.Node, t *float64, f *field) *scalarError {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.Int && n.Kind != yaml.Float || err != nil {
		return &scalarError{"must be a number, not " + given(n, f), ""}
	}
	if !(v >= f.min && v <= f.max) {
		return &scalarError{fmt.Sprintf("must be %g to %g, not %g", f.min, f.max, v), ""}
	}
	*t = v
	return nil
}

func parseCodePoint(n *yaml.Node, t *codePoint, f *field) *scalarError {
	bad := &scalarError{"must hold code points 0 to 63 or spans like \"24-31\", not " + given(n, f), ""}
	kind, rule := yaml.Text, spanRule
	lo, hi, spanned := strings.Cut(n.Value, "-")
	if !spanned {
		kind, rule, hi = yaml.Int, intRule, lo
	}
	a, errA := strconv.Atoi(lo)
	b, errB := strconv.Atoi(hi)
	if n.Kind != kind || !rule.MatchString(n.Value) || errA != nil || errB != nil || a < 0 || b > 63 {
		return bad
	}
	if a > b {
		return &scalarError{"holds the span " + given(n, f) + ", whose end is below its beginning", ""}
	}
	*t = codePoint{a, b}
	return nil
}

// parseUnit parses a quantity. In error messages of the units package, the hint follows a
// semicolon.
func parseUnit[T any](n *yaml.Node, t *T, f *field, r textRule, parse func(string) (T, error)) *scalarError {
	if !isScalar(n) || n.Kind == yaml.Bool {
		return &scalarError{"must be text, not " + n.Kind.String(), r.hint}
	}
	v, err := parse(n.Value)
	if err == nil && r.re.MatchString(n.Value) && n.Kind == yaml.Text {
		*t = v
		return nil
	}
	switch {
	case strings.Trim(n.Value, "0123456789.") == "" && n.Value != "", n.Kind != yaml.Text:
		return &scalarError{given(n, f) + " has no unit", r.hint}
	case err != nil && strings.Contains(err.Error(), "is above 100%"):
		return &scalarError{given(n, f) + " is above 100%", ""}
	case err != nil && strings.Contains(err.Error(), "too large"):
		return &scalarError{given(n, f) + " is too large", ""}
	case err != nil && strings.Contains(err.Error(), "not a whole number"):
		return &scalarError{given(n, f) + " is not a whole number of the smallest unit", ""}
	}
	return &scalarError{given(n, f) + " is not a quantity", r.hint}
}

// listed returns "a, b or c".
func listed(l []string, or string) string {
	if len(l) < 2 {
		return strings.Join(l, "")
	}
	return strings.Join(l[:len(l)-1], ", ") + " " + or + " " + l[len(l)-1]
}
