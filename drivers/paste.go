package drivers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf16"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Plain is the configuration in what somebody saved or copied: without what editors
// add, a byte order mark, UTF-16 and carriage returns, and what terminals add: prompts,
// the rests of a pager, escape sequences, and the output of other commands. Lines keep
// their numbers: what goes leaves an empty line.
func Plain(text []byte) []byte {
	text = unmarked(text)
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if bytes.ContainsAny(text, "\b\r\x1b") {
		text = typed(text)
	}
	if bytes.Contains(text, []byte("More")) {
		text = pager.ReplaceAll(text, nil)
	}
	return value(unprompted(text))
}

// unmarked decodes UTF-16, which Windows writes, with a byte order mark or without one,
// and takes off the mark of UTF-8.
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

// escape is a sequence that moves the cursor of a terminal or colours its text.
var escape = lazyre.New("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\n]*\x07|[()][A-Z0-9]|[=>78A-Z])")

// typed is what is left to see on a terminal: backspaces and carriage returns write
// over what stands there.
func typed(text []byte) []byte {
	var out, line []byte
	at, low := 0, 0 // the place of the cursor, and where the line ended when it was moved
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
			if s := text[i : i+m[1]]; s[len(s)-1] == 'K' && at < len(line) { // to the end of the line, or all of it
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

// pager is what a pager leaves in front of a line.
var pager = lazyre.New(`(?m)^ ?(?:--|<--- )More(?:--| --->)(?:\(\d+%\))? ?`)

// A prompt is one word that ends with its sign, and what was typed behind it; wanted
// are the commands that show a configuration.
var (
	prompt = lazyre.New(`^[A-Za-z0-9][\w.@:~/()\[\],-]{0,127}[#>$](?:[ \t]*([A-Za-z].*))?[ \t]*$`)
	wanted = lazyre.New(`^(?:sudo )?(?:sh\w*\s+(?:run|start|conf)|nv config show|cat |more |less |sonic-cfggen |jq |configure|copy run)`)
	// configures is a command that configures without a mode for that.
	configures = lazyre.New(`^(?:sudo )?nv (?:un)?set `)
)

// unprompted takes away prompts and the output of commands that show something else.
// Where nothing was typed that shows a configuration, the outputs stay.
func unprompted(text []byte) []byte {
	type session struct { // offsets of the prompt and of what follows it
		from, body int
		command    string
	}
	var all []session
	asked := false
	for at := 0; at < len(text); {
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		if end == at {
			end = len(text)
		}
		if line := bytes.TrimRight(text[at:end], "\n"); bytes.IndexAny(line, "#>$") > 0 {
			if m := prompt.FindSubmatch(line); m != nil {
				all = append(all, session{from: at, body: end, command: string(m[1])})
				asked = asked || wanted.MatchString(all[len(all)-1].command)
			}
		}
		at = end
	}
	if len(all) == 0 {
		return text
	}
	out := bytes.Clone(text)
	for i, s := range all {
		to := len(text)
		if i+1 < len(all) {
			to = all[i+1].from
		}
		shows := wanted.MatchString(s.command)
		leaves := s.command == "" || s.command == "exit" || s.command == "end"
		if !shows && !(asked && leaves) && (bytes.Contains(out[s.from:s.body], []byte("(config")) || configures.MatchString(s.command)) {
			// What is typed to configure is configuration.
			continue
		}
		if !asked || shows {
			to = s.body
		}
		blank(out[s.from:to])
	}
	if asked {
		blank(out[:all[0].from])
	}
	return out
}

// blank writes spaces over a text, and keeps its lines.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// object is where a text in JSON begins: an object, or a list of them.
var object = lazyre.New(`(?m)^[ \t]*(?:\[\s*)?\{\s*(?:"|\})`)

// value takes away what stands around an object in JSON, or a list of them.
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
