package cumulus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// commands reads "nv set" and "nv unset" commands. Other lines configure nothing.
func (p *parser) commands(text string) error {
	form := formOf(text)
	lines := strings.Split(text, "\n")
	around := byte(0) // the quote around several commands, such as those for ssh
	for i := 0; i < len(lines); i++ {
		first := i
		line := strings.TrimRight(lines[i], "\r")
		if form.MatchString(line) {
			line, i = continued(line, lines, i)
		}
		m := form.FindStringSubmatch(line)
		if m != nil {
			if before := strings.TrimSpace(m[1]); before != "" && strings.ContainsAny(before[len(before)-1:], `'"`) {
				around = before[len(before)-1]
			}
			cmds, err := nvCommands(form, line, around)
			for errors.Is(err, errQuote) && i+1 < len(lines) && i-first < maxQuoted {
				i++
				line += "\n" + strings.TrimRight(lines[i], "\r")
				cmds, err = nvCommands(form, line, around)
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", first+1, err)
			}
			if err := p.each(cmds, first+1, line); err != nil {
				return err
			}
		}
		if end := strings.TrimSpace(line); around != 0 && end != "" && end[len(end)-1] == around {
			around = 0
		}
	}
	return nil
}

// continued joins a line with those that a shell takes as parts of it: a line that ends with a
// backslash goes on in the next one. It returns the number of the last part.
func continued(line string, lines []string, i int) (string, int) {
	for last := min(i+maxQuoted, len(lines)-1); strings.HasSuffix(line, `\`) && i < last; {
		i++
		line = strings.TrimSuffix(line, `\`) + strings.TrimRight(lines[i], "\r")
	}
	return line, i
}

// each applies the commands of a line.
func (p *parser) each(cmds [][]string, no int, line string) error {
	for _, words := range cmds {
		text, _, _ := strings.Cut(line[strings.Index(line, "nv "):], "\n")
		from := &source{no: no, text: strings.TrimSpace(text)}
		if len(cmds) > 1 {
			from.text = "nv " + strings.Join(words, " ")
		}
		if err := p.command(words, from); err != nil {
			return err
		}
	}
	return nil
}

// nvCommands returns the set and unset commands of a line, each as the words after "nv". around is
// the quote that began before them, 0 if none did.
func nvCommands(form *lazyre.Regexp, line string, around byte) (out [][]string, err error) {
	for m := form.FindStringSubmatch(line); m != nil; m = prompted.FindStringSubmatch(line) {
		words, rest, err := shellWords(m[2], around)
		if err != nil {
			return nil, err
		}
		if len(words) > 1 {
			out = append(out, words)
		}
		line = strings.TrimLeft(rest, "&|; ")
	}
	return out, nil
}
