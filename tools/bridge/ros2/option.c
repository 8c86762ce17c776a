/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the bridge that are one word of several, or a number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ros2.h"

const char *ros2_option(const struct sim_bridge *b, const char *name)
{
	const char *s = b->host->option(b->host->ctx, name);

	return s ? s : "";
}

int ros2_option_word(const struct sim_bridge *b, const char *name, const char *const words[], const char *expected)
{
	const char *text = ros2_option(b, name);

	for (int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	log_error(b, "options.%s: \"%.40s\" is not %s", name, text, expected);
	return -EINVAL;
}

int ros2_option_ms(const struct sim_bridge *b, const char *name, long min, long max, long *ret_ms)
{
	const char *text = ros2_option(b, name);
	char *end;

	*ret_ms = strtol(text, &end, 10);
	if (!*end && end != text && *ret_ms >= min && *ret_ms <= max)
		return 0;
	log_error(b, "options.%s: \"%.20s\" is not a number of ms from %ld to %ld", name, text, min, max);
	return -EINVAL;
}
