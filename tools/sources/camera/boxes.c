/* SPDX-License-Identifier: Apache-2.0 */
/* See boxes.h. */
#include "boxes.h"

#include <string.h>

#define SLOTS (4 * BOXES_MAX)

/* NULL: no room. */
static struct box2 *box_of(struct boxes *b, uint32_t id)
{
	uint32_t i = (id * 2654435769u) >> 20 & (SLOTS - 1); /* Knuth's multiplier */

	for (; b->table[i]; i = (i + 1) & (SLOTS - 1))
		if (b->at[b->table[i] - 1].id == id)
			return &b->at[b->table[i] - 1];
	if (b->n == BOXES_MAX)
		return NULL;
	b->table[i] = (uint16_t)(b->n + 1);
	b->at[b->n] = (struct box2){ .id = id, .x0 = UINT32_MAX, .y0 = UINT32_MAX };
	return &b->at[b->n++];
}

static void add_run(struct boxes *b, uint32_t id, uint32_t x0, uint32_t x1, uint32_t y)
{
	struct box2 *o = id ? box_of(b, id) : NULL;

	if (!o) {
		b->left_out += id != 0;
		return;
	}
	o->pixels += x1 - x0 + 1;
	o->x0 = x0 < o->x0 ? x0 : o->x0;
	o->x1 = x1 > o->x1 ? x1 : o->x1;
	o->y0 = y < o->y0 ? y : o->y0;
	o->y1 = y;
}

static void sift(struct box2 *a, uint32_t i, uint32_t n)
{
	for (uint32_t k; (k = 2 * i + 1) < n; i = k) {
		struct box2 t = a[i];

		k += k + 1 < n && a[k + 1].id > a[k].id;
		if (a[k].id <= t.id)
			return;
		a[i] = a[k];
		a[k] = t;
	}
}

/* Heapsort, as qsort() may allocate. */
static void sort_by_id(struct box2 *a, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(a, i, n);
	for (uint32_t i = n; i-- > 1;) {
		struct box2 t = a[0];

		a[0] = a[i];
		a[i] = t;
		sift(a, 0, i);
	}
}

void boxes_find(struct boxes *b, const void *ids, size_t pitch, uint32_t width, uint32_t height)
{
	b->n = b->left_out = 0;
	memset(b->table, 0, sizeof(b->table));
	for (uint32_t y = 0; y < height; y++) {
		const uint32_t *row = (const uint32_t *)(const void *)((const uint8_t *)ids + y * pitch);

		for (uint32_t x = 0, begin; x < width; x++) {
			for (begin = x; x + 1 < width && row[x + 1] == row[begin]; x++)
				;
			add_run(b, row[begin], begin, x, y);
		}
	}
	sort_by_id(b->at, b->n);
}
