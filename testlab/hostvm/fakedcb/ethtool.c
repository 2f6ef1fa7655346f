// SPDX-License-Identifier: GPL-2.0
/* Pause, rings, speed and statistics by ethtool; see main.c. */
#include <linux/debugfs.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include "fakedcb.h"

#define MAX_RING 8192

/* mlx5's names (mlx5/core/en_stats.c). dcb.c reports the first two as well. */
static const char * const names[FAKE_COUNTERS] = {
	"rx_prio%d_pause", "tx_prio%d_pause",
	"rx_prio%d_bytes", "rx_prio%d_packets",
	"tx_prio%d_bytes", "tx_prio%d_packets",
	"rx_prio%d_pause_duration", "tx_prio%d_pause_duration",
	"rx_prio%d_pause_transition",
	"rx_prio%d_discards", "rx_prio%d_buf_discard", "rx_prio%d_cong_discard",
};

/* mlx5 lists the pause counters of those priorities only that have PFC. */
static bool listed(struct fake *f, int counter, int prio)
{
	return !strstr(names[counter], "_pause") || f->rules != RULES_MLX5 ||
	       (f->pfc_en & BIT(prio));
}

void fake_ethtool_reset(struct fake *f)
{
	f->rx_pause = true;
	f->tx_pause = true;
	f->rx_ring = 1024;
	f->tx_ring = 1024;
}

void fake_ethtool_debugfs(struct fake *f)
{
	char name[ETH_GSTRING_LEN];
	int c, p;

	for (c = 0; c < FAKE_COUNTERS; c++) {
		for (p = 0; p < FAKE_PRIOS; p++) {
			snprintf(name, sizeof(name), names[c], p);
			debugfs_create_u64(name, 0644, f->dir, &f->counters[c][p]);
		}
	}
}

static int get_sset_count(struct net_device *dev, int set)
{
	struct fake *f = netdev_priv(dev);
	int c, p, n = 0;

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	for (c = 0; c < FAKE_COUNTERS; c++)
		for (p = 0; p < FAKE_PRIOS; p++)
			n += listed(f, c, p);
	return n;
}

static void get_strings(struct net_device *dev, u32 set, u8 *out)
{
	struct fake *f = netdev_priv(dev);
	int c, p;

	if (set != ETH_SS_STATS)
		return;
	for (c = 0; c < FAKE_COUNTERS; c++) {
		for (p = 0; p < FAKE_PRIOS; p++) {
			if (!listed(f, c, p))
				continue;
			snprintf(out, ETH_GSTRING_LEN, names[c], p);
			out += ETH_GSTRING_LEN;
		}
	}
}

static void get_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *out)
{
	struct fake *f = netdev_priv(dev);
	int c, p;

	for (c = 0; c < FAKE_COUNTERS; c++)
		for (p = 0; p < FAKE_PRIOS; p++)
			if (listed(f, c, p))
				*out++ = f->counters[c][p];
}

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "fakedcb", sizeof(info->driver));
}

static void get_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct fake *f = netdev_priv(dev);

	pause->rx_pause = f->rx_pause;
	pause->tx_pause = f->tx_pause;
}

static int set_pause(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct fake *f = netdev_priv(dev);

	if (pause->autoneg)
		return -EINVAL;
	f->rx_pause = pause->rx_pause;
	f->tx_pause = pause->tx_pause;
	return 0;
}

static void get_ring(struct net_device *dev, struct ethtool_ringparam *ring,
		     struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *ack)
{
	struct fake *f = netdev_priv(dev);

	ring->rx_max_pending = MAX_RING;
	ring->tx_max_pending = MAX_RING;
	ring->rx_pending = f->rx_ring;
	ring->tx_pending = f->tx_ring;
}

static int set_ring(struct net_device *dev, struct ethtool_ringparam *ring,
		    struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *ack)
{
	struct fake *f = netdev_priv(dev);

	f->rx_ring = ring->rx_pending;
	f->tx_ring = ring->tx_pending;
	return 0;
}

static int get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *link)
{
	bool up = netif_carrier_ok(dev);

	link->base.speed = up ? fake_speed() : SPEED_UNKNOWN;
	link->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	link->base.port = PORT_FIBRE;
	return 0;
}

const struct ethtool_ops fake_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = get_link_ksettings,
	.get_pauseparam = get_pause,
	.set_pauseparam = set_pause,
	.get_ringparam = get_ring,
	.set_ringparam = set_ring,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
};
