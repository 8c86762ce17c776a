/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest of many, by a heap. See nearest.h. */
#include "nearest.h"

/* A total order, so that every run gives the same result. */
static bool is_nearer(const struct nearest_one *a, const struct nearest_one *b)
{
	return a->far != b->far ? a->far < b->far : a->at < b->at;
}

/* Items below i within the first n are heaps already; make the one at i a heap, too. */
static void sink(struct nearest_one *one, size_t n, size_t i)
{
	for (;;) {
		size_t k = 2 * i + 1;
		struct nearest_one up;

		if (k + 1 < n && is_nearer(&one[k], &one[k + 1]))
			k++;
		if (k >= n || is_nearer(&one[k], &one[i]))
			return;
		up = one[k];
		one[k] = one[i];
		one[i] = up;
		i = k;
	}
}

void nearest_put(struct nearest *s, double far, uint32_t at)
{
	const struct nearest_one next = { far, at };

	if (s->n < s->max) {
		s->one[s->n++] = next;
		return;
	}
	for (size_t i = s->n / 2; !s->many && i-- > 0;)
		sink(s->one, s->n, i);
	s->many = true;
	if (!is_nearer(&next, &s->one[0]))
		return;
	s->one[0] = next;
	sink(s->one, s->n, 0);
}

void nearest_end(struct nearest *s)
{
	for (size_t n = s->n; s->many && n > 1; n--) {
		struct nearest_one farthest = s->one[0];

		s->one[0] = s->one[n - 1];
		s->one[n - 1] = farthest;
		sink(s->one, n - 1, 0);
	}
}
