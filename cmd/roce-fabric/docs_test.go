package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/report"
)

// commandLine is a command line of this program found in a text.
type commandLine struct {
	place string
	args  []string
	// prose is set for a mention in a sentence, which may omit the arguments.
	prose bool
}

// Every command line in the documentation, the CI examples and the help uses existing commands
// and flags and a valid number of arguments.
func TestCommandLinesInDocumentation(t *testing.T) {
	var lines []commandLine
	for path, text := range pages(t) {
		lines = append(lines, inMarkdown(path, text)...)
	}
	if len(lines) < 50 {
		t.Fatalf("%d command lines were found, there are more", len(lines))
	}
	for _, f := range []string{gitHubFile, gitLabFile} {
		verbs := map[string]bool{}
		for place, script := range scriptsOf(t, f) {
			for _, args := range inShell(script) {
				verbs[args[0]] = true
				lines = append(lines, commandLine{place: place, args: args})
			}
		}
		for _, v := range []string{"check", "plan", "apply", "validate"} {
			if !verbs[v] {
				t.Errorf("%s never runs roce-fabric %s", f, v)
			}
		}
	}
	var examples func(c *cobra.Command)
	examples = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			for _, args := range inShell(sub.Example) {
				lines = append(lines, commandLine{place: sub.CommandPath() + " --help", args: args})
			}
			examples(sub)
		}
	}
	examples(silentApp().root())

	t.Chdir(t.TempDir())
	for _, l := range lines {
		if err := wouldRun(l.args, l.prose); err != nil {
			t.Errorf("%s: roce-fabric %s: %v", l.place, strings.Join(l.args, " "), err)
		}
	}
}

func silentApp() *app {
	return &app{Console: report.Console{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Getenv: func(string) string { return "" }}}
}

// wouldRun parses and checks a command line without running the command. With bare, the command
// may come without its arguments.
func wouldRun(args []string, bare bool) error {
	cmd, rest, err := silentApp().root().Find(args)
	if err != nil {
		return err
	}
	if bare && len(rest) == 0 && cmd.HasParent() {
		return nil
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return nil
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	// The folders of reports must exist.
	if files, err := cmd.Flags().GetStringArray("report"); err == nil {
		for _, f := range files {
			_, path, _ := strings.Cut(f, "=")
			if !filepath.IsLocal(path) {
				return fmt.Errorf("--report %s: documentation writes into the working folder", f)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
		}
	}
	if cmd.PreRunE != nil {
		return cmd.PreRunE(cmd, cmd.Flags().Args())
	}
	return nil
}

func TestCommandLinesThatWouldNotRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"roce-fabric paln":                         `unknown command "paln"`,
		"roce-fabric plan --svae x":                "unknown flag: --svae",
		"roce-fabric plan a extra":                 "takes [INTENT], not",
		"roce-fabric version extra":                "takes no arguments",
		"roce-fabric check --output toml":          "--output toml",
		"roce-fabric validate --report yaml=r":     `unknown form "yaml"`,
		"roce-fabric apply --allow everything":     `unknown impact "everything"`,
		"roce-fabric nic aply":                     `unknown command "aply"`,
		"roce-fabric plan --parallel=many":         "invalid argument",
		"roce-fabric apply -f a --plan p --yes":    "",
		"roce-fabric help plan":                    "",
		"roce-fabric explain leaf1 Ethernet0 --hx": "unknown flag: --hx",
	} {
		found := inShell(text)
		if len(found) != 1 {
			t.Errorf("%s: %d command lines", text, len(found))
			continue
		}
		err := wouldRun(found[0], false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// pages returns the Markdown files of the repository.
func pages(t *testing.T) map[string]string {
	root := filepath.Join("..", "..")
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		b, err := os.ReadFile(path)
		out[filepath.ToSlash(path[len(root)+1:])] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"README.md", "docs/gitops.md", "examples/quickstart/README.md"} {
		if out[want] == "" {
			t.Fatalf("%s was not found", want)
		}
	}
	return out
}

var (
	fence  = regexp.MustCompile("(?ms)^[ \t]*```[a-z]*\n(.*?)^[ \t]*```")
	inline = regexp.MustCompile("`((?:sudo )?roce-fabric\\s[^`]+)`")
	// helpBlock matches the help of a command, whose examples have their own test.
	helpBlock = regexp.MustCompile("(?ms)^```help\n.*?^```")
	// yamlKey matches the YAML key before a command in a workflow.
	yamlKey = regexp.MustCompile(`(?m)^\s*(?:- )?(?:[a-z]+: )?(\S*roce-fabric )`)
)

// inMarkdown finds command lines in the code of a page.
func inMarkdown(path, text string) []commandLine {
	var out []commandLine
	text = helpBlock.ReplaceAllString(text, "")
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		for _, args := range inShell(yamlKey.ReplaceAllString(m[1], "$1")) {
			out = append(out, commandLine{place: path, args: args})
		}
	}
	for _, m := range inline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		for _, args := range inShell(strings.NewReplacer("\n", " ", `\|`, "|").Replace(m[1])) {
			out = append(out, commandLine{place: path, args: args, prose: true})
		}
	}
	return out
}

// beforeCommand lists words that may precede the name of a program.
var beforeCommand = []string{"$", "sudo", "then", "else", "do", "if", "!", "exec", "time"}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// inShell returns the arguments of each call of this program in a shell script.
func inShell(text string) [][]string {
	var out [][]string
	for _, words := range shellCommands(text) {
		for len(words) > 0 && (assignment.MatchString(words[0]) || slices.Contains(beforeCommand, words[0])) {
			words = words[1:]
		}
		if len(words) > 3 && words[0] == "go" && words[1] == "run" {
			words = words[2:]
		}
		if len(words) > 1 && (words[0] == "roce-fabric" || strings.HasSuffix(words[0], "/roce-fabric")) {
			out = append(out, words[1:])
		}
	}
	return out
}

// shellValues gives variables of the CI examples a value if arbitrary text would be invalid.
var shellValues = map[string]string{"ALLOW": "counters", "FABRIC_ALLOW": "counters"}

// shellCommands splits a shell script into commands and these into words. It handles quotes,
// comments, continued lines, operators and redirections, which is enough for the documentation.
func shellCommands(text string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	inWord, redirect := false, false
	endWord := func() {
		if inWord && !redirect {
			words = append(words, os.Expand(word.String(), func(name string) string {
				if v, ok := shellValues[name]; ok {
					return v
				}
				return "x"
			}))
		}
		if inWord {
			redirect = false
		}
		inWord = false
		word.Reset()
	}
	endCommand := func() {
		endWord()
		redirect = false
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				inWord = true
				word.WriteByte(text[i])
			}
		case '\'', '"':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				// An apostrophe in prose.
				word.WriteByte(c)
				inWord = true
				continue
			}
			word.WriteString(text[i+1 : i+1+end])
			inWord = true
			i += 1 + end
		case ' ', '\t':
			endWord()
		case '\n', ';', '|', '&', '(', ')':
			endCommand()
		case '{', '}':
			if inWord {
				word.WriteByte(c)
			} else {
				endCommand()
			}
		case '>', '<':
			if strings.Trim(word.String(), "0123456789") == "" {
				inWord = false // a file descriptor number
				word.Reset()
			}
			endWord()
			redirect = true
			for i+1 < len(text) && (text[i+1] == '>' || text[i+1] == '&') {
				i++
			}
		case '#':
			if inWord {
				word.WriteByte(c)
				continue
			}
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		default:
			inWord = true
			word.WriteByte(c)
		}
	}
	endCommand()
	return out
}

func TestShellCommands(t *testing.T) {
	for text, want := range map[string][]string{
		"$ roce-fabric plan   -f fabric.yaml  # what would change":              {"plan -f fabric.yaml"},
		"roce-fabric check \\\n  -f a --report sarif=r && echo done":            {"check -f a --report sarif=r"},
		"X=1 sudo bin/roce-fabric apply --allow \"$ALLOW\" > out.txt || s=$?":   {"apply --allow counters"},
		"roce-fabric check --output json 2>err.txt | jq -r '.a | .b'":           {"check --output json"},
		"roce-fabric validate --only 'leaf[1-2],gpu*' 2>&1":                     {"validate --only leaf[1-2],gpu*"},
		"go run ./cmd/roce-fabric lab demo":                                     {"lab demo"},
		"go build -o bin/roce-fabric ./cmd/roce-fabric":                         nil,
		"if [[ -f x ]]; then roce-fabric plan; fi; { roce-fabric check -f y; }": {"plan", "check -f y"},
		"echo roce-fabric plan":                                                 nil,
		"roce-fabric plan --save \"${RUNNER_TEMP}/fabric.plan\" --exit-code":    {"plan --save x/fabric.plan --exit-code"},
	} {
		var got []string
		for _, args := range inShell(text) {
			got = append(got, strings.Join(args, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Each word and flag of another tool leads to a command or flag that exists here.
func TestWordsOfOtherTools(t *testing.T) {
	a := &app{Console: report.Console{Getenv: func(string) string { return "" }}}
	root := a.root()
	for word, command := range otherWords {
		at, rest, err := root.Find(strings.Fields(command))
		if err != nil || len(rest) > 0 || at == root {
			t.Errorf("%s: there is no command %s", word, command)
		}
		if at, _, err := root.Find([]string{word}); err == nil && at != root {
			t.Errorf("%s is a command itself", word)
		}
	}
	flags := map[string]bool{}
	var collect func(*cobra.Command)
	collect = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, sub := range c.Commands() {
			collect(sub)
		}
	}
	collect(root)
	for word, flag := range otherFlags {
		if name, _, _ := strings.Cut(flag, " "); !flags[name] {
			t.Errorf("%s: no command has --%s", word, flag)
		}
		if flags[word] {
			t.Errorf("--%s is a flag itself", word)
		}
	}
}
