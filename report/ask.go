package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Ask asks a question and returns the answer without spaces around it; an empty line is
// the usual answer. It returns an error when nobody answers, and when ctx ends.
func (c *Console) Ask(ctx context.Context, question, usual string) (string, error) {
	fmt.Fprintf(c.Err, "%s [%s]: ", c.styler(c.Err).Bold(question), usual)
	answer, err := c.answer(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(c.Err)
		return "", err
	case answer == "":
		return usual, nil
	}
	return answer, nil
}

// answer reads a line. A terminal hands out one line a read: none is lost with the
// reader.
func (c *Console) answer(ctx context.Context) (string, error) {
	type said struct {
		line string
		err  error
	}
	answer := make(chan said, 1)
	// A read of a terminal cannot be ended; Ctrl-C ends the process under it.
	go func() {
		line, err := bufio.NewReader(c.In).ReadString('\n')
		answer <- said{strings.TrimSpace(line), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case s := <-answer:
		if errors.Is(s.err, io.EOF) {
			s.err = errors.New("the questions were not answered")
		}
		return s.line, s.err
	}
}
