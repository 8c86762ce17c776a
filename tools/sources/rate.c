/* SPDX-License-Identifier: Apache-2.0 */
/* Rates that are parameters. See rate.h. */
#include "rate.h"

#include <math.h>

#include "log.h"
#include "outlet.h"

LOG_TOPIC("rate");

#define NOT_SET (-1)

/* A rate above 0 must not become 0, which means "at every call". */
static int64_t mhz_of(double hz)
{
	int64_t mhz = lround(hz * 1000);

	return mhz == 0 && hz > 0 ? 1 : mhz;
}

static int apply(struct rate *r, int64_t mhz)
{
	r->always = mhz == 0;
	return r->always ? 0 : sim_gate_init(&r->gate, (uint32_t)mhz);
}

int rate_init(struct rate *r, double hz)
{
	atomic_init(&r->next_mhz, NOT_SET);
	return apply(r, mhz_of(hz));
}

bool rate_due(struct rate *r, const struct sim_clock_sample *now)
{
	int64_t mhz = atomic_exchange(&r->next_mhz, NOT_SET);

	if (mhz != NOT_SET)
		(void)apply(r, mhz); /* within its bounds */
	return r->always || sim_gate_due(&r->gate, now);
}

static int on_set(void *user, const char *name, const struct sim_param_value *v, char *why, size_t why_size)
{
	(void)name;
	(void)why;
	(void)why_size;
	atomic_store(&((struct rate *)user)->next_mhz, mhz_of(v->as.d));
	return 0;
}

int rate_declare(struct rate *r, struct sim_params *p, const struct rate_param *o)
{
	struct sim_param_options po = { .size = sizeof(po),
					.description = o->description,
					.min = sim_param_double(o->min),
					.max = sim_param_double(o->max),
					.changed = on_set,
					.user = r };
	struct sim_param_value v = sim_param_double(o->initial);

	return sim_params_declare(p, o->name, &v, &po);
}

struct sim_params *rate_params(struct sim_client *c, const char *name)
{
	struct sim_params *p = NULL;
	int r = sim_params_create(c, name, &p);

	if (r < 0)
		log_warn("parameters cannot be set: %s; give this source a name of its own with --name", source_why(r));
	return p;
}
