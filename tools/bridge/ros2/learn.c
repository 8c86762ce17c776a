/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See learn.h. A definition is taken only if its hash is the publisher's, whatever its origin: topic_in_learn()
 * computes the hash again from what was read. A publisher's process may have several nodes, each with a service that
 * knows only its own types, so they are asked one by one.
 */
#include "learn.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ros2.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"
#include "type_description.h"

#define SERVICE       "/get_type_description"
#define ANSWER_DUR_NS INT64_C(5000000000)
#define PAUSE_DUR_NS  INT64_C(10000000000) /* before all services are asked again */
#define FIND_DUR_NS   INT64_C(500000000)   /* before looking again for a service that was missing */
#define POLL_DUR_NS   INT64_C(20000000)
#define REPLY_MAX     (4u << 20)
#define ENTITIES      4u

/* ---- publishers ---- */

static bool is_word(const char *s, size_t len)
{
	return len && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") >= len;
}

/* "pkg/Name" of "pkg::msg::dds_::Name_"; "": not of that form. */
static void read_type(const char *dds, char ret[ROS_GENERIC_NAME_MAX])
{
	static const char message[] = "::msg::dds_::";
	const char *at = strstr(dds, message), *name = at ? at + sizeof(message) - 1 : "";
	size_t package_len = at ? (size_t)(at - dds) : 0, len = strlen(name);

	ret[0] = '\0';
	if (len > 1 && package_len + len <= SIM_TYPE_NAME_MAX && name[len - 1] == '_' && is_word(dds, package_len) &&
	    is_word(name, len))
		snprintf(ret, ROS_GENERIC_NAME_MAX, "%.*s/%.*s", (int)package_len, dds, (int)len - 1, name);
}

static int waiting_topic(const struct sim_bridge *b, const char *dds_topic)
{
	if (strncmp(dds_topic, "rt", 2) != 0)
		return -1;
	for (unsigned i = 0; i < b->n_inbound; i++)
		if (b->inbound[i].open && strcmp(dds_topic + 2, b->inbound[i].in.name) == 0)
			return (int)i;
	return -1;
}

static struct learn_writer *find(struct learn *l, dds_instance_handle_t instance)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->one[i].instance == instance)
			return &l->one[i];
	return NULL;
}

void ros2_learn_add(struct sim_bridge *b, const dds_builtintopic_endpoint_t *e, dds_instance_handle_t instance)
{
	struct learn *l = &b->learn;
	int topic = waiting_topic(b, e->topic_name);
	struct learn_writer *w;

	if (topic < 0 || find(l, instance) || l->n == LEARN_WRITERS_MAX)
		return;
	w = &l->one[l->n++];
	*w = (struct learn_writer){ .instance = instance, .participant = e->participant_key, .topic = (unsigned)topic };
	read_type(e->type_name, w->type);
	ros2_qos_user_data(e->qos, "typehash=", w->hash, sizeof(w->hash));
}

/* Records why the topic's type cannot be learnt from this publisher, and logs each new reason. */
__attribute__((format(printf, 3, 4))) static void in_vain(struct sim_bridge *b, struct learn_writer *w,
							  const char *format, ...)
{
	char why[LEARN_WHY_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	if (strcmp(why, w->said) == 0)
		return;
	snprintf(w->said, sizeof(w->said), "%s", why);
	if (limit_allows(&b->learn.lines))
		log_warn(b, "%s is not read yet: %s", b->inbound[w->topic].in.name, why);
}

/* ---- questions ---- */

static void end_question(struct learn_question *q)
{
	for (unsigned i = ENTITIES; i-- > 0;)
		if (q->entities[i] > 0)
			dds_delete(q->entities[i]);
	ros_text_destroy(q->made[0]);
	ros_text_destroy(q->made[1]);
	*q = (struct learn_question){ .writer = 0 };
}

void ros2_learn_drop(struct sim_bridge *b, dds_instance_handle_t instance)
{
	struct learn *l = &b->learn;
	struct learn_writer *w = find(l, instance);

	if (!w)
		return;
	if (l->question.writer == instance)
		end_question(&l->question);
	*w = l->one[--l->n];
}

/* Extracts the node from a topic "rq/node/get_type_descriptionRequest". */
static bool node_of(const char *topic, char ret[LEARN_NODE_MAX])
{
	static const char tail[] = SERVICE "Request";
	size_t n = strlen(topic), tail_n = sizeof(tail) - 1;

	if (strncmp(topic, "rq/", 3) != 0 || n <= tail_n + 2 || strcmp(topic + n - tail_n, tail) != 0 ||
	    n - tail_n - 2 >= LEARN_NODE_MAX)
		return false;
	snprintf(ret, LEARN_NODE_MAX, "%.*s", (int)(n - tail_n - 2), topic + 2);
	return true;
}

/* Finds the participant's i-th service. ret_with_id: its requests begin with an identity, as with rmw_cyclonedds. */
static bool find_service(struct sim_bridge *b, const dds_guid_t *participant, unsigned i, char ret_node[LEARN_NODE_MAX],
			 bool *ret_with_id)
{
	dds_entity_t reader = dds_create_reader(b->participant, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, NULL, NULL);
	dds_sample_info_t info;
	void *sample = NULL;
	bool found = false;

	while (reader > 0 && dds_take(reader, &sample, &info, 1, 1) > 0) {
		const dds_builtintopic_endpoint_t *e = sample;
		char node[LEARN_NODE_MAX], id[8];

		if (!found && info.valid_data && info.instance_state == DDS_IST_ALIVE &&
		    memcmp(e->participant_key.v, participant->v, sizeof(participant->v)) == 0 &&
		    node_of(e->topic_name, node) && i-- == 0) {
			found = true;
			memcpy(ret_node, node, sizeof(node));
			ros2_qos_user_data(e->qos, "serviceid=", id, sizeof(id));
			*ret_with_id = *id != '\0';
		}
		dds_return_loan(reader, &sample, 1);
		sample = NULL;
	}
	if (reader > 0)
		dds_delete(reader);
	return found;
}

static dds_entity_t open_half(struct sim_bridge *b, struct learn_question *q, bool reply)
{
	const char *type = reply ? "type_description_interfaces/srv/GetTypeDescription_Response"
				 : "type_description_interfaces/srv/GetTypeDescription_Request";
	char name[LEARN_NODE_MAX + 64];
	struct endpoint e = { .name = name, .reads = reply, .taken_max = reply ? REPLY_MAX : 0 };
	dds_entity_t entity;

	if (ros_definition_type(ros2_types, type, &e.type, &q->made[reply]) < 0)
		return DDS_RETCODE_OUT_OF_RESOURCES;
	snprintf(name, sizeof(name), "%s%s" SERVICE "%s", reply ? "rr" : "rq", q->node, reply ? "Reply" : "Request");
	e.qos = ros2_qos_client(b, q->id.sequence, e.type->hash);
	entity = endpoint_create(b->participant, &e);
	q->entities[reply] = e.topic;
	q->entities[2 + reply] = entity;
	return entity;
}

static void begin_question(struct sim_bridge *b, struct learn_writer *w, const char *node, bool with_id)
{
	struct learn_question *q = &b->learn.question;
	dds_guid_t guid = { { 0 } };

	(void)dds_get_guid(b->participant, &guid);
	*q = (struct learn_question){ .writer = w->instance, .with_id = with_id, .due = dds_time() + ANSWER_DUR_NS };
	snprintf(q->node, sizeof(q->node), "%s", node);
	q->id.sequence = ++b->learn.n_questions;
	memcpy(&q->id.client, guid.v + 4, sizeof(q->id.client));
	w->server++;
	if (open_half(b, q, true) < 0 || open_half(b, q, false) < 0)
		q->due = 0;
}

/* Whether request and reply endpoints are matched, so that a request and its reply will arrive. */
static bool is_matched(const struct learn_question *q)
{
	dds_publication_matched_status_t p;
	dds_subscription_matched_status_t s;

	return dds_get_publication_matched_status(q->entities[2], &p) == 0 && p.current_count > 0 &&
	       dds_get_subscription_matched_status(q->entities[3], &s) == 0 && s.current_count > 0;
}

static void print_msg(const char *type, char ret[ROS_GENERIC_NAME_MAX + 8])
{
	int package = (int)strcspn(type, "/");

	snprintf(ret, ROS_GENERIC_NAME_MAX + 8, "%.*s/msg%s", package, type, type + package);
}

static void ask(struct learn_question *q, const struct learn_writer *w)
{
	char type[ROS_GENERIC_NAME_MAX + 8];
	struct iov_buf o;

	print_msg(w->type, type);
	iov_buf_init(&o);
	q->sent = type_description_ask(type, w->hash, q->with_id ? &q->id : NULL, &o) == 0 &&
		  dds_write(q->entities[2], &o) == 0;
	iov_buf_finish(&o);
}

/* ---- what is learnt ---- */

static bool learn_by(struct sim_bridge *b, const struct learn_writer *w, const char *hash, const char *definition,
		     char why[LEARN_WHY_MAX])
{
	struct ros2_inbound *in = &b->inbound[w->topic];

	if (topic_in_learn(&in->in, w->type, hash, definition, why, LEARN_WHY_MAX) < 0)
		return false;
	log_info(b, "%s: %s (%s), as its publisher says", in->in.name, w->type, hash);
	ros2_inbound_learnt(b, in);
	return true;
}

static void take_reply(void *arg, const struct endpoint_sample *s)
{
	struct sim_bridge *b = arg;
	struct learn_question *q = &b->learn.question;
	struct learn_writer *w = find(&b->learn, q->writer);
	struct type_description d;
	char type[ROS_GENERIC_NAME_MAX + 8], why[LEARN_WHY_MAX] = "its answer is malformed";
	int r;

	if (!w || !q->due)
		return;
	print_msg(w->type, type);
	r = type_description_read(type, q->with_id ? &q->id : NULL, s->bytes, s->len, &d);
	if (r == -ENOENT)
		return;
	if (r == 0 && *d.why)
		snprintf(why, sizeof(why), "%s", d.why);
	q->due = 0; /* answered */
	if (!(d.sources && learn_by(b, w, w->hash, d.sources, why)) &&
	    !(d.fields && learn_by(b, w, w->hash, d.fields, why)))
		in_vain(b, w, "node %.100s: %s", q->node, why);
	type_description_finish(&d);
}

/*
 * Sends the request once the service is matched, and reads its reply. A service that does not match or does not reply
 * in time is given up, and the next one is asked.
 */
static void go_on_asking(struct sim_bridge *b)
{
	struct learn_question *q = &b->learn.question;
	struct learn_writer *w = find(&b->learn, q->writer);

	if (q->due && q->sent)
		endpoint_take(q->entities[3], take_reply, b);
	else if (q->due && is_matched(q))
		ask(q, w);
	if (q->due && dds_time() >= q->due) {
		in_vain(b, w, "node %.100s does not answer which definition it has", q->node);
		q->due = 0;
	}
	if (!q->due)
		end_question(q);
}

/* Asks the next service of the publisher's participant; after the last one, pauses. */
static void ask_next(struct sim_bridge *b, struct learn_writer *w)
{
	char node[LEARN_NODE_MAX];
	bool with_id;

	if (b->learn.question.writer || dds_time() < w->pause)
		return;
	if (find_service(b, &w->participant, w->server, node, &with_id)) {
		begin_question(b, w, node, with_id);
		return;
	}
	if (!w->server)
		in_vain(b, w,
			"no node of its publisher's has " SERVICE ", and no definition of %.80s with its hash is here",
			w->type);
	w->pause = dds_time() + (w->server ? PAUSE_DUR_NS : FIND_DUR_NS);
	w->server = 0;
}

/* Looks among the local definitions. If the publisher announces no hash, as with Humble, the name must do. */
static bool learn_here(struct sim_bridge *b, struct learn_writer *w)
{
	const struct ros_type *t;
	struct ros_text *made;
	char hash[LEARN_HASH_MAX], why[LEARN_WHY_MAX]; /* not reported: the publisher's node may have the definition */
	int r = -ENOENT;

	w->looked = true;
	snprintf(hash, sizeof(hash), "%s", w->hash);
	if (!*hash && (r = ros_definition_type(ros2_types, w->type, &t, &made)) == 0) {
		snprintf(hash, sizeof(hash), "%s", t->hash);
		ros_text_destroy(made);
	}
	return *hash && learn_by(b, w, hash, NULL, why);
}

/* ---- topics ---- */

/* Returns the first publisher on the topic. ret_other: one with another type or hash; NULL: none. */
static struct learn_writer *publisher_of(struct learn *l, unsigned topic, const struct learn_writer **ret_other)
{
	struct learn_writer *first = NULL;

	*ret_other = NULL;
	for (unsigned i = 0; i < l->n; i++) {
		struct learn_writer *w = &l->one[i];

		if (w->topic != topic)
			continue;
		if (!first)
			first = w;
		else if (strcmp(w->type, first->type) != 0 || strcmp(w->hash, first->hash) != 0)
			*ret_other = w;
	}
	return first;
}

/* Whether nothing can be learnt from this publisher; then the reason has been recorded. */
static bool is_in_vain(struct sim_bridge *b, struct learn_writer *w, const struct learn_writer *other)
{
	const struct ros2_inbound *in = &b->inbound[w->topic];

	if (other)
		in_vain(b, w, "its publishers differ: %.60s (%.75s) and %.60s (%.75s)", w->type, w->hash, other->type,
			other->hash);
	else if (!*w->type)
		in_vain(b, w, "its publisher sends no message of ROS");
	else if (*in->in.type && strcmp(in->in.type, w->type) != 0)
		in_vain(b, w, "its publisher sends %.80s, and the rig says %.80s", w->type, in->in.type);
	else if (w->looked && !*w->hash)
		in_vain(b, w, "%.80s is not known here, and its publisher says no hash: give its \"definition\"",
			w->type);
	else
		return false;
	return true;
}

static void look_at_topic(struct sim_bridge *b, unsigned i)
{
	struct learn *l = &b->learn;
	struct ros2_inbound *in = &b->inbound[i];
	const struct learn_writer *other;
	struct learn_writer *w = publisher_of(l, i, &other);

	if (w && !is_in_vain(b, w, other) && (w->looked || !learn_here(b, w)) && !is_in_vain(b, w, other))
		ask_next(b, w);
	if (atomic_load(&in->in.waits) && !*l->waits)
		snprintf(l->waits, sizeof(l->waits), "; %s%.60s waits for its type: %.200s",
			 w && *w->said ? "but " : "", in->in.name,
			 w ? *w->said ? w->said : "its publisher is asked" : "it has no publisher yet");
}

int64_t ros2_learn_look(struct sim_bridge *b)
{
	struct learn *l = &b->learn;
	bool waits = false;

	l->waits[0] = '\0';
	if (atomic_load(&b->status) != SIM_BRIDGE_CONNECTED)
		return DDS_INFINITY;
	if (l->question.writer)
		go_on_asking(b);
	for (unsigned i = 0; i < b->n_inbound; i++)
		if (atomic_load(&b->inbound[i].in.waits)) {
			look_at_topic(b, i);
			waits |= atomic_load(&b->inbound[i].in.waits);
		}
	return l->question.writer ? POLL_DUR_NS : waits && l->n ? FIND_DUR_NS : DDS_INFINITY;
}

void ros2_learn_close(struct sim_bridge *b)
{
	end_question(&b->learn.question);
}
