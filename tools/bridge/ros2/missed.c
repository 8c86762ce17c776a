/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exists but cannot take part, for the log and for the sentence of the bridge's status: publishers of another type
 * on a topic that is read, a service that is served with another type than it is called with, another domain in use on
 * this machine while ours has no other participant, DDS Security, two distributions in one graph, and participants on a
 * network while we use loopback alone (unheard.c). The sentence names it after "; but ", for which `simctl doctor`
 * warns.
 *
 * Thread: "ros2-graph", and the host's for ros2_report_status().
 */
#include <stdio.h>
#include <string.h>

#include "cyclone_inside.h"
#include "ros2.h"
#include "ros/ros_type.h"

#define PORTS_FROM   7400 /* RTPS: domain N begins at 7400 + 250 N with multicast; +10: its first participant's unicast */
#define PORTS_EACH   250
#define PORTS_OWN    10
#define DOMAINS      102 /* the ports of higher domains are ephemeral ports */
#define LINK_DOMAIN  86  /* the link bridge's default domain, which has no ROS nodes */
#define LOOK_DUR_NS  INT64_C(5000000000)
#define PARTICIPANTS 256 /* the most that are looked at */
#define MORE_MAX     32  /* characters of "; but ", and of the number of further ones */

/* ---- publishers of another type ---- */

/* Converts "pkg::msg::dds_::Name_" to ROS' "pkg/msg/Name"; copies any other name unchanged. */
static void print_type(const char *dds, char *out, size_t size)
{
	char package[128], kind[8], name[128];
	int end = 0;
	size_t n;

	if (sscanf(dds, "%127[^:]::%7[^:]::dds_::%127[^:]%n", package, kind, name, &end) == 3 && !dds[end] &&
	    (n = strlen(name)) > 1 && name[n - 1] == '_')
		snprintf(out, size, "%s/%s/%.*s", package, kind, (int)n - 1, name);
	else
		snprintf(out, size, "%s", dds);
}

/* The type that is expected on a topic; name NULL: the topic is not ours. */
struct expected {
	const char *name;
	bool service;
	char dds[160]; /* DDS name of the type */
};

static bool is_reply(const char *topic, const char *service)
{
	size_t n = strlen(service);

	return strncmp(topic, "rr", 2) == 0 && strncmp(topic + 2, service, n) == 0 &&
	       strcmp(topic + 2 + n, "Reply") == 0;
}

static struct expected find_expected(const struct sim_bridge *b, const char *topic)
{
	struct expected r = { .name = NULL };

	for (unsigned i = 0; i < b->n_inbound && !r.name; i++) {
		const struct ros2_inbound *in = &b->inbound[i];

		if (!atomic_load(&in->in.waits) && strncmp(topic, "rt", 2) == 0 &&
		    strcmp(topic + 2, in->in.name) == 0 &&
		    ros_type_dds_name(in->in.conversion.type, r.dds, sizeof(r.dds)) == 0)
			r.name = in->in.name;
	}
	for (unsigned i = 0; i < b->remotes.n && !r.name; i++) {
		const struct ros2_remote *m = &b->remotes.all[i];

		if (is_reply(topic, m->call->name) && ros_type_dds_name(m->types.response, r.dds, sizeof(r.dds)) == 0) {
			r.name = m->call->name;
			r.service = true;
		}
	}
	return r;
}

/* Like print_type(); for a service's reply type, prints the service type. */
static void print_expected(const struct expected *x, const char *dds, char *out, size_t size)
{
	static const char half[] = "_Response";
	size_t n;

	print_type(dds, out, size);
	n = strlen(out);
	if (x->service && n > strlen(half) && strcmp(out + n - strlen(half), half) == 0)
		out[n - strlen(half)] = '\0';
}

static void log_another(struct sim_bridge *b, const struct expected *x, const char *type)
{
	char ours[160];

	if (!limit_allows(&b->missed.lines))
		return;
	print_expected(x, x->dds, ours, sizeof(ours));
	if (x->service)
		log_warn(b, "service %s of ROS 2 is served as %s, and called as %s: it is not asked", x->name, type,
			 ours);
	else
		log_warn(b, "%s: a publisher sends %s there, which is not heard: the topic is read as %s", x->name,
			 type, ours);
}

void ros2_missed_add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance)
{
	struct ros2_missed *m = &b->missed;
	struct expected x = find_expected(b, e->topic_name);
	bool another = x.name && strcmp(e->type_name, x.dds) != 0;

	for (unsigned i = 0; another && i < m->n; i++)
		if (m->one[i].instance == instance)
			return;
	m->full |= another && m->n == ROS2_MISSED_MAX;
	if (!another || m->n == ROS2_MISSED_MAX)
		return;
	m->one[m->n].instance = instance;
	m->one[m->n].topic = x.name;
	m->one[m->n].service = x.service;
	print_expected(&x, e->type_name, m->one[m->n].type, sizeof(m->one[0].type));
	log_another(b, &x, m->one[m->n++].type);
}

const char *ros2_missed_service(const struct sim_bridge *b, const char *name)
{
	for (unsigned i = 0; i < b->missed.n; i++)
		if (b->missed.one[i].service && b->missed.one[i].topic == name)
			return b->missed.one[i].type;
	return NULL;
}

void ros2_missed_drop(struct sim_bridge *b, dds_instance_handle_t instance)
{
	struct ros2_missed *m = &b->missed;

	for (unsigned i = 0; i < m->n; i++)
		if (m->one[i].instance == instance) {
			m->one[i] = m->one[--m->n];
			return;
		}
}

/*
 * Called when earlier publications did not fit and there is room now. A new reader gets all existing publications
 * again.
 */
static void look_for_more(struct sim_bridge *b)
{
	dds_entity_t reader = dds_create_reader(b->participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
	dds_sample_info_t info;
	void *sample = NULL;

	b->missed.full = false;
	while (reader > 0 && dds_take(reader, &sample, &info, 1, 1) > 0) {
		if (info.valid_data && info.instance_state == DDS_IST_ALIVE)
			ros2_missed_add(b, sample, info.instance_handle);
		dds_return_loan(reader, &sample, 1);
		sample = NULL;
	}
	if (reader > 0)
		dds_delete(reader);
}

/* ---- other domains ---- */

/* Returns the domain whose nodes use that port; -1: not a port of DDS. */
static int domain_at(unsigned port)
{
	unsigned of = port - PORTS_FROM;

	if (port < PORTS_FROM || (of % PORTS_EACH != 0 && of % PORTS_EACH != PORTS_OWN))
		return -1;
	return of / PORTS_EACH < DOMAINS ? (int)(of / PORTS_EACH) : -1;
}

/* Returns the lowest other domain in use on this machine; -1: none. */
static int other_domain(const struct sim_bridge *b)
{
	FILE *f = fopen("/proc/net/udp", "re");
	char line[256];
	unsigned port;
	int lowest = -1;

	while (f && fgets(line, sizeof(line), f)) {
		int d = sscanf(line, " %*u: %*x:%x", &port) == 1 ? domain_at(port) : -1;

		if (d >= 0 && d != (int)b->domain_id && d != LINK_DOMAIN && (lowest < 0 || d < lowest))
			lowest = d;
	}
	if (f)
		fclose(f);
	return lowest;
}

static void look_at_domains(struct sim_bridge *b)
{
	struct ros2_missed *m = &b->missed;
	int d = b->graph.thr.n_peers ? -1 : other_domain(b);

	if (d >= 0 && d != m->domain && limit_allows(&m->lines))
		log_info(b,
			 "nobody is in domain %u, but domain %d is in use on this machine: `echo $ROS_DOMAIN_ID` where nodes "
			 "start, options.domain here",
			 b->domain_id, d);
	m->domain = d;
}

/* ---- participants ---- */

static void log_secured(struct sim_bridge *b, const dds_guid_t *guid)
{
	char gid[ROS2_GID_TEXT];

	ros2_print_gid(guid, gid);
	if (limit_allows(&b->missed.lines))
		log_warn(b,
			 "participant %s has DDS Security (ROS_SECURITY_ENABLE): unless its governance allows others, it neither "
			 "hears us nor is heard, as we have none",
			 gid);
}

/*
 * Uses a reader of its own: Cyclone keeps as many loaned samples as were once on loan together, so all reads of one
 * reader have the same size. The first look waits until existing participants can have been discovered.
 */
int ros2_missed_open(struct sim_bridge *b)
{
	b->missed.due = dds_time() + LOOK_DUR_NS;
	b->missed.participants = dds_create_reader(b->participant, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	return dds_errno(b->missed.participants);
}

/*
 * Samples stay in the reader after they were read, even when their participant is gone: PARTICIPANTS of those would
 * hide the rest.
 */
static void forget_those_who_left(const struct ros2_missed *m)
{
	void *sample[PARTICIPANTS] = { NULL };
	dds_sample_info_t info[PARTICIPANTS];
	int n = dds_take_mask(m->participants, sample, info, PARTICIPANTS, PARTICIPANTS, ROS2_GONE);

	if (n > 0)
		dds_return_loan(m->participants, sample, n);
}

static void look_at_participant(struct sim_bridge *b, const dds_guid_t *guid, bool is_new)
{
	ros2_unheard_found(&b->unheard, guid);
	if (!b->inside || !cyclone_inside_secured(b->inside, guid))
		return;
	b->missed.secured++;
	if (is_new)
		log_secured(b, guid);
}

static void look_at_participants(struct sim_bridge *b)
{
	struct ros2_missed *m = &b->missed;
	void *sample[PARTICIPANTS] = { NULL };
	dds_sample_info_t info[PARTICIPANTS];
	int n;

	forget_those_who_left(m);
	ros2_peers_forget(b);
	n = dds_read(m->participants, sample, info, PARTICIPANTS, PARTICIPANTS);
	m->secured = 0;
	for (int i = 0; i < n; i++)
		if (info[i].valid_data && info[i].instance_state == DDS_IST_ALIVE)
			look_at_participant(b, &((const dds_builtintopic_participant_t *)sample[i])->key,
					    info[i].sample_state == DDS_SST_NOT_READ);
	if (n > 0)
		dds_return_loan(m->participants, sample, n);
	ros2_unheard_look(b);
}

/* ---- the sentence ---- */

static size_t print_scope(const struct sim_bridge *b, char *out, size_t size)
{
	return (size_t)snprintf(out, size, "in domain %u %s", b->domain_id,
				b->machine     ? "with all of this machine"
				: b->localhost ? "on loopback"
					       : "on a network");
}

/* Prints the most serious problem, and how many more there are. */
static void print_all(const struct sim_bridge *b, char *out, size_t size)
{
	const struct ros2_missed *m = &b->missed;
	size_t n = print_scope(b, out, size);
	unsigned more = (*b->unheard.on != '\0') + m->n + m->secured + (m->domain >= 0) + b->graph.thr.mixed;

	if (!more && *b->learn.waits)
		snprintf(out + n, size - n, "%.*s", (int)(size - n - 1), b->learn.waits);
	if (!more || n + MORE_MAX >= size)
		return;
	out += n;
	size -= n + MORE_MAX;
	if (*b->unheard.on)
		n = (size_t)snprintf(out, size, "; but participants on %s are not heard", b->unheard.on);
	else if (m->n && m->one[0].service)
		n = (size_t)snprintf(out, size, "; but service %s is served as %s", m->one[0].topic, m->one[0].type);
	else if (m->n)
		n = (size_t)snprintf(out, size, "; but a publisher of %s on %s is not heard", m->one[0].type,
				     m->one[0].topic);
	else if (m->secured)
		n = (size_t)snprintf(out, size, "; but a participant has DDS Security");
	else if (b->graph.thr.mixed)
		n = (size_t)snprintf(out, size, "; but two distributions are in it, see the log");
	else
		n = (size_t)snprintf(out, size, "; but nobody is there, and domain %d is in use here", m->domain);
	if (--more)
		sprintf(out + (n < size ? n : size - 1), ", and %u more", more);
}

/* Reports to the host. The caller holds missed.lock. */
static void tell(struct sim_bridge *b, enum sim_bridge_status status, const char *text)
{
	atomic_store(&b->status, (int)status);
	snprintf(b->missed.told, sizeof(b->missed.told), "%s", text);
	b->host->status(b->host->ctx, status, text);
}

void ros2_report_status(struct sim_bridge *b, enum sim_bridge_status status)
{
	char text[ROS2_STATUS_TEXT] = "";

	pthread_mutex_lock(&b->missed.lock);
	if (status == SIM_BRIDGE_CONNECTED)
		print_scope(b, text, sizeof(text));
	tell(b, status, text);
	pthread_mutex_unlock(&b->missed.lock);
	waiter_poke(&b->graph.waiter);
}

int64_t ros2_missed_look(struct sim_bridge *b)
{
	struct ros2_missed *m = &b->missed;
	char text[ROS2_STATUS_TEXT];
	dds_time_t now = dds_time();

	if (m->full && m->n < ROS2_MISSED_MAX)
		look_for_more(b);
	if (now >= m->due || (m->domain >= 0 && b->graph.thr.n_peers)) {
		look_at_domains(b);
		look_at_participants(b);
		m->due = now + LOOK_DUR_NS;
	}
	pthread_mutex_lock(&m->lock);
	print_all(b, text, sizeof(text));
	if (atomic_load(&b->status) == SIM_BRIDGE_CONNECTED && strcmp(text, m->told) != 0 && limit_allows(&m->lines))
		tell(b, SIM_BRIDGE_CONNECTED, text);
	pthread_mutex_unlock(&m->lock);
	return m->due - now;
}
