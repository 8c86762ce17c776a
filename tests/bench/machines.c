/* SPDX-License-Identifier: Apache-2.0 */
/* See machines.h. */
#include <dds/dds.h>

#include "machines.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPPED 77
#define TRUNK   "benchwire"

static struct rig *running; /* in the process of rig_run() */
static pid_t owner;

/* What machine.c calls where namespaces cannot be had. */
void test_skip(const char *file, int line)
{
	(void)file;
	(void)line;
	fflush(NULL);
	exit(SKIPPED);
}

/* ---- the wire ---- */

static bool shell(const char *command)
{
	return system(command) == 0;
}

static int plug_in(void *arg)
{
	return shell(arg) ? 0 : 1;
}

static bool add_to_wire(struct rig *r, unsigned i)
{
	char command[300];

	snprintf(command, sizeof(command),
		 "ip link add bench%u type veth peer name wire netns %d && ip link set bench%u master " TRUNK " up", i,
		 (int)r->m[i].holder, i);
	if (!shell(command))
		return false;
	snprintf(command, sizeof(command), "ip address add 10.1.0.%u/24 dev wire && ip link set wire up", i + 1);
	return machine_run(&r->m[i], plug_in, command) == 0;
}

static void remove_wire(const struct rig *r)
{
	char command[100];

	for (unsigned i = 0; i < r->n; i++) {
		snprintf(command, sizeof(command), "ip link delete bench%u 2>/dev/null", i);
		(void)shell(command);
	}
	(void)shell("ip link delete " TRUNK " 2>/dev/null");
}

static void make_wire(struct rig *r)
{
	bool made = shell("ip link add " TRUNK " type bridge && ip link set " TRUNK " up");

	for (unsigned i = 0; made && i < r->n; i++)
		made = add_to_wire(r, i);
	if (made)
		return;
	printf("no machines here: `ip` cannot make a bridge and pairs of veth between them\n");
	test_skip(__FILE__, __LINE__);
}

/* ---- a run ---- */

/* However it ends, failed assertions of machine.c included. */
static void end(void)
{
	if (!running || getpid() != owner)
		return;
	machines_end(running->m, running->n, running->net);
	remove_wire(running);
	running = NULL;
}

struct start {
	struct rig *r;
	int (*fn)(struct rig *r);
};

static int run(void *arg)
{
	const struct start *s = arg;
	struct rig *r = s->r;
	unsigned n = r->n;
	int result;

	owner = getpid();
	atexit(end);
	r->n = 0;
	r->net = machines_start(r->m, n, 1);
	r->n = n;
	running = r;
	make_wire(r);
	result = s->fn(r);
	end();
	fflush(NULL);
	return result < 0 ? 1 : 0;
}

int rig_run(struct bench *b, unsigned n, int (*fn)(struct rig *r), void *arg)
{
	struct rig r = { .b = b, .n = n, .arg = arg };
	struct start s = { &r, fn };
	int code;

	bench_stop_simd(b);
	b->usual = false;
	fflush(NULL);
	code = bench_wait(bench_fork(run, &s));
	return code == 0 ? 0 : code == SKIPPED ? 1 : -EIO;
}

/* ---- simd ---- */

void rig_pin(unsigned i)
{
	bench_pin((int)i % (int)sysconf(_SC_NPROCESSORS_ONLN));
}

void rig_start(struct rig *r, unsigned i, bool wire, const char *source, const char *options)
{
	char conf[2000], peers[300] = "";
	cpu_set_t before;

	for (unsigned k = 0; k < r->n; k++)
		if (k != i)
			snprintf(peers + strlen(peers), sizeof(peers) - strlen(peers), "%s\"10.%d.0.%u\"",
				 *peers ? "," : "", wire, k + 1);
	snprintf(
		conf, sizeof(conf),
		"\"TimeSource\":\"%s\",\"pools\":[{\"size\":\"4KiB\",\"count\":1500},{\"size\":\"64KiB\",\"count\":100}],"
		"\"rigs\":[{\"name\":\"rig\",\"inbound\":[\"*\"],\"bridges\":[{\"name\":\"link\",\"plugin\":\"link\","
		"\"channels\":[\"*\"],\"options\":{\"host\":\"%c\",\"interface\":\"10.%d.0.%u\",\"peers\":[%s],\"insecure\":true%s}}]}]",
		source, (char)('a' + i), wire, i + 1, peers, options);
	sched_getaffinity(0, sizeof(before), &before);
	rig_pin(i);
	machine_simd_start(&r->m[i], conf);
	sched_setaffinity(0, sizeof(before), &before);
}

/* ---- children ---- */

pid_t rig_fork(const struct rig *r, unsigned i, int (*fn)(void *arg), void *arg)
{
	cpu_set_t before;
	pid_t pid;

	sched_getaffinity(0, sizeof(before), &before);
	rig_pin(i);
	pid = machine_fork(&r->m[i], fn, arg);
	sched_setaffinity(0, sizeof(before), &before);
	return pid;
}

/* What tools/bridge/link/domain.c sets. */
dds_entity_t rig_participant(const struct rig *r, unsigned i)
{
	char xml[2000], peers[600] = "";
	dds_entity_t domain;

	for (unsigned k = 0; k < r->n; k++)
		if (k != i)
			snprintf(peers + strlen(peers), sizeof(peers) - strlen(peers), "<Peer address=\"10.1.0.%u\"/>",
				 k + 1);
	snprintf(
		xml, sizeof(xml),
		"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface address=\"10.1.0.%u\"/></Interfaces>"
		"<AllowMulticast>false</AllowMulticast><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>63000B</FragmentSize>"
		"</General><Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>16</MaxAutoParticipantIndex>"
		"<Peers>%s</Peers></Discovery><Internal><SocketReceiveBufferSize max=\"10MB\"/>"
		"<HeartbeatInterval min=\"2ms\" minsched=\"3ms\" max=\"1s\">3ms</HeartbeatInterval></Internal></Domain></CycloneDDS>",
		i + 1, peers);
	domain = dds_create_domain(7, xml);
	return domain < 0 ? domain : dds_create_participant(7, NULL, NULL);
}
