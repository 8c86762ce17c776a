/* SPDX-License-Identifier: Apache-2.0 */
/* Names of channels, services and nodes. Thread: any. */
#include "channel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

bool channel_name_made_of(const char *s, size_t max, const char *others)
{
	size_t n = 0;

	for (; s[n]; n++) {
		unsigned char c = (unsigned char)s[n];

		if (n >= max)
			return false;
		if (!(c < 0x80 && isalnum(c)) && !strchr(others, c))
			return false;
	}
	return n > 0;
}

bool channel_name_ok(const char *s)
{
	return channel_name_made_of(s, CHANNEL_NAME_MAX, "_./~-") && !strstr(s, "//") && s[strlen(s) - 1] != '/';
}

const char *channel_name_reserved(const char *full)
{
	static const char *const of_ros[] = { "/rosout", "/parameter_events", "/ros_discovery_info" };

	for (size_t i = 0; i < sizeof(of_ros) / sizeof(of_ros[0]); i++)
		if (strcmp(full, of_ros[i]) == 0)
			return "the nodes of ROS 2 themselves";
	return strncmp(full, "/simd/", 6) == 0 ? "simd itself" : NULL;
}

int node_name_check(const char *name)
{
	if (name && channel_name_made_of(name, NODE_NAME_MAX, "_./~-") && name[0] != '/' &&
	    name[strlen(name) - 1] != '/' && !strstr(name, "//"))
		return 0;
	return err_set(
		-EINVAL,
		"\"%.80s\" is not a node's name; use 1 to %d characters of A-Z a-z 0-9 _ . ~ - and single slashes inside",
		name ? name : "", NODE_NAME_MAX);
}

bool node_name_fit(char *name)
{
	bool any = false;

	for (char *c = name; *c; c++) {
		char one[] = { *c, '\0' };

		if (channel_name_made_of(one, 1, "_./~-"))
			continue;
		*c = '_';
		any = true;
	}
	return any;
}

int channel_name_full(const char *prefix, const char *name, char ret[CHANNEL_NAME_MAX + 1])
{
	char full[2 * CHANNEL_NAME_MAX + 4];
	const char *slash = prefix[0] == '/' ? "" : "/";

	if (!channel_name_ok(name))
		return err_set(-EINVAL,
			       "\"%.120s\" is not a channel name; use 1 to %d characters of A-Z a-z 0-9 _ . / ~ -",
			       name, CHANNEL_NAME_MAX);
	if (name[0] == '/')
		snprintf(full, sizeof(full), "%s", name);
	else if (prefix[0])
		snprintf(full, sizeof(full), "%s%s/%s", slash, prefix, name);
	else
		snprintf(full, sizeof(full), "/%s", name);
	if (strlen(full) > CHANNEL_NAME_MAX)
		return err_set(-ENAMETOOLONG, "%.120s: with its prefix the channel name is longer than %d characters",
			       full, CHANNEL_NAME_MAX);
	memcpy(ret, full, strlen(full) + 1);
	return 0;
}
