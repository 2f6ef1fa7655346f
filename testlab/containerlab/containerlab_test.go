//go:build containerlab

package containerlab

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestContainerlab runs the suite on real images in the lab of an example. It must run as root or
// as a member of clab_admins. Its environment variables are:
//
//	ROCE_FABRIC_CLAB_EXAMPLE  the example; default quickstart
//	ROCE_FABRIC_CLAB_IMAGES   arguments as for --image, separated by spaces
//	ROCE_FABRIC_CLAB_RESULTS  the folder for logs and for what images accept; default results
func TestContainerlab(t *testing.T) {
	name := cmp.Or(os.Getenv("ROCE_FABRIC_CLAB_EXAMPLE"), "quickstart")
	results, err := filepath.Abs(cmp.Or(os.Getenv("ROCE_FABRIC_CLAB_RESULTS"), "results"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FABRIC_PASSWORD", cmp.Or(os.Getenv("FABRIC_PASSWORD"), "admin"))
	b := bounds{every: 5 * time.Second, start: 30 * time.Minute, work: time.Hour, all: true}
	runSuite(t, newReal(name+".clab.yml", b), ofExample(t, name, strings.Fields(os.Getenv("ROCE_FABRIC_CLAB_IMAGES"))...), b, results)
}
