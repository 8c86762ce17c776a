/* SPDX-License-Identifier: Apache-2.0 */
/* The topics that a bridge names beside dispatch (NameTopic) are shown while that process is the bridge, however late dispatch is. In virtual time. */
#include "scenario/client/world.h"

#include "err.h"

static struct world w;
static struct bridge_peer b;

static void name_topic(const char *name)
{
	char params[160], *json;

	snprintf(params, sizeof(params),
		 "{\"channel\": \"/car/gear\", \"name\": \"%s\", \"type\": \"t/Gear\", \"inbound\": true}", name);
	assert_ok(sim_call(b.c, "NameTopic", params, &json));
	free(json);
}

static bool is_shown(const char *name)
{
	char *json;
	bool yes;

	assert_ok(sim_call(b.c, "ListBridges", "{}", &json));
	yes = strstr(json, name);
	free(json);
	return yes;
}

/* The event of dispatch that another process has attached comes when this one has named its topics already. */
static void attach_and_name(const char *name)
{
	w.late = 20;
	bridge_start(&w, &b);
	name_topic(name);
	assert_true(is_shown(name));
	w.late = 0;
	world_run(&w, S);
	assert_true(is_shown(name));
}

TEST(an_inbound_channel_named_at_once_stays_listed)
{
	world_create_late(&w, test_seed(43), "");
	attach_and_name("/gear_cmd");
	bridge_end(&b);
	world_run(&w, S);
	attach_and_name("/other_cmd");
	assert_false(is_shown("/gear_cmd"));
	world_kill_simd(&w);
	bridge_end(&b);
	world_start_simd(&w);
	attach_and_name("/gear_cmd");
	assert_false(is_shown("/other_cmd"));
	bridge_end(&b);
	world_bury(&w);
	world_destroy(&w);
}
