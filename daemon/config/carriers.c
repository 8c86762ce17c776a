/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bridges list a channel, and whether they are too many. The channels are not known before they are advertised,
 * so the check uses the rigs' channels and the patterns of the bridges: a glob stands for a channel that matches only
 * it and wider globs.
 *
 * Thread: see config.h.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "names.h"

/* "*" matches all channels below the rig's prefix, and /clock. */
const char *config_listed_as(struct conf_view bridge, const char *prefix, const char *key, const char *full)
{
	const char *as = NULL;

	for (size_t i = 0; i < conf_count(bridge, key); i++) {
		const char *p = conf_string_at(bridge, key, i);
		bool out = p[0] == '!';
		char below[PATTERN_MAX + 1];

		names_pattern_full(prefix, p + out, below);
		if (names_glob(below, full) || (names_is_star(p + out) && strcmp(full, CLOCK_CHANNEL) == 0))
			as = out ? NULL : p;
	}
	return as;
}

/* Counts the bridges of all rigs that list the channel, and writes as many names as there is room for. */
static unsigned carriers(struct conf_view root, const char *full, char *names, size_t size)
{
	unsigned n = 0;
	size_t at = 0;

	for (size_t i = 0; i < conf_count(root, "rigs"); i++) {
		struct conf_view rig = conf_item(root, "rigs", i);

		for (size_t k = 0; k < conf_count(rig, "bridges"); k++) {
			struct conf_view b = conf_item(rig, "bridges", k);

			if (!config_listed_as(b, conf_string(rig, "prefix"), "channels", full))
				continue;
			if (at < size)
				at += (size_t)snprintf(names + at, size - at, "%s%s", n ? ", " : "",
						       conf_string(b, "name"));
			n++;
		}
	}
	if (at >= size)
		strcpy(names + size - 4, "...");
	return n;
}

static int check_channel(struct conf_view root, const char *full)
{
	char names[200];
	unsigned n;

	if (strcmp(full, CLOCK_CHANNEL) == 0) /* each bridge subscribes to it directly */
		return 0;
	n = carriers(root, full, names, sizeof(names));
	if (n <= CONFIG_CARRIERS_MAX)
		return 0;
	return err_set(-E2BIG,
		       "channel %.100s: %u bridges list it, at most %d can carry it (%s): take it out of some, with "
		       "\"!%.100s\" in their \"channels\"",
		       full, n, CONFIG_CARRIERS_MAX, names, full);
}

static int check_rig(struct conf_view root, struct conf_view rig)
{
	const char *prefix = conf_string(rig, "prefix");
	char full[PATTERN_MAX + 1];
	int r = 0;

	for (size_t i = 0; r == 0 && i < conf_count(rig, "channels"); i++) {
		names_pattern_full(prefix, conf_string(conf_item(rig, "channels", i), "name"), full);
		r = check_channel(root, full);
	}
	for (size_t i = 0; i < conf_count(rig, "bridges"); i++) {
		struct conf_view b = conf_item(rig, "bridges", i);

		for (size_t k = 0; r == 0 && k < conf_count(b, "channels"); k++) {
			const char *p = conf_string_at(b, "channels", k);

			names_pattern_full(prefix, p, full);
			if (p[0] != '!')
				r = check_channel(root, full);
		}
	}
	return r;
}

int config_check_carriers(struct conf_view root)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < conf_count(root, "rigs"); i++)
		n += conf_count(conf_item(root, "rigs", i), "bridges");
	if (n > CONFIG_BRIDGES_MAX)
		return err_set(
			-E2BIG,
			"rigs: they have %zu bridges, at most %d can be in one simd: take some out, or run another "
			"simd",
			n, CONFIG_BRIDGES_MAX);
	for (size_t i = 0; n > CONFIG_CARRIERS_MAX && r == 0 && i < conf_count(root, "rigs"); i++)
		r = check_rig(root, conf_item(root, "rigs", i));
	return r;
}
