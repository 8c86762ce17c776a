/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bridge takes part: the domain, discovery and network settings that rmw_cyclonedds derives from the same
 * environment, plus settings for large messages. CYCLONEDDS_URI comes last, so that it wins.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cyclone_inside.h"
#include "number.h"
#include "ros2.h"

#define DOMAIN_MAX 232

/*
 * When Cyclone discovers a node, it answers the announcement after a delay, and only then accepts what that node sends.
 * Fast DDS sends at once, and repeats that only a second later. So the delay is at most 80 ms; the exact value follows
 * from the node's GUID.
 */
#define WELCOME "<SPDPResponseMaxDelay>80ms</SPDPResponseMaxDelay>"

static int read_domain(struct sim_bridge *b, uint32_t *ret)
{
	const char *text = bridge_option(b->host, "domain"), *env = getenv("ROS_DOMAIN_ID");
	uint64_t v;

	if (!*text)
		text = env && *env ? env : "0";
	if (number_u64(text, NUMBER_DEC, DOMAIN_MAX, &v) < 0) {
		log_error(b, "domain \"%s\" is not a number from 0 to %d: set options.domain or ROS_DOMAIN_ID", text,
			  DOMAIN_MAX);
		return -EINVAL;
	}
	*ret = (uint32_t)v;
	return 0;
}

static int read_distro(struct sim_bridge *b)
{
	static const char *const names[] = { "auto", "humble", "iron", "jazzy", NULL };
	int n = bridge_option_word(b->host, "ros_distro", names, "auto, humble, iron or jazzy");

	b->graph.distro = n > 0 ? names[n] : NULL;
	b->graph.deflt = n < 2 ? GRAPH_GID_HUMBLE : GRAPH_GID_IRON;
	return n < 0 ? n : 0;
}

static bool env_is(const char *name, const char *value)
{
	const char *v = getenv(name);

	return v && strcmp(v, value) == 0;
}

/* Logs and ignores an unknown word, as rmw does. */
static void check_range(struct sim_bridge *b)
{
	static const char *const ranges[] = { "", "OFF", "LOCALHOST", "SUBNET", "SYSTEM_DEFAULT" };
	const char *range = getenv("ROS_AUTOMATIC_DISCOVERY_RANGE");

	for (unsigned i = 0; range && i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (strcmp(range, ranges[i]) == 0)
			return;
	if (range)
		log_warn(
			b,
			"ROS_AUTOMATIC_DISCOVERY_RANGE: \"%s\" is not LOCALHOST, SUBNET, OFF or SYSTEM_DEFAULT: ignored",
			range);
}

/* Order of rcl: ROS_LOCALHOST_ONLY=1 wins over the range, and the range wins over ROS_LOCALHOST_ONLY=0. */
static bool env_is_local(void)
{
	static const char range[] = "ROS_AUTOMATIC_DISCOVERY_RANGE";

	if (env_is("ROS_LOCALHOST_ONLY", "1") || env_is(range, "LOCALHOST") || env_is(range, "OFF"))
		return true;
	return !env_is("ROS_LOCALHOST_ONLY", "0") && !env_is(range, "SUBNET") && !env_is(range, "SYSTEM_DEFAULT");
}

/*
 * Only this machine takes part, unless the rig or the environment asks for the network. With "true" only loopback is
 * used.
 */
static int read_localhost(struct sim_bridge *b)
{
	static const char *const words[] = { "false", "true", "auto", NULL };
	int n = bridge_option_word(b->host, "localhost", words, "auto, true or false");

	if (n < 0)
		return n;
	check_range(b);
	b->localhost = n == 1 || (n == 2 && env_is_local());
	b->machine = n == 2 && b->localhost;
	return 0;
}

/*
 * Adds ROS_STATIC_PEERS, addresses separated by ';'. Addresses with characters that could break the XML are left out.
 */
static void put_peers(struct sim_bridge *b, FILE *f)
{
	const char *at = getenv("ROS_STATIC_PEERS");

	if (b->localhost)
		fputs("<Peer address=\"127.0.0.1\"/>", f);
	while (at && *at) {
		size_t n = strcspn(at, ";");

		if (n && strspn(at, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_%") >= n)
			fprintf(f, "<Peer address=\"%.*s\"/>", (int)n, at);
		else if (n)
			log_warn(
				b,
				"ROS_STATIC_PEERS: \"%.*s\" is not an address, ignoring it; addresses have ';' between them",
				(int)n, at);
		at += n + (at[n] == ';');
	}
}

/*
 * A node's writer uses multicast, on its network too, once readers of two processes have joined the same group. So the
 * readers of this process get a group of their own, chosen at random.
 */
static void put_group(FILE *f)
{
	uint8_t own[2] = { 0 };

	(void)!getrandom(own, sizeof(own), GRND_NONBLOCK);
	fprintf(f, "<DefaultMulticastAddress>239.254.%u.%u</DefaultMulticastAddress>", own[0], own[1]);
}

/*
 * Free *ret with free(). On loopback, peers of Humble are found by multicast if lo has it, those of Jazzy by unicast,
 * for which both sides number their participants: we do both. Cyclone uses a receive buffer once from its first byte to
 * its last, less the 128 KiB of a packet, and then frees it: with the default 1 MiB a bridge grows for hours from
 * discovery alone.
 */
static int write_xml(struct sim_bridge *b, long lease_ms, char **ret)
{
	const char *uri = getenv("CYCLONEDDS_URI"), *interface = bridge_option(b->host, "interface");
	struct in_addr a;
	size_t size = 0;
	FILE *f = open_memstream(ret, &size);

	if (!f)
		return -ENOMEM;
	fputs("<CycloneDDS><Domain Id=\"any\"><General>", f);
	if (b->machine)
		fputs("<Interfaces><NetworkInterface address=\"127.0.0.1\" multicast=\"true\"/></Interfaces>", f);
	else if (b->localhost)
		fputs("<Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces>", f);
	else if (*interface)
		fprintf(f, "<Interfaces><NetworkInterface %s=\"%s\"/></Interfaces>",
			inet_pton(AF_INET, interface, &a) == 1 ? "address" : "name", interface);
	fputs("<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>63000B</FragmentSize></General><Discovery>", f);
	if (b->localhost)
		fputs("<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>",
		      f);
	if (b->machine)
		put_group(f);
	fprintf(f, "<LeaseDuration>%ldms</LeaseDuration><Peers>", lease_ms);
	put_peers(b, f);
	fprintf(f,
		"</Peers></Discovery><Sizing><ReceiveBufferSize>144KiB</ReceiveBufferSize></Sizing><Internal>%s"
		"<SocketReceiveBufferSize max=\"10MB\"/><HeartbeatInterval min=\"2ms\" minsched=\"3ms\" max=\"1s\">3ms</HeartbeatInterval></Internal>"
		"</Domain></CycloneDDS>",
		b->machine ? WELCOME : "");
	if (uri && *uri)
		fprintf(f, ",%s", uri);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

/* Checks the name or address of a network interface, which becomes part of Cyclone's XML. */
static int check_interface(struct sim_bridge *b)
{
	const char *s = bridge_option(b->host, "interface");
	size_t n = strlen(s);

	if (n && b->localhost) {
		log_error(b, "options.interface: \"%.60s\" is not used over loopback; set options.localhost to false",
			  s);
		return -EINVAL;
	}
	if (n < 64 && strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_@") == n)
		return 0;
	log_error(
		b,
		"options.interface: \"%.60s\" is not the name or the IPv4 address of a network interface; see `ip address`",
		s);
	return -EINVAL;
}

/* Whether an interface that could be used is up. If not, Cyclone's own message is only "error". */
static bool has_interface(const struct sim_bridge *b)
{
	const char *wanted = bridge_option(b->host, "interface");
	struct ifaddrs *all = NULL;
	bool has = false;

	if (getifaddrs(&all) < 0)
		return true;
	for (const struct ifaddrs *i = all; i && !has; i = i->ifa_next) {
		char address[INET_ADDRSTRLEN];
		const struct sockaddr_in *a = (const struct sockaddr_in *)(const void *)i->ifa_addr;

		if (!a || a->sin_family != AF_INET || !(i->ifa_flags & IFF_UP) ||
		    !inet_ntop(AF_INET, &a->sin_addr, address, sizeof(address)))
			continue;
		has = b->localhost ? strcmp(address, "127.0.0.1") == 0
				   : !*wanted || strcmp(address, wanted) == 0 || strcmp(i->ifa_name, wanted) == 0;
	}
	freeifaddrs(all);
	return has;
}

static int say_no_domain(const struct sim_bridge *b, uint32_t id, dds_return_t r)
{
	const char *wanted = bridge_option(b->host, "interface");

	if (has_interface(b))
		log_error(b, "no DDS domain %u: %s; check %sCYCLONEDDS_URI", id, dds_strretcode(r),
			  *wanted ? "options.interface and " : "");
	else if (b->localhost)
		log_error(b, "no DDS domain %u: loopback has no address 127.0.0.1 here: ip link set lo up", id);
	else
		log_error(b, "no DDS domain %u: no network interface%s%s with an IPv4 address is up; see `ip address`",
			  id, *wanted ? " " : "", wanted);
	return dds_errno(r);
}

/* ---- this machine ---- */

static void keep_to_loopback(struct sim_bridge *b, const char *why)
{
	b->machine = false;
	log_warn(b,
		 "nodes that use a network interface of this machine are neither seen nor heard, only those on loopback "
		 "(ROS_LOCALHOST_ONLY=1): that needs Debian's build of Cyclone DDS 0.10.2 with its defaults, and %s",
		 why);
}

static void check_cyclone(struct sim_bridge *b)
{
	char why[256];

	if (b->machine && cyclone_inside_known(why, sizeof(why)) < 0)
		keep_to_loopback(b, why);
}

/*
 * A node without settings uses one network interface, and also receives multicast on lo. We receive its multicasts as
 * the kernel's copies, and what it sends to 127.0.0.1 over lo. So we announce only 127.0.0.1, and interfaces may appear
 * and disappear.
 */
static int open_to_machine(struct sim_bridge *b, uint32_t id, const struct sockets *before)
{
	char why[256] = "";
	int r = sockets_keep_to_machine(before);

	if (r == 0)
		r = cyclone_inside_reach_networks(id, why, sizeof(why));
	if (r == -EADDRNOTAVAIL) /* CYCLONEDDS_URI names other interfaces, and wins */
		b->machine = false;
	else if (r < 0)
		keep_to_loopback(b, *why ? why : strerror(-r));
	return r;
}

/* ---- domain and participant, and the sockets that come with them ---- */

static int create_domain(struct sim_bridge *b, uint32_t id, long lease_ms)
{
	char *xml = NULL;
	int r = write_xml(b, lease_ms, &xml);

	if (r < 0)
		return r;
	b->domain = dds_create_domain(id, xml);
	free(xml);
	return b->domain < 0 ? say_no_domain(b, id, b->domain) : 0;
}

/* Opens the domain for all of this machine; if that fails, opens it again without that. */
static int open_domain(struct sim_bridge *b, uint32_t id, long lease_ms, const struct sockets *before)
{
	int r = create_domain(b, id, lease_ms);

	if (r < 0 || !b->machine || open_to_machine(b, id, before) == 0)
		return r;
	dds_delete(b->domain);
	return create_domain(b, id, lease_ms);
}

static int say_open(const struct sim_bridge *b, int r)
{
	log_error(
		b,
		"other machines could reach us: its sockets cannot be closed to them (%s): check CYCLONEDDS_URI, or allow them "
		"with \"localhost\": \"false\"",
		strerror(-r));
	return r;
}

/*
 * Closes our sockets to other machines. The participant may have sockets of its own (ManySocketsMode). Where a network
 * is allowed, this only logs who can reach us.
 */
static int close_to_others(struct sim_bridge *b, const struct sockets *before)
{
	int r = b->machine ? sockets_keep_to_machine(before) : sockets_narrow(b->host, before, NULL, 0);

	if (!b->localhost)
		return 0;
	if (r < 0)
		return say_open(b, r);
	if (!b->machine && !sockets_on_loopback(before)) {
		b->localhost = false;
		log_warn(b, "CYCLONEDDS_URI has interfaces of a network, where other machines see and reach us");
	}
	return 0;
}

static int join(struct sim_bridge *b, long lease_ms)
{
	const uint32_t id = b->domain_id;
	struct sockets before;
	char user_data[64];
	dds_qos_t *qos;
	int n, r;

	sockets_note(&before);
	sockets_log_open(&b->cyclone_log, b->host);
	r = open_domain(b, id, lease_ms, &before);
	if (r < 0)
		return r;
	if (SIM_BRIDGE_HOST_HAS(b->host, simd_id))
		snprintf(b->mark, sizeof(b->mark), "simd=%016llx;", (unsigned long long)b->host->simd_id);
	n = snprintf(user_data, sizeof(user_data), "enclave=/;%s", b->mark);
	qos = dds_create_qos();
	dds_qset_userdata(qos, user_data, (size_t)n);
	b->participant = dds_create_participant(id, qos, NULL);
	dds_delete_qos(qos);
	if (b->participant < 0)
		return say_no_domain(b, id, b->participant);
	b->inside = cyclone_inside_here(id);
	return close_to_others(b, &before);
}

int ros2_domain_open(struct sim_bridge *b)
{
	long lease_ms = 0;
	int r = read_distro(b);

	if (r == 0)
		r = read_domain(b, &b->domain_id);
	if (r == 0)
		r = read_localhost(b);
	if (r == 0)
		check_cyclone(b);
	if (r == 0)
		r = check_interface(b);
	if (r == 0)
		r = bridge_option_number(b->host, "lease_ms", 100, 3600000, "ms", &lease_ms);
	if (r == 0)
		r = join(b, lease_ms);
	return r;
}
