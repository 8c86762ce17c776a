/* SPDX-License-Identifier: Apache-2.0 */
/* A dead time. See dead_time.h. */
#include "dead_time.h"

static size_t at(const struct dead_time *d, size_t i)
{
	return (d->first + i) % DEAD_TIME_VALUES;
}

void dead_time_init(struct dead_time *d, int64_t dur_ns, double value)
{
	d->dur_ns = dur_ns;
	d->value = value;
	d->first = d->n = 0;
}

static double newest(const struct dead_time *d)
{
	return d->n ? d->waiting[at(d, d->n - 1)].value : d->value;
}

void dead_time_put(struct dead_time *d, int64_t now_ns, double value)
{
	int64_t due_ns = now_ns + d->dur_ns;
	size_t last = d->n ? at(d, d->n - 1) : 0;

	if (value == newest(d))
		return;
	if (d->n && (d->waiting[last].due_ns >= due_ns || d->n == DEAD_TIME_VALUES)) {
		d->waiting[last].value = value;
		return;
	}
	last = at(d, d->n++);
	d->waiting[last].due_ns = due_ns;
	d->waiting[last].value = value;
}

int64_t dead_time_next_ns(const struct dead_time *d)
{
	return d->n ? d->waiting[d->first].due_ns : INT64_MAX;
}

void dead_time_pass(struct dead_time *d, int64_t now_ns)
{
	while (d->n && d->waiting[d->first].due_ns <= now_ns) {
		d->value = d->waiting[d->first].value;
		d->first = at(d, 1);
		d->n--;
	}
}
