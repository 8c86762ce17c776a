/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ros_discovery_info: which endpoints belong to our nodes. Each sample holds the whole state; it is sent after an
 * endpoint is created and before one is deleted. A GID has 24 bytes up to Humble and 16 from Iron on, under the same
 * type name, and when a Humble node reads the other format, its graph queries fail for all nodes. So we send nothing
 * until another participant's format has been seen, or none has appeared for a while; then we write the format that the
 * others use.
 *
 * Thread: "ros2-graph" reads and decides, and looks for other publishers of /clock (clock_publishers.c); any thread may
 * publish, under the bridge's lock.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "enc_wire.h"
#include "params.h"
#include "ros/ros_type.h"

#define GRAPH_TYPE  "rmw_dds_common/ParticipantEntitiesInfo"
#define GRAPH_TOPIC "ros_discovery_info"
#define KEPT        512 /* samples from others that may be queued */

/* ---- our sample ---- */

static void put_gid(struct sim_bridge *b, struct sim_enc *e, dds_entity_t entity)
{
	uint8_t *gid = e->ops->room(e, "data", SIM_KIND_UINT8, b->graph.form, 1);
	dds_guid_t guid;

	if (!gid)
		return;
	memset(gid, 0, b->graph.form);
	if (dds_get_guid(entity, &guid) == 0)
		memcpy(gid, guid.v, sizeof(guid.v));
}

static unsigned count_readers(const struct sim_bridge *b)
{
	unsigned n = b->sim_time.reader > 0;

	for (unsigned i = 0; i < b->n_inbound; i++)
		n += b->inbound[i].reader > 0;
	return n;
}

static void put_readers(struct sim_bridge *b, struct sim_enc *e, struct ros2_service *const *services, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_gid(b, e, ros2_service_reader(services[i]));
}

static void put_writers(struct sim_bridge *b, struct sim_enc *e, struct ros2_service *const *services, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_gid(b, e, ros2_service_writer(services[i]));
}

/*
 * Writes a simd node that has parameters. It has only the parameter services: its channels are topics of our own node.
 */
static void put_param_node(struct sim_bridge *b, struct sim_enc *e, const struct ros2_param_node *n)
{
	sim_enc_text(e, "node_namespace", n->node_namespace);
	sim_enc_text(e, "node_name", n->name);
	sim_enc_list(e, "reader_gid_seq", PARAM_CALLS_N);
	put_readers(b, e, n->services, PARAM_CALLS_N);
	sim_enc_list(e, "writer_gid_seq", PARAM_CALLS_N);
	put_writers(b, e, n->services, PARAM_CALLS_N);
}

static void put_node(struct sim_bridge *b, struct sim_enc *e)
{
	struct ros2_service *const *params = b->params.n ? b->params.nodes[0]->services : NULL;
	unsigned n_params = params ? PARAM_CALLS_N : 0, n_events = b->params.events > 0;

	sim_enc_text(e, "node_namespace", b->node_namespace);
	sim_enc_text(e, "node_name", b->node);
	sim_enc_list(e, "reader_gid_seq", count_readers(b) + b->n_services + b->remotes.n + n_params);
	for (unsigned i = 0; i < b->n_inbound; i++)
		if (b->inbound[i].reader > 0)
			put_gid(b, e, b->inbound[i].reader);
	if (b->sim_time.reader > 0)
		put_gid(b, e, b->sim_time.reader);
	put_readers(b, e, b->services, b->n_services);
	for (unsigned i = 0; i < b->remotes.n; i++)
		put_gid(b, e, b->remotes.all[i].reader);
	put_readers(b, e, params, n_params);
	sim_enc_list(e, "writer_gid_seq", b->n_topics + n_events + b->n_services + b->remotes.n + n_params);
	for (unsigned i = 0; i < b->n_topics; i++)
		put_gid(b, e, b->topics[i]->writer);
	if (n_events)
		put_gid(b, e, b->params.events);
	put_writers(b, e, b->services, b->n_services);
	for (unsigned i = 0; i < b->remotes.n; i++)
		put_gid(b, e, b->remotes.all[i].writer);
	put_writers(b, e, params, n_params);
}

void ros2_graph_publish(struct sim_bridge *b)
{
	struct enc_wire w;
	struct iov_buf o;
	dds_return_t r;

	if (!b->graph.form)
		return;
	iov_buf_init(&o);
	wire_begin(&w, WIRE_CDR, &o);
	put_gid(b, &w.enc, b->participant);
	sim_enc_list(&w.enc, "node_entities_info_seq", b->params.n ? b->params.n : 1);
	put_node(b, &w.enc);
	for (unsigned i = 1; i < b->params.n; i++)
		put_param_node(b, &w.enc, b->params.nodes[i]);
	r = wire_finish(&w) == 0 ? dds_write(b->graph.writer, &o) : DDS_RETCODE_OUT_OF_RESOURCES;
	if (r < 0)
		log_warn(b, "the ROS graph is not up to date: %s", dds_strretcode(r));
	iov_buf_finish(&o);
}

/* ---- others' samples ---- */

static struct ros2_peer *peer_of(struct ros2_graph *g, dds_instance_handle_t writer)
{
	for (unsigned i = 0; i < g->thr.n_peers; i++)
		if (g->thr.peers[i].writer == writer)
			return &g->thr.peers[i];
	if (g->thr.n_peers == ROS2_PEERS_MAX)
		return NULL;
	g->thr.peers[g->thr.n_peers] = (struct ros2_peer){ .writer = writer };
	return &g->thr.peers[g->thr.n_peers++];
}

/* Bridges are ignored: two of them would hold each other to a format that no other participant uses any more. */
static bool is_bridge(struct sim_bridge *b, dds_instance_handle_t writer)
{
	dds_builtintopic_endpoint_t *e = dds_get_matched_publication_data(b->graph.reader, writer);
	bool is = e && ros2_is_bridge(b, e->participant_instance_handle);

	if (e)
		dds_builtintopic_free_endpoint(e);
	return is;
}

static void note(void *arg, const struct endpoint_sample *s)
{
	struct sim_bridge *b = arg;
	struct graph_info info;
	struct ros2_peer *h;

	if (is_bridge(b, s->info->publication_handle))
		return;
	if (graph_read(s->bytes, s->len, &info) == 0 && (h = peer_of(&b->graph, s->info->publication_handle))) {
		h->info = info;
	} else if (!b->graph.thr.odd_logged) {
		b->graph.thr.odd_logged = true;
		log_info(b, "ros_discovery_info: a message of %zu bytes that no ROS sends, or too many: ignored",
			 s->len);
	}
}

static void forget_those_who_left(struct ros2_graph *g)
{
	dds_instance_handle_t there[2 * ROS2_PEERS_MAX];
	int n = dds_get_matched_publications(g->reader, there, 2 * ROS2_PEERS_MAX);

	for (unsigned i = 0; n >= 0 && n <= 2 * (int)ROS2_PEERS_MAX && i < g->thr.n_peers;) {
		int k = 0;

		while (k < n && there[k] != g->thr.peers[i].writer)
			k++;
		if (k < n)
			i++;
		else
			g->thr.peers[i] = g->thr.peers[--g->thr.n_peers];
	}
}

const char *ros2_graph_node_of(const struct sim_bridge *b, const dds_guid_t *participant)
{
	const struct ros2_graph *g = &b->graph;

	for (unsigned i = 0; i < g->thr.n_peers; i++)
		if (memcmp(g->thr.peers[i].info.participant, participant->v, sizeof(participant->v)) == 0)
			return g->thr.peers[i].info.node;
	return "";
}

/* ---- the form ---- */

static const char *name_of(unsigned form)
{
	return form == GRAPH_GID_HUMBLE ? "Humble's form (identities of 24 bytes)"
					: "the form of Iron and later (identities of 16 bytes)";
}

static const struct ros2_peer *one_of(const struct ros2_graph *g, unsigned form)
{
	for (unsigned i = 0; i < g->thr.n_peers; i++)
		if (g->thr.peers[i].info.gid_size == form)
			return &g->thr.peers[i];
	return NULL;
}

static void print_who(const struct ros2_peer *h, char ret[ROS2_WHO_MAX])
{
	char gid[ROS2_GID_TEXT];
	dds_guid_t guid;

	memcpy(guid.v, h->info.participant, sizeof(guid.v));
	ros2_print_gid(&guid, gid);
	snprintf(ret, ROS2_WHO_MAX, "%s (%s)", h->info.node[0] ? h->info.node : "a participant", gid);
}

/* Returns the format to write; 0: nothing is written yet. */
static unsigned choose(const struct ros2_graph *g, bool waited)
{
	bool humble = one_of(g, GRAPH_GID_HUMBLE) != NULL, iron = one_of(g, GRAPH_GID_IRON) != NULL;

	if (humble && iron)
		return g->form ? g->form : GRAPH_GID_HUMBLE; /* nodes of Iron miss our node, those of Humble nothing */
	if (humble || iron)
		return humble ? GRAPH_GID_HUMBLE : GRAPH_GID_IRON;
	return g->form || waited ? g->deflt : 0;
}

static void log_form(struct sim_bridge *b, unsigned form)
{
	struct ros2_graph *g = &b->graph;
	const struct ros2_peer *h = one_of(g, form);
	char who[ROS2_WHO_MAX];

	if (!limit_allows(&g->thr.lines))
		return;
	if (!h) {
		log_info(b, "the graph: no other participant found: it is written in %s until there is one",
			 name_of(form));
		return;
	}
	print_who(h, who);
	if (g->distro && form != g->deflt)
		log_warn(b,
			 "the graph: \"ros_distro\": \"%s\" is not what %s runs, so it is written in %s, as there; "
			 "\"auto\" says that",
			 g->distro, who, name_of(form));
	else
		log_info(b, "the graph is written in %s, as %s does", name_of(form), who);
}

/* Logs once, each time both formats appear together. */
static void log_mixed(struct sim_bridge *b)
{
	struct ros2_graph *g = &b->graph;
	unsigned other = g->form == GRAPH_GID_HUMBLE ? GRAPH_GID_IRON : GRAPH_GID_HUMBLE;
	const struct ros2_peer *ours = one_of(g, g->form), *theirs = one_of(g, other);
	char us[ROS2_WHO_MAX], them[ROS2_WHO_MAX];
	bool mixed = ours && theirs;

	if (mixed && !g->thr.mixed && limit_allows(&g->thr.lines)) {
		print_who(ours, us);
		print_who(theirs, them);
		log_warn(b,
			 "the graph: %s writes it in %s, %s in %s: they do not see each other's nodes, and `ros2 node "
			 "list` of Humble fails. We keep to the first; give each distribution a domain of its own",
			 us, name_of(g->form), them, name_of(other));
	}
	g->thr.mixed = mixed;
}

static void decide(struct sim_bridge *b, bool waited)
{
	struct ros2_graph *g = &b->graph;
	unsigned form = choose(g, waited);

	if (form != g->form) {
		pthread_mutex_lock(&b->lock);
		g->form = form;
		ros2_graph_publish(b);
		pthread_mutex_unlock(&b->lock);
		log_form(b, form);
	}
	log_mixed(b);
}

static void *graph_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct ros2_graph *g = &b->graph;
	dds_time_t due = dds_time() + g->wait_dur_ns;

	while (!atomic_load(&g->waiter.stop)) {
		int64_t rest_dur_ns = ros2_clock_publishers_look(b), learn_dur_ns = ros2_learn_look(b),
			remotes_dur_ns = ros2_remotes_look(b), missed_dur_ns;
		dds_time_t now = dds_time();
		dds_subscription_matched_status_t matched;

		decide(b, now >= due);
		missed_dur_ns = ros2_missed_look(b);
		if (missed_dur_ns < rest_dur_ns)
			rest_dur_ns = missed_dur_ns;
		if (learn_dur_ns < rest_dur_ns)
			rest_dur_ns = learn_dur_ns;
		if (remotes_dur_ns < rest_dur_ns)
			rest_dur_ns = remotes_dur_ns;
		if (!g->form && due - now < rest_dur_ns)
			rest_dur_ns = due - now;
		waiter_wait(&g->waiter, rest_dur_ns);
		dds_get_subscription_matched_status(g->reader, &matched);
		endpoint_take(g->reader, note, b);
		forget_those_who_left(g);
	}
	return NULL;
}

/* ---- open ---- */

static dds_entity_t create_endpoint(struct sim_bridge *b, bool reads)
{
	const struct ros_type *t = ros_type_find(ros2_types, GRAPH_TYPE);
	struct ros2_qos profile = { .reliable = true, .transient_local = true, .depth = reads ? KEPT : 1 };
	struct endpoint e = {
		.name = GRAPH_TOPIC, .type = t, .qos = ros2_qos_create(&profile, t->hash), .reads = reads
	};

	if (e.qos && reads)
		dds_qset_ignorelocal(e.qos, DDS_IGNORELOCAL_PARTICIPANT);
	return endpoint_create(b->participant, &e);
}

/* The participant owns all of these entities. */
static int create_entities(struct sim_bridge *b)
{
	struct ros2_graph *g = &b->graph;
	int r;

	g->writer = create_endpoint(b, false);
	g->reader = create_endpoint(b, true);
	if (g->writer < 0 || g->reader < 0)
		return dds_errno(g->writer < 0 ? g->writer : g->reader);
	b->participants = dds_create_reader(b->participant, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	r = b->participants < 0 ? -ENOMEM : waiter_open(&g->waiter, b->participant, g->reader);
	if (r == 0)
		r = ros2_missed_open(b);
	ros2_unheard_open(b);
	return r < 0 ? r : ros2_clock_publishers_open(b, g->waiter.set);
}

int ros2_graph_open(struct sim_bridge *b)
{
	long wait_ms;
	int r = bridge_option_number(b->host, "graph_wait_ms", 0, 60000, "ms", &wait_ms);

	if (r < 0)
		return r;
	b->graph.wait_dur_ns = wait_ms * INT64_C(1000000);
	r = create_entities(b);
	if (r == 0)
		r = waiter_start(&b->graph.waiter, "ros2-graph", graph_main, b);
	if (r < 0)
		log_error(b, GRAPH_TOPIC " cannot be written: %s", strerror(-r));
	return r;
}
