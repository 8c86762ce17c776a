/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance, see near.h. */
#include "near.h"

#include <stdio.h>
#include <string.h>

#define CHANGES_MAX 2
#define LETTERS_MAX 63

/* Levenshtein distance, row by row. */
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

static int take(struct near *n, const char *candidate, unsigned changes)
{
	if (n->found && changes >= n->changes)
		return 0;
	n->found = candidate;
	n->changes = changes;
	return 1;
}

int near_offer(struct near *n, const char *candidate)
{
	unsigned d = distance(n->word, candidate);

	return !*candidate || d > CHANGES_MAX ? 0 : take(n, candidate, d);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int near_offer_path(struct near *n, const char *path)
{
	const char *part = last_part(path);
	unsigned d = distance(last_part(n->word), part);

	if (near_offer(n, path))
		return 1;
	/* changing two letters turns a short word into any other */
	return !*part || d > CHANGES_MAX || d > (strlen(part) + 2) / 4 ? 0 : take(n, path, d + 1);
}

const char *near_text(const struct near *n, const char *otherwise, char buf[NEAR_TEXT_MAX])
{
	if (!n->found)
		return otherwise;
	snprintf(buf, NEAR_TEXT_MAX, "did you mean %.550s?", n->found);
	return buf;
}
