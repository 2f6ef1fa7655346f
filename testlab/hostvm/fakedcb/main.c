// SPDX-License-Identifier: GPL-2.0
/*
 * fakedcb: Ethernet devices without hardware whose dcbnl and ethtool operations
 * follow the rules of a RoCE NIC's driver, for tests of programs that set DCB.
 *
 * It sends nothing and receives nothing: frames are dropped. The rules are
 * those that a program can see from outside; the driver's own code is in
 * drivers/net/ethernet of Linux (mellanox/mlx5/core/en_dcbnl.c,
 * broadcom/bnxt/bnxt_dcb.c, intel/ice/ice_dcb_nl.c).
 *
 * /sys/kernel/debug/fakedcb/<device>/ holds what a test turns by hand:
 *   <counter>  a statistic of ethtool, for each of its priorities
 *   dcbx       the owner of DCBX: 14 (0x0e) for a firmware that keeps it
 *   ignore     1: writes are answered with success and change nothing
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include "fakedcb.h"

#define MAX_DEVICES 16

static int ndev = 2;
module_param(ndev, int, 0444);
MODULE_PARM_DESC(ndev, "number of devices, 1 to 16");

static char *rules = "mlx5";
module_param(rules, charp, 0444);
MODULE_PARM_DESC(rules, "whose rules: mlx5, bnxt or ice");

static unsigned int bounce_ms = 200;
module_param(bounce_ms, uint, 0644);
MODULE_PARM_DESC(bounce_ms, "how long the carrier is away when the link bounces");

static unsigned int speed = 100000;
module_param(speed, uint, 0444);
MODULE_PARM_DESC(speed, "speed of the links in Mbit/s");

static struct net_device *devices[MAX_DEVICES];
static struct dentry *debug_root;
static enum fake_rules chosen;

u32 fake_speed(void)
{
	return speed;
}

static void link_up(struct work_struct *work)
{
	struct fake *f = container_of(to_delayed_work(work), struct fake, link_up);

	netif_carrier_on(f->dev);
}

void fake_bounce(struct fake *f)
{
	if (!netif_running(f->dev))
		return;
	cancel_delayed_work_sync(&f->link_up);
	netif_carrier_off(f->dev);
	schedule_delayed_work(&f->link_up, msecs_to_jiffies(bounce_ms));
}

static int fake_open(struct net_device *dev)
{
	netif_carrier_on(dev);
	netif_start_queue(dev);
	return 0;
}

static int fake_stop(struct net_device *dev)
{
	struct fake *f = netdev_priv(dev);

	cancel_delayed_work_sync(&f->link_up);
	netif_stop_queue(dev);
	netif_carrier_off(dev);
	return 0;
}

static netdev_tx_t fake_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops fake_netdev_ops = {
	.ndo_open = fake_open,
	.ndo_stop = fake_stop,
	.ndo_start_xmit = fake_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void fake_setup(struct net_device *dev)
{
	struct fake *f = netdev_priv(dev);

	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &fake_netdev_ops;
	dev->ethtool_ops = &fake_ethtool_ops;
	dev->dcbnl_ops = &fake_dcbnl_ops;
	dev->max_mtu = 9978;
	f->dev = dev;
	f->rules = chosen;
	INIT_DELAYED_WORK(&f->link_up, link_up);
	fake_dcb_reset(f);
	fake_ethtool_reset(f);
}

static int add_device(int i)
{
	struct net_device *dev;
	struct fake *f;
	int err;

	dev = alloc_netdev(sizeof(struct fake), "roce%d", NET_NAME_ENUM, fake_setup);
	if (!dev)
		return -ENOMEM;
	netif_carrier_off(dev);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	f = netdev_priv(dev);
	f->dir = debugfs_create_dir(dev->name, debug_root);
	debugfs_create_u8("dcbx", 0644, f->dir, &f->dcbx);
	debugfs_create_bool("ignore", 0644, f->dir, &f->ignore);
	fake_ethtool_debugfs(f);
	devices[i] = dev;
	return 0;
}

static void remove_devices(void)
{
	int i;

	debugfs_remove_recursive(debug_root);
	for (i = 0; i < MAX_DEVICES; i++) {
		if (!devices[i])
			continue;
		unregister_netdev(devices[i]);
		free_netdev(devices[i]);
	}
}

static int __init fake_init(void)
{
	static const char * const names[] = { "mlx5", "bnxt", "ice" };
	int i, err;

	if (ndev < 1 || ndev > MAX_DEVICES)
		return -EINVAL;
	i = match_string(names, ARRAY_SIZE(names), rules);
	if (i < 0)
		return i;
	chosen = i;

	debug_root = debugfs_create_dir("fakedcb", NULL);
	for (i = 0; i < ndev; i++) {
		err = add_device(i);
		if (err) {
			remove_devices();
			return err;
		}
	}
	return 0;
}

static void __exit fake_exit(void)
{
	remove_devices();
}

module_init(fake_init);
module_exit(fake_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Ethernet devices with DCB operations and no hardware, for tests");
