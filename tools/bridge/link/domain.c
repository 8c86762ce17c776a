/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the DDS domain and participant: on loopback or one network interface, with unicast to the peers that the rig
 * lists. Packets of other hosts are dropped by a filter in the kernel that accepts only the peers' addresses. Thread:
 * that of create().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"

#define DOMAIN_MAX       232
#define KEYED_DOMAIN_MAX 230
#define PEERS_MAX        SOCKETS_FROM_MAX
/*
 * The largest UDP packet less what encryption adds: a header, and 20 bytes per receiving participant, of which a peer
 * has several.
 */
#define KEYED_PACKET_MAX (65507u - 256u - 20u * PEERS_MAX * 2)
#define BLOCK_DUR_NS     100000000 /* how long a writer with keep_all waits for its readers */

struct network {
	uint32_t domain;
	bool localhost;
	const char *interface, *keys;
	struct secure *secure; /* keys read from the directory `keys`; NULL: none */
	in_addr_t peer[PEERS_MAX];
	unsigned n_peers;
};

/* ---- options ---- */

static int read_name(struct sim_bridge *b)
{
	const char *s = bridge_option(b->host, "host");
	char name[256] = "";

	if (!*s && gethostname(name, sizeof(name) - 1) == 0) {
		name[strcspn(name, ".")] = '\0';
		s = name;
	}
	if (!manifest_host_ok(s)) {
		log_error(b, "options.host: \"%.60s\" is not a name of 1 to %d letters, digits, '_', '.' or '-'", s,
			  SIM_HOST_NAME_MAX);
		return -EINVAL;
	}
	snprintf(b->name, sizeof(b->name), "%.*s", SIM_HOST_NAME_MAX, s);
	return 0;
}

static bool is_loopback(const char *interface)
{
	struct in_addr a;

	return !*interface || strcmp(interface, "lo") == 0 ||
	       (inet_pton(AF_INET, interface, &a) == 1 && ntohl(a.s_addr) >> 24 == 127);
}

/* The name or address becomes part of Cyclone's XML, so its characters are checked. */
static int read_interface(struct sim_bridge *b, struct network *n)
{
	static const char *const words[] = { "false", "true", NULL };
	const char *s = bridge_option(b->host, "interface");
	int insecure = bridge_option_word(b->host, "insecure", words, "true or false");
	size_t len = strlen(s);

	if (insecure < 0)
		return insecure;
	if (len >= 64 || strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_@") != len) {
		log_error(b,
			  "options.interface: \"%.60s\" is not the name or the IPv4 address of a network interface; see "
			  "`ip address`",
			  s);
		return -EINVAL;
	}
	n->interface = s;
	n->localhost = is_loopback(s);
	n->keys = bridge_option(b->host, "keys");
	if (*n->keys && insecure) {
		log_error(b, "options.insecure is true, and options.keys is given: leave one of them out");
		return -EINVAL;
	}
	if (n->localhost || insecure || *n->keys)
		return 0;
	log_error(
		b,
		"options.interface: %s is a network, and without keys a link neither encrypts nor authenticates: anyone in it "
		"can read and write every channel. Set options.keys (see `simctl link make-keys`), or options.insecure to true if "
		"this is intended",
		s);
	return -EINVAL;
}

static int read_peers(struct sim_bridge *b, struct network *n)
{
	json_t *list = json_loads(bridge_option(b->host, "peers"), JSON_REJECT_DUPLICATES, NULL), *v;
	int r = json_is_array(list) && json_array_size(list) <= PEERS_MAX ? 0 : -EINVAL;
	struct in_addr a;
	size_t i;

	json_array_foreach(list, i, v) {
		if (r == 0 && (!json_is_string(v) || inet_pton(AF_INET, json_string_value(v), &a) != 1))
			r = -EINVAL;
		if (r == 0)
			n->peer[n->n_peers++] = a.s_addr;
	}
	json_decref(list);
	if (r < 0)
		log_error(b,
			  "options.peers: \"%.80s\" is not a list of at most %u IPv4 addresses, as [\"192.168.1.2\"]",
			  bridge_option(b->host, "peers"), PEERS_MAX);
	else if (!n->localhost && !n->n_peers)
		log_warn(b, "options.peers is empty: there is no machine to link to");
	return r;
}

static int read_lists(struct sim_bridge *b)
{
	struct {
		const char *option;
		struct patterns *ret;
	} all[] = { { "export", &b->export },
		    { "import", &b->import },
		    { "import_services", &b->import_services },
		    { "reliable", &b->reliable },
		    { "best_effort", &b->best_effort },
		    { "keep", &b->keep },
		    { "confirm", &b->confirm } };
	int r = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int e = patterns_read(b->host, all[i].option, all[i].ret);

		r = r < 0 ? r : e;
	}
	return r;
}

static int read_options(struct sim_bridge *b, struct network *n)
{
	long domain = 0;
	int lists = read_lists(b), name = read_name(b), interface = read_interface(b, n), peers = read_peers(b, n);
	int numbers = bridge_option_number(b->host, "domain", 0, DOMAIN_MAX, "", &domain);

	if (numbers == 0)
		numbers = bridge_option_number(b->host, "depth", 1, 1000, "messages", &b->depth);
	if (numbers == 0)
		numbers = bridge_option_number(b->host, "confirm_ms", 10, 600000, "ms", &b->confirm_ms);
	if (numbers == 0)
		numbers = bridge_option_number(b->host, "lease_ms", 100, 600000, "ms", &b->lease_ms);
	if (numbers == 0 && *bridge_option(b->host, "keys") && domain > KEYED_DOMAIN_MAX) {
		log_error(b, "options.domain: with keys it must be 0 to %d, the limit of Cyclone's DDS Security",
			  KEYED_DOMAIN_MAX);
		numbers = -EINVAL;
	}
	n->domain = (uint32_t)domain;
	return lists < 0 ? lists : name < 0 || interface < 0 || peers < 0 || numbers < 0 ? -EINVAL : 0;
}

int link_domain_check(struct sim_bridge *b)
{
	struct network n = { 0 };

	return read_options(b, &n);
}

/* ---- opening ---- */

/*
 * Each process of a machine gets its own participant index, so that others find it without multicast. See ros2/domain.c
 * about the buffers.
 */
static int write_xml(const struct sim_bridge *b, const struct network *n, char **ret)
{
	const char *interface = *n->interface ? n->interface : "127.0.0.1";
	struct in_addr a;
	size_t size = 0;
	FILE *f = open_memstream(ret, &size);

	if (!f)
		return -ENOMEM;
	fprintf(f,
		"<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface %s=\"%s\"/></Interfaces>"
		"<AllowMulticast>false</AllowMulticast><MaxMessageSize>%uB</MaxMessageSize><FragmentSize>%uB</FragmentSize>"
		"</General><Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>16</MaxAutoParticipantIndex>"
		"<LeaseDuration>%ldms</LeaseDuration><Peers>",
		inet_pton(AF_INET, interface, &a) == 1 ? "address" : "name", interface,
		*n->keys ? KEYED_PACKET_MAX : 65500u, *n->keys ? KEYED_PACKET_MAX - 2000u : 63000u, b->lease_ms);
	if (n->localhost)
		fputs("<Peer address=\"127.0.0.1\"/>", f);
	for (unsigned i = 0; i < n->n_peers; i++) {
		char text[INET_ADDRSTRLEN];

		fprintf(f, "<Peer address=\"%s\"/>", inet_ntop(AF_INET, &n->peer[i], text, sizeof(text)));
	}
	fputs("</Peers></Discovery><Sizing><ReceiveBufferSize>144KiB</ReceiveBufferSize></Sizing><Internal>"
	      "<SocketReceiveBufferSize max=\"10MB\"/><HeartbeatInterval min=\"2ms\" minsched=\"3ms\" max=\"1s\">3ms</HeartbeatInterval>"
	      "</Internal></Domain></CycloneDDS>",
	      f);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

/* The participant has the machine's name, for log messages of machines that cannot link; it is not trusted. */
static dds_entity_t create_participant(struct sim_bridge *b, const struct network *n)
{
	dds_qos_t *qos = n->secure ? secure_participant(n->secure) : dds_create_qos();
	dds_entity_t e = DDS_RETCODE_OUT_OF_RESOURCES;

	if (qos) {
		dds_qset_entity_name(qos, b->name);
		e = dds_create_participant(n->domain, qos, NULL);
	}
	dds_delete_qos(qos);
	b->keyed = n->secure && e > 0;
	return e;
}

static int join(struct sim_bridge *b, const struct network *n, const char *xml)
{
	struct sockets before;

	sockets_note(&before);
	sockets_log_open(&b->cyclone_log, b->host);
	b->domain = dds_create_domain(n->domain, xml);
	if (b->domain < 0) {
		log_error(b, "no DDS domain %u: %s; check options.interface", n->domain, dds_strretcode(b->domain));
		return dds_errno(b->domain);
	}
	b->participant = create_participant(b, n);
	if (b->participant < 0 && *n->keys) {
		log_error(
			b,
			"no DDS participant in domain %u: Cyclone's DDS Security refuses the keys in %s: %s; see its messages above",
			n->domain, n->keys, dds_strretcode(b->participant));
		return dds_errno(b->participant);
	}
	if (b->participant < 0) {
		log_error(b, "no DDS participant in domain %u: %s; check options.interface", n->domain,
			  dds_strretcode(b->participant));
		return dds_errno(b->participant);
	}
	return sockets_narrow(b->host, &before, n->localhost ? NULL : n->peer, n->n_peers);
}

int link_domain_open(struct sim_bridge *b)
{
	struct network n = { 0 };
	char *xml = NULL;
	int r = read_options(b, &n);

	if (r == 0 && *n.keys)
		r = secure_read(b, n.keys, &n.secure);
	if (r == 0)
		r = write_xml(b, &n, &xml);
	if (r == 0)
		r = join(b, &n, xml);
	b->localhost = n.localhost;
	secure_free(n.secure);
	free(xml);
	return r;
}

/* ---- endpoints ---- */

static dds_qos_t *make_qos(const struct link_qos *q, const char *partition)
{
	dds_qos_t *qos = dds_create_qos();

	if (!qos)
		return NULL;
	dds_qset_reliability(qos, q->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, BLOCK_DUR_NS);
	dds_qset_durability(qos, q->keep ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, q->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, q->depth);
	if (q->keep)
		dds_qset_durability_service(qos, 0, q->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST,
					    q->depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
	if (partition)
		dds_qset_partition1(qos, partition);
	dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
	return qos;
}

static dds_entity_t endpoint(struct sim_bridge *b, const char *partition, dds_entity_t topic, const struct link_qos *q,
			     dds_listener_t *listener,
			     dds_entity_t (*create)(dds_entity_t, dds_entity_t, const dds_qos_t *,
						    const dds_listener_t *))
{
	dds_qos_t *qos = make_qos(q, b->keyed ? partition : NULL);
	dds_entity_t e = qos ? create(b->participant, topic, qos, listener) : DDS_RETCODE_OUT_OF_RESOURCES;

	dds_delete_listener(listener);
	dds_delete_qos(qos);
	return e;
}

dds_entity_t link_reader(struct sim_bridge *b, dds_entity_t topic, const struct link_qos *q, dds_listener_t *listener)
{
	return endpoint(b, "*", topic, q, listener, dds_create_reader);
}

dds_entity_t link_writer(struct sim_bridge *b, dds_entity_t topic, const struct link_qos *q, dds_listener_t *listener)
{
	return endpoint(b, b->name, topic, q, listener, dds_create_writer);
}

/* Cyclone references a body longer than BLOB_COPIED_MAX after dds_write() returns, so a copy is given to it. */
int link_write(struct sim_bridge *b, dds_entity_t writer, uint64_t sequence, const void *body, size_t size)
{
	struct blob_out o = { .head = { .host = b->id, .sequence = sequence, .body_size = size }, .body = body };

	if (size > BLOB_COPIED_MAX) {
		o.arg = malloc(blob_size(size));
		if (!o.arg)
			return -ENOMEM;
		memcpy(o.arg, body, size);
		o.body = o.arg;
		o.released = free;
	}
	return dds_errno(dds_write(writer, &o));
}
