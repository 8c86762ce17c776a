/* SPDX-License-Identifier: Apache-2.0 */
/* See segment.h. */
#include "segment.h"

#include <stdio.h>
#include <string.h>

#include "err.h"

struct mapping {
	uintptr_t begin, end;
	unsigned long long offset, inode;
	char mode[5], dev[32];
};

static int continues(const struct mapping *a, const struct mapping *b)
{
	return a->end == b->begin && a->inode == b->inode && strcmp(a->dev, b->dev) == 0 &&
	       a->offset + (a->end - a->begin) == b->offset && strcmp(a->mode, b->mode) == 0;
}

static int read_line(FILE *f, struct mapping *ret)
{
	char line[4352];
	unsigned long begin, end;

	do {
		if (!fgets(line, sizeof(line), f))
			return 0;
	} while (sscanf(line, "%lx-%lx %4s %llx %31s %llu", &begin, &end, ret->mode, &ret->offset, ret->dev,
			&ret->inode) != 6);
	ret->begin = begin;
	ret->end = end;
	return 1;
}

int segment_find(const void *p, struct segment *ret)
{
	uintptr_t at = (uintptr_t)p;
	struct mapping all = { .end = 0 }, m;
	FILE *f = fopen("/proc/self/maps", "re");

	if (!f)
		return err_sys(-errno, "/proc/self/maps");
	while (read_line(f, &m)) {
		if (all.end && continues(&all, &m)) {
			all.end = m.end;
			continue;
		}
		if (all.end > at)
			break;
		all = m;
	}
	fclose(f);
	if (!(all.begin <= at && at < all.end) || strcmp(all.mode, "rw-s") != 0)
		return err_set(-ENOENT, "the target is in no shared memory");
	ret->base = all.begin;
	ret->size = all.end - all.begin;
	return 0;
}
