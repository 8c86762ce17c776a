/* SPDX-License-Identifier: Apache-2.0 */
/* Bash completions of simctl beside a running simd: each argument and option with known words. */
#include "stack.h"

#include <errno.h>
#include <limits.h>

#include <sim/msg/Imu.h>
#include <sim/param.h>
#include <sim/sim.h>
#include <sim/srv/NodeInfo.h>
#include <sim/srv/SetBool.h>

#define CONF \
	"\"TimeSource\":\"simulation\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"prefix\":\"/car\"," \
	"\"bridges\":[{\"name\":\"void\",\"plugin\":\"null\"}]}]"
#define WORK "/tmp/work"

static pid_t simd;
static struct sim_client *client;

static int setup(void **state)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "tester", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};

	(void)state;
	simd = stack_start(CONF);
	assert_int_equal(sim_connect(&o, &client), 0);
	return 0;
}

static int teardown(void **state)
{
	sim_disconnect(client);
	return stack_sweep(state);
}

static int on_call(void *user, struct sim_request *req)
{
	(void)user;
	(void)req;
	return -EIO;
}

/* Whether one of the words that bash offers for a line is `want`; the line is typed up to its last word, "" for an empty one. */
static bool offers(const char *line, const char *want, char *got, size_t size)
{
	char command[PATH_MAX + 512], program[PATH_MAX], *word, *rest;
	const char *b = getenv("B");
	bool found = false;
	FILE *f;
	size_t n;

	snprintf(command, sizeof(command), "%s/bin/simctl", b ? b : "build");
	assert_non_null(realpath(command, program));
	snprintf(command, sizeof(command),
		 "cd " WORK " && bash --norc -c '. ./words; COMP_WORDS=(\"%s\"%s); "
		 "COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _simctl; printf \"%%s\\n\" \"${COMPREPLY[@]}\"' 2>&1",
		 program, line);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(got, 1, size - 1, f);
	got[n] = '\0';
	(void)pclose(f);
	for (word = strtok_r(got, "\n", &rest); word; word = strtok_r(NULL, "\n", &rest)) {
		found |= strcmp(word, want) == 0;
		if (rest && *rest)
			word[strlen(word)] = '\n'; /* as it was, for a message */
	}
	return found;
}

TEST_WITH(bash_completes_the_words_of_simctl, setup, teardown)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ " --socket \"\"", "town.log" },
		{ " list /car/l", "/car/lidar" },
		{ " list --type sim/Im", "sim/Imu" },
		{ " info \"\"", "/car/lidar" },
		{ " echo /car/l", "/car/lidar" },
		{ " echo --time-format r", "raw" },
		{ " pub /car/l", "/car/lidar" },
		{ " pub --type sim/Im", "sim/Imu" },
		{ " plot /car/l", "/car/lidar" },
		{ " plot --time-format d", "date" },
		{ " trace /car/l", "/car/lidar" },
		{ " snapshot /car/l", "/car/lidar" },
		{ " snapshot --out \"\"", "town.log" },
		{ " graph /car/l", "/car/lidar" },
		{ " find sim/Im", "sim/Imu" },
		{ " top --tab p", "pools" },
		{ " hz /clock /car/l", "/car/lidar" },
		{ " bw /car/l", "/car/lidar" },
		{ " delay /car/l", "/car/lidar" },
		{ " clock source u", "unity" },
		{ " clock source p", "play" },
		{ " bridge info v", "void" },
		{ " bridge restart v", "void" },
		{ " bridge connect v", "void" },
		{ " service info \"\"", "/car/arm" },
		{ " service call \"\"", "/car/arm" },
		{ " node info \"\"", "/car/planner" },
		{ " param list \"\"", "/car/car" },
		{ " param get \"\"", "/car/car" },
		{ " param get /car/car \"\"", "speed" },
		{ " param set /car/car \"\"", "speed" },
		{ " type show sim/Im", "sim/Imu" },
		{ " type show --out \"\"", "logs" },
		{ " record /car/l", "/car/lidar" },
		{ " record --types sim/Im", "sim/Imu" },
		{ " record --out \"\"", "town.log" },
		{ " record --encoding r", "ros2" },
		{ " record --compression z", "zstd" },
		{ " play \"\"", "town.log" },
		{ " bag info \"\"", "town.log" },
		{ " bag recover \"\"", "town.log" },
		{ " bag recover town.log \"\"", "town.log" },
		{ " bag merge town.log t", "town.log" },
		{ " bag convert --encoding a", "apollo" },
		{ " bag convert --compression l", "lz4" },
		{ " world status --world \"\"", "town.log" },
		{ " link make-keys \"\"", "logs" },
	};
	struct sim_publisher *p;
	struct sim_service *service, *node;
	struct sim_params *params;
	struct sim_param_value v = sim_param_double(3);
	char got[32768];

	assert_int_equal(sim_advertise(client, "/car/lidar", &sim_Imu_type, NULL, &p), 0);
	assert_int_equal(sim_service_offer(client, "/car/arm", &sim_SetBool_service, NULL, on_call, NULL, &service), 0);
	assert_int_equal(sim_service_offer(client, "/car/planner/node_info", &sim_NodeInfo_service, NULL, on_call, NULL,
					   &node),
			 0);
	assert_int_equal(sim_params_create(client, "car", &params), 0);
	assert_int_equal(sim_params_declare(params, "speed", &v, NULL), 0);
	assert_int_equal(system("mkdir -p " WORK "/logs && touch " WORK
				"/town.log && \"${B:-build}/bin/simctl\" --completion-bash >" WORK "/words"),
			 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!offers(rows[i].line, rows[i].want, got, sizeof(got)))
			fail_msg("simctl%s: %s is not among: %s", rows[i].line, rows[i].want, got);
	sim_params_destroy(params);
}
