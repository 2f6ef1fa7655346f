package drivers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf16"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Plain extracts the configuration from saved or copied text. It removes what editors add (byte
// order marks, UTF-16, carriage returns) and what terminals add (prompts, pager remains, escape
// sequences, output of other commands). Removed lines are left empty, so that line numbers do not
// change.
func (all Systems) Plain(text []byte) []byte {
	text = unmarked(text)
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if bytes.ContainsAny(text, "\b\r\x1b") {
		text = typed(text)
	}
	if bytes.Contains(text, []byte("More")) {
		text = pager.ReplaceAll(text, nil)
	}
	return value(all.unprompted(text))
}

// unmarked decodes UTF-16 as written by Windows, with or without a byte order mark, and removes
// the UTF-8 byte order mark.
func unmarked(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		text, order = text[2:], binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		text, order = text[2:], binary.BigEndian
	case len(text) > 3 && text[0] != 0 && text[1] == 0 && text[3] == 0:
		order = binary.LittleEndian
	case len(text) > 3 && text[0] == 0 && text[1] != 0 && text[2] == 0:
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// escape matches a sequence that moves the cursor of a terminal or colors its text.
var escape = lazyre.New("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\n]*\x07|[()][A-Z0-9]|[=>78A-Z])")

// typed returns the text as visible on a terminal: characters after a backspace or carriage
// return overwrite earlier ones.
func typed(text []byte) []byte {
	var out, line []byte
	at, low := 0, 0 // the cursor column, and the end of the line before the cursor moved back
	flush := func() {
		if low > 0 {
			line = bytes.TrimRight(line, " ")
		}
		out, line, at, low = append(out, line...), line[:0], 0, 0
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			flush()
			out = append(out, c)
		case '\r':
			at, low = 0, 1
		case '\b':
			at, low = max(at-1, 0), 1
		case 0x1b:
			m := escape.FindIndex(text[i:min(i+64, len(text))])
			if m == nil || m[0] != 0 {
				continue
			}
			if s := text[i : i+m[1]]; s[len(s)-1] == 'K' && at < len(line) { // erase to the end of the line, or the whole line
				line = line[:at]
			}
			i += m[1] - 1
		default:
			if at < len(line) {
				line[at] = c
			} else {
				line = append(line, c)
			}
			at++
		}
	}
	flush()
	return out
}

// pager matches the prompt that a pager leaves in front of a line.
var pager = lazyre.New(`(?m)^ ?(?:--|<--- )More(?:--| --->)(?:\(\d+%\))? ?`)

// prompt matches a prompt of one word ending in its sign, followed by the typed command; wanted
// matches commands of many systems that show a configuration.
var (
	prompt = lazyre.New(`^[A-Za-z0-9][\w.@:~/()\[\],-]{0,127}[#>$](?:[ \t]*([A-Za-z].*))?[ \t]*$`)
	wanted = lazyre.New(`^(?:sudo )?(?:sh\w*\s+(?:run|start|conf)|cat |more |less |jq |configure|copy run)`)
)

// shows reports whether a command shows a configuration on some system.
func (all Systems) shows(command string) bool {
	return wanted.MatchString(command) || slices.ContainsFunc(all, func(s System) bool { return s.Shows != nil && s.Shows.MatchString(command) })
}

// configures reports whether a command configures without a configuration mode on some system.
func (all Systems) configures(command string) bool {
	return slices.ContainsFunc(all, func(s System) bool { return s.Configures != nil && s.Configures.MatchString(command) })
}

// unprompted removes prompts and the output of commands that show something else. If no typed
// command shows a configuration, all output stays.
func (all Systems) unprompted(text []byte) []byte {
	type session struct { // offsets of the prompt and of the text after it
		from, body int
		command    string
	}
	var found []session
	asked := false
	for at := 0; at < len(text); {
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		if end == at {
			end = len(text)
		}
		if line := bytes.TrimRight(text[at:end], "\n"); bytes.IndexAny(line, "#>$") > 0 {
			if m := prompt.FindSubmatch(line); m != nil {
				found = append(found, session{from: at, body: end, command: string(m[1])})
				asked = asked || all.shows(found[len(found)-1].command)
			}
		}
		at = end
	}
	if len(found) == 0 {
		return text
	}
	out := bytes.Clone(text)
	for i, s := range found {
		to := len(text)
		if i+1 < len(found) {
			to = found[i+1].from
		}
		shows := all.shows(s.command)
		leaves := s.command == "" || s.command == "exit" || s.command == "end"
		if !shows && !(asked && leaves) && (bytes.Contains(out[s.from:s.body], []byte("(config")) || all.configures(s.command)) {
			// Keep configuration commands: they are part of the configuration.
			continue
		}
		if !asked || shows {
			to = s.body
		}
		blank(out[s.from:to])
	}
	if asked {
		blank(out[:found[0].from])
	}
	return out
}

// blank overwrites a text with spaces, keeping line breaks.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// object matches the beginning of a JSON object, or of a list of objects.
var object = lazyre.New(`(?m)^[ \t]*(?:\[\s*)?\{\s*(?:"|\})`)

// value removes the text around a JSON object or a list of objects.
func value(text []byte) []byte {
	for _, sign := range []string{"{}", "[]"} {
		if trimmed := bytes.TrimSpace(text); bytes.HasPrefix(trimmed, []byte(sign[:1])) && bytes.HasSuffix(trimmed, []byte(sign[1:])) {
			return text
		}
	}
	at := object.FindIndex(text)
	if at == nil {
		return text
	}
	var whole json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text[at[0]:]))
	if d.Decode(&whole) != nil {
		return text
	}
	out := bytes.Clone(text)
	blank(out[:at[0]])
	blank(out[at[0]+int(d.InputOffset()):])
	return out
}
