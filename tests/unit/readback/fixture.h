/* SPDX-License-Identifier: Apache-2.0 */
/* A read-back over the stand-ins of a device and of a publisher, with all that has completed. */
#ifndef UNIT_READBACK_FIXTURE_H
#define UNIT_READBACK_FIXTURE_H

#include "tests/support/test.h"

#include <errno.h>

#include "mem.h"
#include "readback_private.h"
#include "slots.h"
#include "stand_in.h"

#define W 8u
#define H 4u

struct fixture {
	struct stand_in dev;
	struct slots slots;
	struct sim_readback *rb;
	struct sim_readback_options o;
	uint8_t memory[8][4 * W * H * 4];
	unsigned n;
	uint64_t number[64];
	int result[64];
	char why[64][128];
	unsigned copies[64];
	int64_t capture_sim_ns[64];
	uint32_t mine[64];
	bool good[64]; /* the data is what the device has read */
	void (*in_callback)(struct fixture *f, struct sim_readback_ticket *t);
};

static inline bool fixture_good(const struct sim_readback_ticket *t)
{
	for (uint32_t y = 0; y < t->height; y++) {
		for (size_t x = 0; x < 4 * t->width; x++) {
			if (((const uint8_t *)t->data)[y * t->row_pitch + x] !=
			    stand_in_byte((unsigned)t->number, x, y))
				return false;
		}
	}
	return true;
}

static inline void fixture_done(void *arg, struct sim_readback_ticket *t)
{
	struct fixture *f = arg;

	f->number[f->n] = t->number;
	f->result[f->n] = t->result;
	snprintf(f->why[f->n], sizeof(f->why[f->n]), "%s", t->why);
	f->copies[f->n] = t->copies;
	f->capture_sim_ns[f->n] = t->capture_sim_ns;
	if (t->user)
		memcpy(&f->mine[f->n], t->user, sizeof(f->mine[f->n]));
	f->good[f->n] = t->data && fixture_good(t);
	f->n++;
	if (f->in_callback)
		f->in_callback(f, t);
}

/* Other options are set in f->o before. */
static inline void fixture_options(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->slots = (struct slots){ .max_body = 4096, .now_sim_ns = 77 };
	f->dev.direct = true;
	f->o = (struct sim_readback_options){
		.size = sizeof(f->o),
		.shape = { .format = SIM_READBACK_RGBA8, .width = W, .height = H },
		.in_flight = 3,
		.publisher = slots_publisher(&f->slots),
		.head = 64,
		.done = fixture_done,
		.done_arg = f,
		.user_size = sizeof(uint32_t),
	};
}

static inline void fixture_create(struct fixture *f)
{
	assert_ok(readback_create_with(&f->o, stand_in_init(&f->dev), &f->rb));
}

/* Nothing is left. */
static inline void fixture_destroy(struct fixture *f)
{
	sim_readback_destroy(f->rb);
	assert_int_equal(f->slots.out, 0);
	assert_int_equal(f->dev.adds, f->dev.removes);
	assert_int_equal(f->dev.destroys, 1);
}

static inline int fixture_start(struct fixture *f, uint32_t mine)
{
	struct sim_readback_source s = { .size = sizeof(s), .format = f->o.shape.format };
	struct sim_readback_ticket *t = NULL;
	int r;

	if (!f->o.publisher)
		s.memory = f->memory[mine % 8];
	r = sim_readback_start(f->rb, &s, &t);
	if (r == 0)
		memcpy(t->user, &mine, sizeof(mine));
	else
		assert_null(t);
	return r;
}

static inline struct sim_readback_counters fixture_counters(const struct fixture *f)
{
	struct sim_readback_counters n;

	sim_readback_get_counters(f->rb, &n);
	return n;
}

#endif
