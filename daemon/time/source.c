/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in time sources, see source.h. Thread: any. */
#include "source.h"

#include "err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int64_t start_at_zero(int64_t real_now_ns)
{
	(void)real_now_ns;
	return 0;
}

static int64_t start_at_epoch_time(int64_t real_now_ns)
{
	return real_now_ns;
}

#define SOURCE(id_, name_, kind_, flags_, start_) \
	{ \
		.abi = SIM_SOURCE_ABI, .size = sizeof(struct sim_source_ops), .name = (name_), .id = (id_), \
		.kind = (kind_), .flags = (flags_), .start = (start_) \
	}

/* In the order of AWSIM's integers. */
static const struct sim_source_ops sources[] = {
	SOURCE(SIM_SOURCE_UNITY, "unity", SIM_SOURCE_DRIVEN, SIM_SOURCE_CONTROL | SIM_SOURCE_SET, start_at_zero),
	SOURCE(SIM_SOURCE_SS2, "ss2", SIM_SOURCE_DRIVEN, SIM_SOURCE_SET, start_at_zero),
	SOURCE(SIM_SOURCE_SYSTEM, "system", SIM_SOURCE_WALL, SIM_SOURCE_CONTROL, start_at_epoch_time),
	SOURCE(SIM_SOURCE_SIMULATION, "simulation", SIM_SOURCE_WALL, SIM_SOURCE_CONTROL, start_at_zero),
	SOURCE(SIM_SOURCE_ROS2, "ros2", SIM_SOURCE_WALL_UNTIL_DRIVEN, SIM_SOURCE_SET, start_at_epoch_time),
	SOURCE(SIM_SOURCE_LINK, "link", SIM_SOURCE_FOLLOWED, 0, start_at_zero), /* not in AWSIM */
};

#define SOURCES  (int64_t)(sizeof(sources) / sizeof(sources[0]))
#define NUMBERED (SIM_SOURCE_ROS2 + 1)

int time_source_check(const struct sim_source_ops *s)
{
	if (s->abi != SIM_SOURCE_ABI)
		return err_set(-EPROTO, "a time source was built for interface %u, simd has %u: rebuild it", s->abi,
			       SIM_SOURCE_ABI);
	if (s->size < sizeof(*s))
		return err_set(-EPROTO, "a time source's table has %u bytes, simd needs %zu: rebuild it", s->size,
			       sizeof(*s));
	if (!s->name || !s->name[0] || !s->start)
		return err_set(-EPROTO, "a time source's table has no name or no start value");
	if (s->id >= SIM_SOURCE_COUNT || s->kind > SIM_SOURCE_FOLLOWED ||
	    (s->kind == SIM_SOURCE_FOLLOWED && s->id != SIM_SOURCE_LINK))
		return err_set(-EPROTO, "time source `%s` has the unknown number %u or kind %u", s->name, s->id,
			       s->kind);
	return 0;
}

int time_source_start(const struct sim_source_ops *s, int64_t real_now_ns, int64_t *ret)
{
	int64_t at_sim_ns = s->start(real_now_ns);

	if (at_sim_ns < 0 || at_sim_ns > TIME_START_MAX_NS)
		return err_set(-ERANGE,
			       "time source `%s` wants to start at %" PRId64 " ns; a start value is 0 to %" PRId64
			       " ns (2^62)",
			       s->name, at_sim_ns, TIME_START_MAX_NS);
	*ret = at_sim_ns;
	return 0;
}

void time_source_names(char ret[TIME_SOURCE_NAMES_MAX])
{
	size_t n = 0;

	ret[0] = '\0';
	for (int64_t i = 0; i < SOURCES && n + strlen(sources[i].name) + 3 <= TIME_SOURCE_NAMES_MAX; i++)
		n += (size_t)snprintf(ret + n, TIME_SOURCE_NAMES_MAX - n, "%s%s", i ? ", " : "", sources[i].name);
}

int time_source_by_name(const char *name, const struct sim_source_ops **ret)
{
	char names[TIME_SOURCE_NAMES_MAX];

	for (int64_t i = 0; i < SOURCES; i++) {
		if (strcasecmp(sources[i].name, name) != 0)
			continue;
		*ret = &sources[i];
		return 0;
	}
	time_source_names(names);
	return err_set(-ENOENT, "\"%.40s\" is no time source; built in are %s", name, names);
}

int time_source_by_number(int64_t number, const struct sim_source_ops **ret)
{
	if (number < 0 || number >= NUMBERED)
		return err_set(-ENOENT,
			       "%" PRId64 " is no time source; there are 0 unity, 1 ss2, 2 system, 3 simulation and "
			       "4 ros2",
			       number);
	*ret = &sources[number];
	return 0;
}
