/* SPDX-License-Identifier: Apache-2.0 */
/* How messages reach each reader, as `simctl info` has it: in slots of this machine, from another machine. Thread: the test's. */
#include "machine.h"

#define COUNT "{\"class\":\"Count\",\"name\":\"count\",\"interval_ms\":5}"
#define TIMES "{\"class\":\"Times\",\"name\":\"times\",\"readers\":[{\"channel\":\"/count\",\"pending\":64}]}"
#define FAR   "{\"class\":\"Times\",\"name\":\"far\",\"readers\":[{\"channel\":\"/count\",\"pending\":64}]}"
#define APART "{\"class\":\"Times\",\"name\":\"apart\",\"readers\":[{\"channel\":\"/count\",\"pending\":64}]}"

static struct machine m[2];
static struct net_switch *net;

static int start(void **state)
{
	char conf[4400];

	(void)state;
	net = machines_start(m, 2, test_seed(1));
	for (unsigned i = 0; i < 2; i++) {
		snprintf(conf, sizeof(conf), "\"TimeSource\":\"system\",%s", machine_conf(&m[i], 2, "", ""));
		machine_simd_start(&m[i], conf);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	machines_end(m, 2, net);
	return 0;
}

TEST_PROCESSES()

struct graph {
	const char *name, *components;
};

static int run_graph(void *arg)
{
	const struct graph *g = arg;
	const char *build = getenv("B");
	char dag[PATH_MAX], path[PATH_MAX], here[PATH_MAX];
	FILE *f;

	snprintf(dag, sizeof(dag), "/tmp/%s.dag.json", g->name);
	f = fopen(dag, "w");
	if (!f || !getcwd(here, sizeof(here)))
		return 1;
	fprintf(f, "{\"modules\":[{\"library\":\"%s/" SHELF "/components.so\",\"components\":[%s]}]}\n",
		*SHELF == '/' ? "" : here, g->components);
	fclose(f);
	snprintf(path, sizeof(path), "%s/bin/simhost", build ? build : "build");
	return execl(path, "simhost", "-d", dag, (char *)NULL);
}

/* As the same machine says it, and the other one, which asks the nodes too. */
static bool is_reached(const char *node, const char *how)
{
	for (unsigned i = 0; i < 2; i++) {
		const char *at = strstr(machine_ctl(&m[i], "info /count"), node), *end = at ? strchr(at, '\n') : NULL;
		size_t len = strlen(how);

		if (!end || end - at < (ptrdiff_t)len || strncmp(end - len, how, len) != 0)
			return false;
	}
	return true;
}

/*
 * One node writes; one reads in its process, one in another, one on another machine. What others want too is in a slot for all of its machine
 * (sim/node.h); what stays inside a process is tested elsewhere (test_param.c of tests/system/stack).
 */
TEST_WITH(each_reader_is_shown_with_its_transport, start, end)
{
	static struct graph both = { "both", COUNT "," TIMES }, apart = { "apart", APART }, far = { "far", FAR };

	machine_fork(&m[0], run_graph, &both);
	machine_fork(&m[0], run_graph, &apart);
	machine_fork(&m[1], run_graph, &far);
	AWAIT(is_reached("read by node /times: ", "messages, by shm"));
	AWAIT(is_reached("read by node /apart: ", "messages, by shm"));
	AWAIT(is_reached("read by node /far: ", "messages, by network"));
	assert_true(machine_says(&m[1], "info /count", "from another machine: a"));
	assert_true(machine_says(&m[1], "info /count", ", of machine a\n"));
	assert_false(machine_says(&m[0], "info /count", "of machine"));
}
