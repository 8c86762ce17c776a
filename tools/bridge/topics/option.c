/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the bridge whose value is a choice of words, or a number. */
#include <errno.h>
#include <string.h>

#include "number.h"
#include "option.h"

const char *bridge_option(const struct sim_bridge_host *h, const char *name)
{
	const char *s = h->option(h->ctx, name);

	return s ? s : "";
}

int bridge_option_word(const struct sim_bridge_host *h, const char *name, const char *const words[],
		       const char *expected)
{
	const char *text = bridge_option(h, name);

	for (int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	h->log(h->ctx, 0, "options.%s: \"%.40s\" is not %s", name, text, expected);
	return -EINVAL;
}

int bridge_option_compat(const struct sim_bridge_host *h)
{
	static const char *const words[] = { "none", "svl2021.3", "", NULL };
	int r = bridge_option_word(h, "compat", words, "one of none, svl2021.3");

	return r < 0 ? r : r == 1;
}

int bridge_option_number(const struct sim_bridge_host *h, const char *name, long min, long max, const char *unit,
			 long *ret)
{
	const char *text = bridge_option(h, name);
	int64_t v;

	*ret = 0;
	if (number_i64(text, NUMBER_DEC, min, max, &v) == 0) {
		*ret = (long)v;
		return 0;
	}
	h->log(h->ctx, 0, "options.%s: \"%.20s\" is not a number%s%s from %ld to %ld", name, text, *unit ? " of " : "",
	       unit, min, max);
	return -EINVAL;
}
