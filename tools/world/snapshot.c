/* SPDX-License-Identifier: Apache-2.0 */
/* See snapshot.h. */
#include "snapshot.h"

#include "mem.h"

void snapshot_destroy(struct snapshot *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_sections; i++)
		section_unref(s->sections[i]);
	mem_free(s->sections);
	mem_free(s->gone);
	mem_free(s);
}

int section_key_compare(struct section_key a, struct section_key b)
{
	if (a.level != b.level)
		return a.level < b.level ? -1 : 1;
	if (a.y != b.y)
		return a.y < b.y ? -1 : 1;
	return a.x < b.x ? -1 : a.x > b.x;
}

struct section *snapshot_section(const struct snapshot *s, struct section_key key)
{
	uint32_t low = 0, high = s->n_sections;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = section_key_compare(s->sections[mid]->key, key);

		if (!order)
			return s->sections[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
