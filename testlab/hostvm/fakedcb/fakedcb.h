/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of fakedcb share; see main.c. */
#ifndef FAKEDCB_H
#define FAKEDCB_H

#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <net/dcbnl.h>

#define FAKE_PRIOS 8
#define FAKE_DSCPS 64

enum fake_rules { RULES_MLX5, RULES_BNXT, RULES_ICE };

/* Counters of one priority, in the order of the names in ethtool.c. */
#define FAKE_COUNTERS 12

struct fake {
	struct net_device *dev;
	enum fake_rules rules;

	struct ieee_ets ets;
	struct ieee_maxrate rate;
	struct dcbnl_buffer buffer;
	bool lossless[DCBX_MAX_BUFFERS];
	bool manual_buffer;
	u8 pfc_en;
	u16 delay;	/* cable length in metres on mlx5 */
	bool ets_set;
	u8 dscp2prio[FAKE_DSCPS];
	DECLARE_BITMAP(listed, FAKE_DSCPS);
	u8 dcbx;
	/* Answer every write with success and keep things as they are. */
	bool ignore;

	bool rx_pause, tx_pause;
	u32 rx_ring, tx_ring;
	u64 counters[FAKE_COUNTERS][FAKE_PRIOS];

	struct delayed_work link_up;
	struct dentry *dir;
};

extern const struct dcbnl_rtnl_ops fake_dcbnl_ops;
extern const struct ethtool_ops fake_ethtool_ops;

void fake_dcb_reset(struct fake *f);
void fake_ethtool_reset(struct fake *f);
void fake_ethtool_debugfs(struct fake *f);
/* Takes the carrier away for the time that the parameter bounce_ms says. */
void fake_bounce(struct fake *f);
u32 fake_speed(void);

#endif
