/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part where nothing is set on our side: each node of this machine, whatever its rmw, its interface and its settings, and
 * nobody of another machine, which sees nothing of ours and cannot send us anything. Also while interfaces come, change and go.
 */
#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <dds/dds.h>

#include <sim/msg/Gear.h>
#include <sim/msg/GearCommand.h>
#include <sim/msg/Image.h>

#include "cables.h"
#include "host.h"
#include "node.h"

#define GEAR    "{\"/control/command/gear_cmd\":{\"type\":\"autoware_vehicle_msgs/msg/GearCommand\",\"channel\":\"gear\"}}"
#define KEPT    "{\"ros2\":{\"reliability\":\"reliable\",\"durability\":\"transient_local\",\"depth\":1}}"
#define REVERSE 20 /* as Autoware has it */
#define PARK    22
#define BURST   500
#define DATA    7410 /* ports of domain 0: the first participant's, and that of discovery by multicast */
#define META    7400

static struct host h;

/* ---- our side ---- */

static struct sim_bridge *ours_with(const char *const *options)
{
	struct sim_slot *s = host_image(64, 48);
	struct sim_bridge *b;

	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_int_equal(host_publish(&h, b, host_open(&h, b, "/camera", &sim_Image_type, KEPT), s), 0);
	free(s);
	host_clock_start(&h, b);
	return b;
}

static struct sim_bridge *ours(void)
{
	static const char *const options[] = { "subscribe", GEAR, "graph_wait_ms", "0", NULL };

	return ours_with(options);
}

static void done(struct sim_bridge *b)
{
	host_clock_stop(&h);
	h.ops->destroy(b);
}

static void prefix(uint8_t ret[CABLES_PREFIX])
{
	dds_entity_t p;
	dds_guid_t guid;

	assert_int_equal(dds_lookup_participant(0, &p, 1), 1);
	assert_int_equal(dds_get_guid(p, &guid), 0);
	memcpy(ret, guid.v, CABLES_PREFIX);
}

/* Their command is here, and it is the next one. */
static void command_comes(void)
{
	struct host_in in = host_next(&h);

	assert_string_equal(in.channel, "gear");
	assert_int_equal(((const struct sim_GearCommand *)(const void *)in.body)->gear, SIM_GEAR_REVERSE);
}

/* ---- the nodes ---- */

/* Each alone, in both directions. */
static void each_takes_part(unsigned from, unsigned to)
{
	struct node n;

	for (unsigned i = from; i < to; i++)
		for (int fast = 0; fast < 2; fast++) {
			if (!node_can_be(fast))
				continue;
			print_message("%s, %s\n", fast ? "Fast DDS" : "Cyclone", node_settings[i]);
			node_start(&n, fast, i, REVERSE, 0);
			node_wait(&n);
			command_comes();
			node_end(&n);
		}
}

static void set_up(unsigned cables, bool multicast)
{
	cables_run("ip link set lo multicast %s", multicast ? "on" : "off");
	for (int i = CABLES - 1; i >= (int)cables; i--)
		cables_run("ip address flush dev near%d; ip link set near%d down", i, i);
}

static void all_take_part(unsigned cables, bool multicast)
{
	struct node hidden[2];
	struct sim_bridge *b;

	set_up(cables, multicast);
	b = ours();
	for (int fast = 0; fast < 2; fast++)
		if (node_can_be(fast))
			node_start(&hidden[fast], fast, NODE_HIDDEN, PARK, 0);
	each_takes_part(0, NODE_HIDDEN);
	for (int fast = 0; fast < 2; fast++)
		if (node_can_be(fast)) {
			assert_false(node_has(&hidden[fast]));
			node_end(&hidden[fast]);
		}
	done(b);
}

/* ---- the tests ---- */

static int have_fast(void **state)
{
	(void)state;
	if (node_can_be(true))
		return 0;
	print_message("no Fast DDS when this was built: run tools/dev/deps.sh check\n");
	return getenv("FULL") ? -1 : 0;
}

TEST_WITH(all_of_a_machine_with_one_network, cables_lay, cables_cut)
{
	all_take_part(1, true);
}
TEST_FULL_WITH(all_of_a_machine_with_two_networks, cables_lay, cables_cut)
{
	all_take_part(2, true);
}
TEST_WITH(all_of_a_machine_with_none, cables_lay, cables_cut)
{
	all_take_part(0, true);
}
TEST_WITH(all_where_loopback_has_no_multicast, cables_lay, cables_cut)
{
	all_take_part(1, false);
}
TEST_FULL_WITH(all_where_there_is_neither, cables_lay, cables_cut)
{
	all_take_part(0, false);
}

/* ---- what is sent ---- */

#define SAMPLES 50
#define AGAIN   1000 /* by then a reader that is gone is forgotten */

struct sent { /* samples of one writer, as they come over lo */
	int fd;
	uint8_t writer[16]; /* its GUID */
	uint32_t last;      /* number of the newest */
	unsigned n, again;  /* new ones in a row; those that were sent again, in all */
};

/* The writer of /clock, which is in this process. */
static void find_clock(uint8_t ret[16])
{
	dds_entity_t p, r;
	dds_sample_info_t info;
	void *sample = NULL;
	bool found = false;

	assert_int_equal(dds_lookup_participant(0, &p, 1), 1);
	r = dds_create_reader(p, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
	while (!found && dds_take(r, &sample, &info, 1, 1) > 0) {
		const dds_builtintopic_endpoint_t *e = sample;

		found = info.valid_data && strcmp(e->topic_name, "rt/clock") == 0;
		memcpy(ret, e->key.v, 16);
		dds_return_loan(r, &sample, 1);
		sample = NULL;
	}
	assert_true(found);
	dds_delete(r);
}

static uint32_t u32_at(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* A packet of RTPS: its DATA of the writer, whose numbers only grow, unless a sample is sent again. */
static void count_samples(struct sent *s, const uint8_t *p, size_t n)
{
	if (n < 20 || memcmp(p, "RTPS", 4) != 0 || memcmp(p + 8, s->writer, 12) != 0)
		return;
	for (size_t at = 20, len; at + 24 <= n; at += len) {
		uint32_t number = u32_at(p + at + 20);

		len = 4u + p[at + 2] + ((unsigned)p[at + 3] << 8); /* little-endian, as this machine is */
		if (p[at] != 0x15 || memcmp(p + at + 12, s->writer + 12, 4) != 0)
			continue;
		s->again += number <= s->last;
		s->n = number > s->last ? s->n + 1 : 0;
		s->last = number > s->last ? number : s->last;
	}
}

static struct sent listen_to_lo(void)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_IP),
				 .sll_ifindex = (int)if_nametoindex("lo") };
	struct sent s = { .fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0) };

	assert_true(s.fd >= 0 && bind(s.fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	find_clock(s.writer);
	return s;
}

/* So many samples, or too many of them again; each packet goes out over lo and comes in. */
static void count_some(struct sent *s)
{
	struct sockaddr_ll from;
	uint8_t packet[2048];

	while (s->n < SAMPLES && s->again < AGAIN) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(s->fd, packet, sizeof(packet), 0, (struct sockaddr *)&from, &len);
		size_t head = (size_t)(packet[0] & 15) * 4 + sizeof(struct udphdr);

		assert_true(n > 0);
		if (from.sll_pkttype != PACKET_OUTGOING && packet[9] == IPPROTO_UDP && (size_t)n > head)
			count_samples(s, packet + head, (size_t)n - head);
	}
}

/* It may announce addresses of several interfaces, and of groups. */
TEST_WITH(a_sample_is_sent_once_to_one_reader, cables_lay, cables_cut)
{
	struct sim_bridge *b;
	struct node n;

	set_up(CABLES, true);
	b = ours();
	for (unsigned i = 0; i < NODE_HIDDEN; i++)
		for (int fast = 0; fast < 2; fast++) {
			struct sent s;

			if (!node_can_be(fast))
				continue;
			node_start(&n, fast, i, REVERSE, 0);
			node_wait(&n);
			s = listen_to_lo();
			count_some(&s);
			close(s.fd);
			if (s.n < SAMPLES)
				fail_msg("%s, %s: samples are sent again", fast ? "Fast DDS" : "Cyclone",
					 node_settings[i]);
			node_end(&n);
		}
	done(b);
}

/* ---- another machine ---- */

/* Of each setting. */
static unsigned start_far(struct node far[2 * NODE_SETTINGS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < NODE_SETTINGS; i++)
		for (int fast = 0; fast < 2; fast++)
			if (node_can_be(fast))
				node_start(&far[n++], fast, i, PARK, cables_stranger());
	return n;
}

/* From the far end, until the kernel has dropped as many as it sends at once: to our address, and to the group. */
static void bombard(int cables, uint16_t port, bool multicast)
{
	for (int cable = 0; cable < cables; cable++) {
		unsigned before = cables_dropped(port);

		AWAIT((multicast ? cables_multicast(cable, port, BURST) : cables_send(cable, port, BURST)) == 0 &&
		      cables_dropped(port) - before >= BURST);
	}
}

/* At the networks, as nodes do that are there: only then the kernel takes its packets in, for whoever has that port. */
static int join_group(int cables)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ip_mreqn m = { .imr_multiaddr.s_addr = inet_addr("239.255.0.1") };
	char name[IF_NAMESIZE];

	assert_true(fd >= 0);
	for (int i = 0; i < cables; i++) {
		snprintf(name, sizeof(name), "near%d", i);
		m.imr_ifindex = (int)if_nametoindex(name);
		assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), 0);
	}
	return fd;
}

static bool log_has(const char *text)
{
	bool has;

	pthread_mutex_lock(&h.log_lock);
	has = strstr(h.log, text) != NULL;
	pthread_mutex_unlock(&h.log_lock);
	return has;
}

static void another_machine(unsigned networks, bool multicast)
{
	const int cables = (int)networks;
	struct node far[2 * NODE_SETTINGS], here;
	uint8_t our[CABLES_PREFIX];
	struct sim_bridge *b;
	unsigned n;
	int fd;

	set_up(networks, multicast);
	setenv("ROS_STATIC_PEERS", "10.77.0.2;10.77.1.2", 1); /* which asks for more than it gets */
	b = ours();
	unsetenv("ROS_STATIC_PEERS");
	prefix(our);
	bombard(cables, DATA, false);
	fd = join_group(cables);
	bombard(cables, META, true);
	close(fd);
	n = start_far(far);
	node_start(&here, false, 0, REVERSE, 0);
	node_wait(&here);
	command_comes();
	each_takes_part(0, NODE_HIDDEN); /* and no command of the others comes in between */
	for (unsigned i = 0; i < n; i++) {
		assert_false(node_has(&far[i]));
		node_end(&far[i]);
	}
	for (int cable = 0; cable < cables; cable++)
		assert_int_equal(cables_count(cable, our), 0);
	assert_false(log_has("malformed packet"));
	node_end(&here);
	done(b);
}

TEST_WITH(another_machine_sees_and_reaches_nothing, cables_lay, cables_cut)
{
	another_machine(CABLES, true);
}

TEST_FULL_WITH(another_machine_where_loopback_has_no_multicast, cables_lay, cables_cut)
{
	another_machine(1, false);
}

/* Whatever CYCLONEDDS_URI makes of the sockets: of some modes the participant has its own. */
TEST_WITH(sockets_of_the_participant_hear_no_other_machine, cables_lay, cables_cut)
{
	static const char *const options[] = { NULL };
	struct cables_receiver r[8];
	struct sim_bridge *b;
	unsigned n;

	setenv("CYCLONEDDS_URI",
	       "<CycloneDDS><Domain><Compatibility><ManySocketsMode>many</ManySocketsMode></Compatibility></Domain></CycloneDDS>",
	       1);
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	unsetenv("CYCLONEDDS_URI");
	assert_true(log_has("in domain 0 with all of this machine"));
	n = cables_receivers(r);
	assert_in_range(n, 2, 8);
	for (unsigned i = 0; i < n; i++)
		if (r[i].port != META && r[i].port != META + 1)
			bombard(CABLES, r[i].port, false);
	assert_false(log_has("malformed packet"));
	h.ops->destroy(b);
}

/* That the count above would see them: on a network that it is to use, ours is there for the same nodes. */
TEST_WITH(on_a_network_another_machine_takes_part, cables_lay, cables_cut)
{
	static const char *const options[] = { "localhost", "false",     "interface", "near0", "graph_wait_ms",
					       "0",         "subscribe", GEAR,        NULL };
	uint8_t our[CABLES_PREFIX];
	struct sim_bridge *b;
	struct node far;

	b = ours_with(options);
	prefix(our);
	node_start(&far, false, 2, REVERSE, cables_stranger());
	node_wait(&far);
	command_comes();
	assert_true(cables_count(0, our) > 0);
	node_end(&far);
	done(b);
}

/* ---- interfaces ---- */

/* Nodes start on what there is then; what is kept comes to them, and what they kept to us. */
TEST_WITH(interfaces_come_change_and_go, cables_lay, cables_cut)
{
	struct sim_bridge *b;
	struct node stays;

	set_up(0, false);
	b = ours();
	each_takes_part(1, 2);
	cables_run("ip address add 10.78.0.1/24 dev near0; ip link set near0 up"); /* the first one: they use it */
	node_start(&stays, false, 1, REVERSE, 0);
	node_wait(&stays);
	command_comes();
	each_takes_part(0, NODE_HIDDEN);
	cables_run("ip address flush dev near0; ip address add 10.79.0.1/24 dev near0");
	each_takes_part(0, NODE_HIDDEN);
	cables_run("ip address add 169.254.7.1/16 dev near1; ip link set near1 up; ip link set near0 down");
	each_takes_part(0, NODE_HIDDEN);
	cables_run("ip link set near1 down");
	each_takes_part(0, NODE_HIDDEN);
	cables_run("ip link set near0 up");
	each_takes_part(0, 1);
	node_forget(&stays);
	AWAIT(node_has(&stays)); /* all the time */
	node_end(&stays);
	done(b);
}

/* ---- what is set remains as it is ---- */

static unsigned on_lo(void)
{
	struct cables_receiver r[8];
	unsigned n = cables_receivers(r), lo = 0;

	for (unsigned i = 0; i < n; i++)
		lo += strcmp(r[i].device, "lo") == 0;
	assert_in_range(n, 1, 8);
	assert_true(lo == 0 || lo == n);
	return lo;
}

static void opens(const char *localhost, const char *variable, const char *value, bool lo, const char *from)
{
	const char *const options[] = { "localhost", localhost, NULL };
	struct sim_bridge *b;

	if (variable)
		setenv(variable, value, 1);
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	assert_int_equal(on_lo() > 0, lo);
	if (from)
		AWAIT(cables_send(0, DATA, BURST) == 0 && log_has(from));
	h.ops->destroy(b);
	if (variable)
		unsetenv(variable);
}

TEST_WITH(what_is_set_stays_as_it_is, cables_lay, cables_cut)
{
#define NEAR0 \
	"<CycloneDDS><Domain><General><Interfaces><NetworkInterface name=\"near0\"/></Interfaces></General>" \
	"<Discovery><ParticipantIndex>0</ParticipantIndex></Discovery></Domain></CycloneDDS>"
	opens("true", NULL, NULL, true, NULL);
	assert_true(log_has("connected: in domain 0 on loopback"));
	assert_false(log_has("; but ")); /* nobody is on the networks */
	opens("true", "ROS_LOCALHOST_ONLY", "0", true, NULL);
	opens("auto", NULL, NULL, false, NULL);
	assert_true(log_has("in domain 0 with all of this machine"));
	opens("auto", "ROS_LOCALHOST_ONLY", "1", false, NULL);
	opens("auto", "CYCLONEDDS_URI", NEAR0, false, "malformed packet");
	assert_true(log_has("in domain 0 on a network"));
	assert_true(log_has("CYCLONEDDS_URI has interfaces of a network"));
}

/* As rcl does where both are set. */
TEST_WITH(the_environment_is_read_as_ros_reads_it, cables_lay, cables_cut)
{
	static const struct {
		const char *only, *range, *scope;
	} row[] = { { "1", "SUBNET", "with all of this machine" },
		    { "1", "OFF", "with all of this machine" },
		    { "0", "LOCALHOST", "with all of this machine" },
		    { "0", "OFF", "with all of this machine" },
		    { "0", "SUBNET", "on a network" } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		print_message("ROS_LOCALHOST_ONLY=%s, %s\n", row[i].only, row[i].range);
		setenv("ROS_LOCALHOST_ONLY", row[i].only, 1);
		opens("auto", "ROS_AUTOMATIC_DISCOVERY_RANGE", row[i].range, false, NULL);
		assert_true(log_has(row[i].scope));
	}
	unsetenv("ROS_LOCALHOST_ONLY");
}

/* ---- who is not heard ---- */

/* A participant on interfaces of its own choice. It is forked before the plug-in is loaded, begins when it is told to, and ends with a goodbye. */
struct party {
	pid_t pid;
	int go;
};

#define ON(interface) "<NetworkInterface name=\"" interface "\" multicast=\"true\"/>"

static _Noreturn void be_party(int go, unsigned domain, const char *interfaces, pid_t net)
{
	char uri[512], path[64], c;
	int fd;
	dds_entity_t p;

	snprintf(uri, sizeof(uri),
		 "<CycloneDDS><Domain Id=\"any\"><General><Interfaces>%s</Interfaces></General><Discovery><ParticipantIndex>auto"
		 "</ParticipantIndex></Discovery></Domain></CycloneDDS>",
		 interfaces);
	setenv("CYCLONEDDS_URI", uri, 1);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)net);
	if (net && ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(fd, CLONE_NEWNET) < 0))
		_exit(1);
	if (read(go, &c, 1) != 1 || (p = dds_create_participant(domain, NULL, NULL)) < 0 || read(go, &c, 1) != 1 ||
	    dds_delete(p) < 0)
		_exit(1);
	_exit(0);
}

/* net: of whose process it has the network; 0: ours. */
static struct party party(unsigned domain, const char *interfaces, pid_t net)
{
	struct party p;
	int go[2];

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	p = (struct party){ .pid = fork(), .go = go[1] };
	if (p.pid == 0)
		be_party(go[0], domain, interfaces, net);
	close(go[0]);
	return p;
}

static void go_on(const struct party *p)
{
	assert_int_equal(write(p->go, "", 1), 1);
}

static void party_end(const struct party *p)
{
	int status = -1;

	go_on(p);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
	close(p->go);
}

static bool log_ends(const char *text)
{
	size_t n, k = strlen(text);
	bool ends;

	pthread_mutex_lock(&h.log_lock);
	n = strlen(h.log);
	ends = n >= k && strcmp(h.log + n - k, text) == 0;
	pthread_mutex_unlock(&h.log_lock);
	return ends;
}

/* How many participants ours has discovered, itself among them. */
static int participants(void)
{
	dds_entity_t p, r;
	dds_sample_info_t info[8];
	void *sample[8] = { NULL };
	int n;

	assert_int_equal(dds_lookup_participant(0, &p, 1), 1);
	r = dds_create_reader(p, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	n = dds_take(r, sample, info, 8, 8);
	dds_delete(r);
	return n;
}

/* While a network is up; what README says of loopback alone. */
TEST_WITH(on_loopback_alone_those_of_humble_take_part, cables_lay, cables_cut)
{
	static const char *const options[] = { "localhost", "true", "subscribe", GEAR, "graph_wait_ms", "0", NULL };
	struct node apart[2 * NODE_SETTINGS];
	struct sim_bridge *b;
	unsigned n = 0;

	set_up(1, true);
	b = ours_with(options);
	for (unsigned i = 0; i < NODE_SETTINGS; i++)
		for (int fast = 0; fast < 2; fast++)
			if (i != NODE_LOCALHOST_ONLY && node_can_be(fast))
				node_start(&apart[n++], fast, i, PARK, 0);
	each_takes_part(NODE_LOCALHOST_ONLY, NODE_LOCALHOST_ONLY + 1);
	host_wait_log(&h, "; but participants on near0 are not heard");
	for (unsigned i = 0; i < n; i++) {
		assert_false(node_has(&apart[i]));
		node_end(&apart[i]);
	}
	done(b);
}

/* Those of our domain that do not take part, on the interface where they are, and as long as they are there. */
TEST_WITH(those_on_a_network_are_named_where_we_are_on_loopback_alone, cables_lay, cables_cut)
{
	static const char *const options[] = { "localhost", "true", "graph_wait_ms", "0", NULL };
	struct party here = party(0, ON("near0"), 0), other = party(5, ON("near1"), 0);
	struct party both = party(0, ON("lo") ON("near1"), 0), far = party(0, ON("far1"), cables_stranger());
	struct sim_bridge *b;

	set_up(2, true);
	host_init(&h, PLUGIN, options);
	b = host_create(&h);
	go_on(&both);
	AWAIT(participants() == 2);
	go_on(&other);
	go_on(&far);
	go_on(&here);
	host_wait_log(&h, "participants on near0 in domain 0 are not heard: this bridge is on loopback alone");
	host_wait_log(&h, "connected: in domain 0 on loopback; but participants on near0 are not heard, and 1 more");
	party_end(&here);
	party_end(&other);
	AWAIT(log_ends("connected: in domain 0 on loopback"));
	party_end(&both);
	party_end(&far);
	assert_false(log_has("near1"));
	h.ops->destroy(b);
}

TEST_GROUP(have_fast, NULL)
TEST_PROCESSES()
