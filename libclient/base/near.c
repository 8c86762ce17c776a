/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance, see near.h. */
#include "near.h"

#include <string.h>

#define CHANGES_MAX 2
#define LETTERS_MAX 63

/* Levenshtein, one row at a time. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[LETTERS_MAX + 1];
	size_t n = strlen(b);

	if (n > LETTERS_MAX)
		return CHANGES_MAX + 1;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

int near_offer(struct near *n, const char *candidate)
{
	unsigned d = distance(n->word, candidate);

	if (d > CHANGES_MAX || (n->found && d >= n->changes))
		return 0;
	n->found = candidate;
	n->changes = d;
	return 1;
}
