// Package words forms small pieces of text for people: counts with their nouns, lists, quoted
// words for a shell, and suggestions for misspelled words.
package words

import (
	"fmt"
	"strings"
)

// Count prints "1 port" or "3 ports".
func Count(n int, noun string) string { return Plural(n, noun, noun+"s") }

// Plural is Count for a noun with an irregular plural: "2 switches".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Are prints "1 port is" or "3 ports are".
func Are(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " is"
	}
	return Count(n, noun) + " are"
}

// Some lists names. If there are more than most+1, it lists the first most and counts the rest.
func Some(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Distance returns the number of insertions, deletions, replacements and swaps of adjacent bytes
// that turn a into b, or limit+1 if there are more than limit.
func Distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return min(prev[len(b)], limit+1)
}

// Nearest returns the known word that was probably meant, or "" if none is similar.
func Nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", 1+len(word)/3
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
		if d := Distance(word, k, least); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// Shell quotes a word for a shell if necessary.
func Shell(s string) string {
	if strings.ContainsAny(s, " !*?[]'\"$&|;<>(){}\\`~#") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
