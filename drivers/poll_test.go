package drivers

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// A long wait ends early if the device is dead, and continues if the device is busy or
// restarting.
func TestPollEndsWithADeadDevice(t *testing.T) {
	const limit = 10 * time.Minute
	timeout := fmt.Errorf("get: %w", gnmi.ErrTimeout)
	for name, tt := range map[string]struct {
		answers func(call int) (took time.Duration, err error)
		ends    time.Duration
	}{
		"silent from the start":        {func(int) (time.Duration, error) { return 20 * time.Second, timeout }, 40 * time.Second},
		"silent over SSH":              {func(int) (time.Duration, error) { return 15 * time.Second, fmt.Errorf("run: %w", ssh.ErrTimeout) }, 30 * time.Second},
		"busy":                         {func(int) (time.Duration, error) { return time.Second, nil }, limit},
		"restarting":                   {func(int) (time.Duration, error) { return 0, ErrUnreachable }, limit},
		"every other answer gets lost": {func(n int) (time.Duration, error) { return 20 * time.Second, [2]error{timeout, nil}[n%2] }, limit},
		"silent after five minutes": {func(n int) (time.Duration, error) {
			if n < 15 {
				return 20 * time.Second, nil
			}
			return 20 * time.Second, timeout
		}, 340 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				ok, err := Poll(t.Context(), time.Second/2, limit, func() (bool, error) {
					took, err := tt.answers(calls)
					calls++
					time.Sleep(took)
					return false, err
				})
				if took := time.Since(began); ok || took < tt.ends || took > tt.ends+45*time.Second {
					t.Errorf("%t after %s, want %s", ok, took, tt.ends)
				}
				if tt.ends < limit && !errors.Is(err, gnmi.ErrTimeout) && !errors.Is(err, ssh.ErrTimeout) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
