/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#include "server.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "asker.h"
#include "reader.h"
#include "ros/ros_type.h"

#include "tests/support/test.h"

#define LONG_LEN 100000u
#define HUGE_LEN (5u << 20)
#define FOREIGN  100

struct ask_bytes {
	struct ask_id id;
	dds_sequence_t data;
};

static const uint32_t text_ops[] = ASK_TEXT_OPS;
static const uint32_t id_ops[] = { ASK_ID(ask_byte), DDS_OP_RTS };
static const uint32_t byte_ops[] = { ASK_ID(ask_byte), DDS_OP_ADR | DDS_OP_TYPE_1BY, offsetof(struct ask_byte, data),
				     DDS_OP_RTS };
static const uint32_t bytes_ops[] = { ASK_ID(ask_bytes), DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY,
				      offsetof(struct ask_bytes, data), DDS_OP_RTS };
static const dds_topic_descriptor_t trigger_response = ASK_DESC(ask_text, text_ops, ASK_STD "Trigger_Response_");
/* what is not what it says to be */
static const dds_topic_descriptor_t short_response = ASK_DESC(ask_byte, id_ops, ASK_STD "SetBool_Response_");
static const dds_topic_descriptor_t byte_response = ASK_DESC(ask_byte, byte_ops, ASK_STD "SetBool_Response_");
static const dds_topic_descriptor_t bytes_response = ASK_DESC(ask_bytes, bytes_ops, ASK_STD "SetBool_Response_");

struct serving {
	dds_entity_t participant, reader, writer;
	const char *service;
	enum server_hash hash;
	int go, seen;
};

static const char *hash_of(const struct serving *s, bool reply)
{
	bool right = s->hash == HASH_RIGHT;

	return ros_type_find(ros2_types, reply == right ? "std_srvs/SetBool_Response" : "std_srvs/SetBool_Request")
		->hash;
}

static dds_qos_t *qos_of(const struct serving *s, bool reply)
{
	dds_qos_t *qos = dds_create_qos();
	char data[200] = "serviceid=1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.10;";
	size_t n = strlen(data);

	if (s->hash)
		snprintf(data + n, sizeof(data) - n, "typehash=%s;", hash_of(s, reply));
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1000); /* no reply of this one is to be lost */
	dds_qset_userdata(qos, data, strlen(data));
	return qos;
}

static dds_entity_t endpoint(const struct serving *s, const dds_topic_descriptor_t *desc, bool reply)
{
	dds_qos_t *qos = qos_of(s, reply);
	char name[128];
	dds_entity_t t, e;

	snprintf(name, sizeof(name), "%s%s%s", reply ? "rr" : "rq", s->service, reply ? "Reply" : "Request");
	t = dds_create_topic(s->participant, desc, name, NULL, NULL);
	e = reply ? dds_create_writer(s->participant, t, qos, NULL) : dds_create_reader(s->participant, t, qos, NULL);
	EXPECT(t > 0 && e > 0);
	dds_delete_qos(qos);
	return e;
}

static void wait_for(dds_entity_t participant, dds_entity_t e, uint32_t status)
{
	dds_entity_t set = dds_create_waitset(participant);

	EXPECT(dds_set_status_mask(e, status) == 0 && dds_waitset_attach(set, e, 0) == 0);
	EXPECT(dds_waitset_wait(set, NULL, 0, DDS_INFINITY) > 0);
	dds_delete(set);
}

static void tell(const struct serving *s, char what)
{
	EXPECT(write(s->seen, &what, 1) == 1);
}

static void may_go_on(const struct serving *s)
{
	char c;

	EXPECT(read(s->go, &c, 1) == 1);
}

/* ---- replies ---- */

static void answer(const struct serving *s, const struct ask_id *to, bool success, const char *text)
{
	struct ask_text r = { *to, success, (char *)(uintptr_t)text };

	EXPECT(dds_write(s->writer, &r) == 0);
}

static void answer_long(const struct serving *s, const struct ask_id *to, size_t len)
{
	char *text = malloc(len + 1);

	EXPECT(text);
	memset(text, 'z', len);
	text[len] = '\0';
	answer(s, to, true, text);
	free(text);
}

/* By a writer of its own, which the bridge's reader has to know first. */
static void answer_as(const struct serving *s, const dds_topic_descriptor_t *desc, const void *sample)
{
	dds_entity_t w = endpoint(s, desc, true);

	wait_for(s->participant, w, DDS_PUBLICATION_MATCHED_STATUS);
	EXPECT(dds_write(w, sample) == 0 && dds_wait_for_acks(w, DDS_INFINITY) == 0);
	dds_delete(w);
}

static void answer_foreign(const struct serving *s, const struct ask_id *to)
{
	for (int i = 0; i < FOREIGN; i++) {
		const struct ask_id other = { to->client ^ (UINT64_C(1) << (i % 64)), to->sequence },
				    never = { to->client, to->sequence + 1 + i }, before = { to->client, -i };

		answer(s, &other, true, "foreign");
		answer(s, &never, true, "never asked");
		answer(s, &before, true, "before all");
	}
}

static void answer_no_text(const struct serving *s, const struct ask_id *to)
{
	uint8_t bytes[257] = { 0xff, 0xff }; /* as many as begin with a 1: success, then the length of a text */
	struct ask_bytes r = { *to, { sizeof(bytes), sizeof(bytes), bytes, false } };

	answer_as(s, &bytes_response, &r);
}

/* false: it ends. */
static bool serve(const struct serving *s, char way, const struct ask_byte *q)
{
	const struct ask_byte two = { q->id, 2 };
	const char *text = q->data ? "on" : "off";

	switch (way) {
	case SERVER_NEVER:
		return true;
	case SERVER_LEAVES:
		return false;
	case SERVER_REFUSES:
		answer(s, &q->id, false, "it is broken");
		return true;
	case SERVER_LONG:
		answer_long(s, &q->id, LONG_LEN);
		return true;
	case SERVER_SHORT:
		answer_as(s, &short_response, &two);
		return true;
	case SERVER_NO_BOOL:
		answer_as(s, &byte_response, &two);
		return true;
	case SERVER_NO_TEXT:
		answer_no_text(s, &q->id);
		return true;
	case SERVER_HUGE:
		answer_long(s, &q->id, HUGE_LEN);
		break;
	case SERVER_FOREIGN:
		answer_foreign(s, &q->id);
		break;
	case SERVER_WAITS:
		may_go_on(s);
		break;
	default:
		break;
	}
	answer(s, &q->id, true, text);
	if (way == SERVER_TWICE)
		answer(s, &q->id, true, "again");
	return true;
}

static void server_main(struct serving *s, const char *ways)
{
	bool other = *ways == SERVER_OTHER_TYPE;
	struct ask_byte q = { { 0, 0 }, 0 };

	may_go_on(s);
	s->participant = reader_participant();
	EXPECT(s->participant > 0);
	s->writer = endpoint(s, other ? &trigger_response : &ask_set_response, true);
	s->reader = endpoint(s, &ask_set_request, false);
	wait_for(s->participant, s->reader, DDS_SUBSCRIPTION_MATCHED_STATUS);
	if (!other)
		wait_for(s->participant, s->writer, DDS_PUBLICATION_MATCHED_STATUS);
	tell(s, SERVER_MATCHED);
	do {
		EXPECT(reader_take(s->reader, &q) == 0);
		tell(s, *ways);
		if (!serve(s, *ways, &q))
			break;
		ways += ways[1] != '\0';
	} while (true);
	dds_delete(s->participant);
	for (;;)
		pause();
}

/* ---- of the test ---- */

struct server server_start(const char *service, const char *ways, enum server_hash hash)
{
	struct server r;
	int go[2], seen[2];

	assert_true(pipe(go) == 0 && pipe(seen) == 0);
	r = (struct server){ .pid = fork(), .go = go[1], .seen = seen[0] };
	assert_true(r.pid >= 0);
	if (!r.pid) {
		struct serving s = { .service = service, .hash = hash, .go = go[0], .seen = seen[1] };

		server_main(&s, ways);
	}
	close(go[0]);
	close(seen[1]);
	return r;
}

void server_go(const struct server *s)
{
	assert_int_equal(write(s->go, "", 1), 1);
}

void server_await(const struct server *s, char what)
{
	char c = 0;

	assert_int_equal(read(s->seen, &c, 1), 1);
	assert_int_equal(c, what);
}

void server_stop(struct server *s)
{
	assert_int_equal(kill(s->pid, SIGKILL), 0);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	close(s->go);
	close(s->seen);
}
