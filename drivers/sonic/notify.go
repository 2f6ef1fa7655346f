package sonic

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Notify subscribes to the tables of CONFIG_DB that this tool knows and that have rows: the switch
// rejects a subscription to a table without rows (sonic-gnmi sonic_data_client/db_client.go).
// Changes to a table that gets its first row later are therefore not reported.
func (d *driver) Notify(ctx context.Context, ready, changed func()) error {
	cfg, err := d.read(ctx)
	if err != nil {
		return err
	}
	if d.overSSH() {
		return fmt.Errorf("%w: only gNMI reports changes", drivers.ErrUnsupported)
	}
	var paths []gnmi.Path
	for _, table := range native.Tables() {
		if len(cfg[table]) > 0 {
			paths = append(paths, gnmi.Path{table})
		}
	}
	if len(paths) == 0 {
		return fmt.Errorf("%w: CONFIG_DB has none of the tables to subscribe to", drivers.ErrUnsupported)
	}
	c, err := d.client(ctx)
	if err != nil {
		return err
	}
	err = c.OnChange(ctx, configDB[0], paths, ready, changed)
	if rpc, ok := errors.AsType[*gnmi.RPCError](err); ok && rpc.Code == codes.Unimplemented {
		return fmt.Errorf("%w: %w", drivers.ErrUnsupported, err)
	}
	return drivers.TransportError(err)
}
