package cli

import (
	"fmt"
	"regexp"
	"strings"
)

// Entry is a command in a table. Its pattern is a list of words: a word in capitals is an
// argument, and bars separate alternative spellings of a word.
type Entry interface{ Pattern() string }

// isArgument reports whether a word of a pattern stands for any word.
func isArgument(word string) bool { return word == strings.ToUpper(word) }

// Find looks up a command by its words and returns its arguments; the first match wins. Without a
// match, c is nil and at is the index of the first word that no command has in that position. An
// index after the last word means that words are missing.
func Find[C Entry](table []C, words []string) (c *C, args []string, at int) {
	for i, c := range table {
		pattern := strings.Fields(c.Pattern())
		var args []string
		n := 0
		for n < len(pattern) && n < len(words) {
			if isArgument(pattern[n]) {
				args = append(args, words[n])
			} else if !oneOf(pattern[n], words[n]) {
				break
			}
			n++
		}
		if n == len(pattern) && n == len(words) {
			return &table[i], args, n
		}
		at = max(at, n)
	}
	return nil, nil, at
}

func oneOf(choice, word string) bool {
	for c := range strings.SplitSeq(choice, "|") {
		if c == word {
			return true
		}
	}
	return false
}

// Include returns the lines that match a regular expression.
func Include(text, expr string) (string, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", fmt.Errorf("include: %w", err)
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		if re.MatchString(strings.TrimRight(l, "\n")) {
			b.WriteString(l)
		}
	}
	return b.String(), nil
}
