/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages that come in share. */
#ifndef APOLLO_IN_H
#define APOLLO_IN_H

#include "apollo_private.h"

struct apollo_stamp { /* of a header; zeros: there is none */
	double s;
	const void *frame;
	size_t frame_len;
};

void apollo_read_header(const struct pb_reader *field, struct apollo_stamp *ret);
/* Its stamp, and whether the message is for us and new enough: 0, -ERANGE, -ETIME, -EXDEV. */
int apollo_check_stamp(struct apollo_in *d, const struct apollo_stamp *h, int64_t *ret_ns);

/* struct sim_T *m: the zeroed message of d, with its builder; an error of before or -ENOBUFS is returned */
#define APOLLO_START(d, error, T) \
	struct sim_builder builder; \
	struct sim_##T *m; \
	if (error) \
		return error; \
	m = sim_##T##_init((d)->body, (d)->room, &builder); \
	if (!m) \
	return -ENOBUFS

static inline int apollo_made(struct apollo_in *d, const struct sim_builder *b)
{
	d->size = sim_builder_size(b);
	return sim_builder_error(b);
}

#endif
