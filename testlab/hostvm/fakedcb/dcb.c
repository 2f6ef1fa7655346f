// SPDX-License-Identifier: GPL-2.0
/* The dcbnl operations, by the rules of one driver; see main.c. */
#include <linux/module.h>
#include "fakedcb.h"

#define CELL 128u		/* bytes; a buffer is a whole number of cells */
#define TOTAL_BUFFER 262016u
#define MIN_MAX_MTU 9216u
#define MIN_SPEED 40000u
#define MAX_CABLE 1000		/* metres, exclusive */
#define BNXT_LOSSLESS 2		/* priorities that may be lossless at once */

static struct fake *fake(struct net_device *dev)
{
	return netdev_priv(dev);
}

void fake_dcb_reset(struct fake *f)
{
	int i;

	f->ets.ets_cap = FAKE_PRIOS;
	f->buffer.total_size = TOTAL_BUFFER;
	f->buffer.buffer_size[0] = TOTAL_BUFFER;
	f->dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	for (i = 0; i < FAKE_DSCPS; i++)
		f->dscp2prio[i] = i >> 3;

	switch (f->rules) {
	case RULES_MLX5:
		f->dcbx |= DCB_CAP_DCBX_VER_CEE;
		f->delay = 7;
		for (i = 0; i < FAKE_PRIOS; i++) {
			f->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
			f->ets.prio_tc[i] = i;
		}
		f->ets.prio_tc[0] = 1;
		f->ets.prio_tc[1] = 0;
		break;
	case RULES_ICE:
		f->ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
		f->ets.tc_tx_bw[0] = 100;
		break;
	case RULES_BNXT:
		/* What the firmware holds is not read back. */
		break;
	}
}

/* Whether the firmware keeps DCB from the host. mlx5 does not look. */
static bool kept(struct fake *f)
{
	return f->rules != RULES_MLX5 && !(f->dcbx & DCB_CAP_DCBX_HOST);
}

/* ETS */

static int getets(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = fake(dev)->ets;
	return 0;
}

static int check_ets(struct fake *f, const struct ieee_ets *ets)
{
	bool any = false;
	int i, sum = 0;

	for (i = 0; i < FAKE_PRIOS; i++)
		if (ets->prio_tc[i] >= FAKE_PRIOS)
			return -EINVAL;
	for (i = 0; i < FAKE_PRIOS; i++) {
		switch (ets->tc_tsa[i]) {
		case IEEE_8021QAZ_TSA_ETS:
			any = true;
			sum += ets->tc_tx_bw[i];
			break;
		case IEEE_8021QAZ_TSA_STRICT:
			break;
		case IEEE_8021QAZ_TSA_VENDOR:
			if (f->rules == RULES_BNXT)
				return -ENOTSUPP;
			break;
		default:
			return f->rules == RULES_BNXT ? -ENOTSUPP : -EOPNOTSUPP;
		}
	}
	if (sum > 100 || (any && sum != 100 && f->rules == RULES_MLX5))
		return -EINVAL;
	return 0;
}

static int setets(struct net_device *dev, struct ieee_ets *ets)
{
	struct fake *f = fake(dev);
	struct ieee_ets want = *ets;
	int i, err;

	if (kept(f))
		return -EINVAL;
	err = check_ets(f, ets);
	if (err || f->ignore)
		return err;
	want.ets_cap = FAKE_PRIOS;
	for (i = 0; i < FAKE_PRIOS; i++)
		if (want.tc_tsa[i] != IEEE_8021QAZ_TSA_ETS)
			want.tc_tx_bw[i] = 0;
	if (f->rules == RULES_ICE && memcmp(&want, &f->ets, sizeof(want)))
		fake_bounce(f);
	f->ets = want;
	f->ets_set = true;
	return 0;
}

static int getmaxrate(struct net_device *dev, struct ieee_maxrate *rate)
{
	*rate = fake(dev)->rate;
	return 0;
}

/* The rate is a byte times 100 Mbit/s, or times 1 Gbit/s; 0 is no limit. */
static int setmaxrate(struct net_device *dev, struct ieee_maxrate *rate)
{
	struct fake *f = fake(dev);
	struct ieee_maxrate want = { };
	int i;

	for (i = 0; i < FAKE_PRIOS; i++) {
		u64 kbit = rate->tc_maxrate[i];
		u32 unit = kbit <= 255 * 100000 ? 100000 : 1000000;
		u64 n = DIV_ROUND_UP_ULL(kbit, unit);

		want.tc_maxrate[i] = n > 255 ? 0 : n * unit;
	}
	if (!f->ignore)
		f->rate = want;
	return 0;
}

/* Headroom buffers */

/* Whether each lossless buffer holds what arrives after a pause frame is sent. */
static int check_lossless(struct fake *f, const bool *lossless, const u32 *size)
{
	u32 gbit = max(fake_speed(), MIN_SPEED) / 1000;
	u32 xoff = (301 + 216 * f->delay / 100) * gbit + 272 * f->dev->mtu / 100;
	u32 need = xoff + max(f->dev->max_mtu, MIN_MAX_MTU) + CELL;
	int i;

	for (i = 0; i < DCBX_MAX_BUFFERS; i++) {
		if (!lossless[i] || size[i] >= need)
			continue;
		netdev_err(f->dev, "buffer %d has %u bytes, lossless needs %u\n", i, size[i], need);
		return -ENOMEM;
	}
	return 0;
}

static void find_lossless(bool *lossless, const u8 *prio2buffer, u8 mask)
{
	int i;

	memset(lossless, 0, DCBX_MAX_BUFFERS);
	for (i = 0; i < FAKE_PRIOS; i++)
		if (mask & BIT(i))
			lossless[prio2buffer[i]] = true;
}

static int getbuffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	*buffer = fake(dev)->buffer;
	return 0;
}

static int setbuffer(struct net_device *dev, struct dcbnl_buffer *want)
{
	struct fake *f = fake(dev);
	bool lossless[DCBX_MAX_BUFFERS];
	u64 sum = 0;
	int i, err;

	if (!memcmp(want->prio2buffer, f->buffer.prio2buffer, sizeof(want->prio2buffer)) &&
	    !memcmp(want->buffer_size, f->buffer.buffer_size, sizeof(want->buffer_size)))
		return 0;
	for (i = 0; i < FAKE_PRIOS; i++)
		if (want->prio2buffer[i] >= DCBX_MAX_BUFFERS)
			return -EINVAL;
	memcpy(lossless, f->lossless, sizeof(lossless));
	/* With pause of the whole link on, every priority is lossless. */
	if (memcmp(want->prio2buffer, f->buffer.prio2buffer, sizeof(want->prio2buffer)))
		find_lossless(lossless, want->prio2buffer,
			      f->rx_pause || f->tx_pause ? 0xff : f->pfc_en);
	for (i = 0; i < DCBX_MAX_BUFFERS; i++) {
		if (lossless[i] && !want->buffer_size[i])
			return -EINVAL;
		sum += want->buffer_size[i];
	}
	if (sum > f->buffer.total_size)
		return -EINVAL;
	err = check_lossless(f, lossless, want->buffer_size);
	if (err || f->ignore)
		return err;
	memcpy(f->lossless, lossless, sizeof(lossless));
	memcpy(f->buffer.prio2buffer, want->prio2buffer, sizeof(want->prio2buffer));
	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		f->buffer.buffer_size[i] = want->buffer_size[i] / CELL * CELL;
	f->manual_buffer = true;
	return 0;
}

/* PFC */

static int getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct fake *f = fake(dev);

	pfc->pfc_cap = f->rules == RULES_BNXT ? BNXT_LOSSLESS : FAKE_PRIOS;
	pfc->pfc_en = f->pfc_en;
	pfc->delay = f->delay;
	memcpy(pfc->indications, f->counters[0], sizeof(pfc->indications));
	memcpy(pfc->requests, f->counters[1], sizeof(pfc->requests));
	return 0;
}

/* The mask and the cable must suit buffers that were set by hand. */
static int refit_buffers(struct fake *f)
{
	bool lossless[DCBX_MAX_BUFFERS];
	int err = 0;

	find_lossless(lossless, f->buffer.prio2buffer, f->pfc_en);
	if (f->manual_buffer)
		err = check_lossless(f, lossless, f->buffer.buffer_size);
	if (!err)
		memcpy(f->lossless, lossless, sizeof(lossless));
	return err;
}

static int setpfc_mlx5(struct fake *f, const struct ieee_pfc *pfc)
{
	u16 old = f->delay;
	int err;

	if (pfc->pfc_en != f->pfc_en) {
		f->pfc_en = pfc->pfc_en;
		fake_bounce(f);
	}
	if (pfc->delay && pfc->delay < MAX_CABLE)
		f->delay = pfc->delay;
	err = refit_buffers(f);
	if (err)
		f->delay = old;
	return err;
}

static int setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct fake *f = fake(dev);

	if (kept(f))
		return -EINVAL;
	if (f->rules == RULES_BNXT &&
	    (!f->ets_set || hweight8(pfc->pfc_en) > BNXT_LOSSLESS))
		return -EINVAL;
	if (f->ignore)
		return 0;
	if (f->rules == RULES_MLX5)
		return setpfc_mlx5(f, pfc);
	if (f->rules == RULES_ICE && (pfc->pfc_en != f->pfc_en || pfc->delay != f->delay))
		fake_bounce(f);
	f->pfc_en = pfc->pfc_en;
	f->delay = pfc->delay;
	return 0;
}

/* The APP table */

/* The kernel's list takes an entry where the driver has put it. */
static int enlist(struct fake *f, struct dcb_app *app)
{
	int err = dcb_ieee_setapp(f->dev, app);

	if (!err && app->selector == IEEE_8021QAZ_APP_SEL_DSCP) {
		f->dscp2prio[app->protocol] = app->priority;
		set_bit(app->protocol, f->listed);
	}
	return err;
}

static int setapp_mlx5(struct fake *f, struct dcb_app *app)
{
	struct dcb_app old = *app;

	if (test_bit(app->protocol, f->listed)) {
		old.priority = f->dscp2prio[app->protocol];
		/* Without the entry, as after a move to another namespace, mlx5 goes on. */
		dcb_ieee_delapp(f->dev, &old);
		clear_bit(app->protocol, f->listed);
	}
	return enlist(f, app);
}

static int setapp_ice(struct fake *f, struct dcb_app *app)
{
	if (test_bit(app->protocol, f->listed))
		return -EINVAL;
	if (bitmap_empty(f->listed, FAKE_DSCPS)) {
		/* The port changes from PCP to DSCP, and ETS begins anew. */
		memset(&f->ets, 0, sizeof(f->ets));
		f->ets.ets_cap = FAKE_PRIOS;
		f->ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
		f->ets.tc_tx_bw[0] = 100;
		fake_bounce(f);
	}
	return enlist(f, app);
}

/* bnxt takes every selector, the others DSCP alone. */
static int check_app(struct fake *f, const struct dcb_app *app)
{
	bool dscp = app->selector == IEEE_8021QAZ_APP_SEL_DSCP;

	if (kept(f) || app->priority >= FAKE_PRIOS)
		return -EINVAL;
	if (dscp ? app->protocol >= FAKE_DSCPS : f->rules != RULES_BNXT)
		return -EINVAL;
	return 0;
}

static int setapp(struct net_device *dev, struct dcb_app *app)
{
	struct fake *f = fake(dev);
	int err = check_app(f, app);

	if (err || f->ignore)
		return err;
	switch (f->rules) {
	case RULES_MLX5:
		return setapp_mlx5(f, app);
	case RULES_ICE:
		return setapp_ice(f, app);
	case RULES_BNXT:
		break;
	}
	return enlist(f, app);
}

static int delapp(struct net_device *dev, struct dcb_app *app)
{
	struct fake *f = fake(dev);
	int err = check_app(f, app);

	if (err || f->ignore)
		return err;
	err = dcb_ieee_delapp(dev, app);
	if (!err && app->selector == IEEE_8021QAZ_APP_SEL_DSCP) {
		f->dscp2prio[app->protocol] = 0;
		clear_bit(app->protocol, f->listed);
	}
	return err;
}

/* DCBX */

static u8 getdcbx(struct net_device *dev)
{
	return fake(dev)->dcbx;
}

static u8 setdcbx(struct net_device *dev, u8 mode)
{
	struct fake *f = fake(dev);

	if ((mode | f->dcbx) & DCB_CAP_DCBX_LLD_MANAGED)
		return 1;
	if (f->rules == RULES_ICE && mode == f->dcbx)
		return 1;
	if (f->rules != RULES_MLX5 && (mode & DCB_CAP_DCBX_HOST) && (mode & DCB_CAP_DCBX_VER_CEE))
		return 1;
	if (mode && !(mode & DCB_CAP_DCBX_HOST) && f->rules == RULES_MLX5)
		return 1;
	if (f->ignore)
		return 0;
	if (mode || f->rules != RULES_MLX5)
		f->dcbx = mode;
	else
		f->dcbx &= ~DCB_CAP_DCBX_HOST;
	return 0;
}

const struct dcbnl_rtnl_ops fake_dcbnl_ops = {
	.ieee_getets = getets,
	.ieee_setets = setets,
	.ieee_getmaxrate = getmaxrate,
	.ieee_setmaxrate = setmaxrate,
	.ieee_getpfc = getpfc,
	.ieee_setpfc = setpfc,
	.ieee_setapp = setapp,
	.ieee_delapp = delapp,
	.getdcbx = getdcbx,
	.setdcbx = setdcbx,
	.dcbnl_getbuffer = getbuffer,
	.dcbnl_setbuffer = setbuffer,
};
