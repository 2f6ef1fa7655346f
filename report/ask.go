package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Ask prints a question and returns the trimmed answer, or usual if the answer is empty. It
// fails if the input ends or ctx is cancelled.
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

// answer reads one line of input. A terminal returns one line per read, so the discarded
// bufio.Reader never swallows a further line.
func (c *Console) answer(ctx context.Context) (string, error) {
	type said struct {
		line string
		err  error
	}
	answer := make(chan said, 1)
	// A blocking read of a terminal cannot be cancelled; on Ctrl-C the process exits and ends
	// the goroutine.
	go func() {
		line, err := bufio.NewReader(c.In).ReadString('\n')
		answer <- said{strings.TrimSpace(line), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case s := <-answer:
		if errors.Is(s.err, io.EOF) {
			s.err = errors.New("input ended before all questions were answered")
		}
		return s.line, s.err
	}
}
