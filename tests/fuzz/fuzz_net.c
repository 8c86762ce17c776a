/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any file as a SUMO network: an accepted one keeps to its bounds, and is turned into triangles in bounded time.
 * Thread: one.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tools/sources/camera/net.h"
#include "tools/sources/camera/streets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct net *n)
{
	for (size_t i = 0; i < n->n; i++) {
		const struct net_shape *s = &n->shapes[i];

		if (s->n < (s->width > 0 ? 2u : 3u) || s->n > NET_SHAPE_MAX || (size_t)s->first + s->n > n->n_points)
			abort();
	}
	for (size_t i = 0; i < 3 * n->n_points; i++) {
		if (!(fabs(n->points[i]) <= 1e8))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct streets s;
	struct net n;

	if (net_parse("fuzz", data, size, &n) < 0)
		return 0;
	check(&n);
	if (streets_build(&n, &s) == 0)
		streets_free(&s);
	net_free(&n);
	return 0;
}
