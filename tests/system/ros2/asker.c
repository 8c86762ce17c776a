/* SPDX-License-Identifier: Apache-2.0 */
/* See asker.h. */
#include "asker.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static const uint32_t byte_ops[] = { ASK_ID(ask_byte), DDS_OP_ADR | DDS_OP_TYPE_1BY, offsetof(struct ask_byte, data),
				     DDS_OP_RTS };
static const uint32_t text_ops[] = ASK_TEXT_OPS;

const dds_topic_descriptor_t ask_set_request = ASK_DESC(ask_byte, byte_ops, ASK_STD "SetBool_Request_");
const dds_topic_descriptor_t ask_set_response = ASK_DESC(ask_text, text_ops, ASK_STD "SetBool_Response_");
const dds_topic_descriptor_t ask_empty_request = ASK_DESC(ask_byte, byte_ops, ASK_STD "Empty_Request_");
const dds_topic_descriptor_t ask_empty_response = ASK_DESC(ask_byte, byte_ops, ASK_STD "Empty_Response_");

static dds_qos_t *service_qos(const char *client, int32_t depth)
{
	dds_qos_t *qos = dds_create_qos();
	char data[64];
	int n = snprintf(data, sizeof(data), "clientid=%s;", client);

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depth);
	if (*client)
		dds_qset_userdata(qos, data, (size_t)n);
	return qos;
}

static void wait_for(dds_entity_t p, dds_entity_t e, uint32_t status)
{
	dds_entity_t set = dds_create_waitset(p);
	uint32_t seen = 0;

	EXPECT(e > 0 && dds_set_status_mask(e, status) == 0 && dds_waitset_attach(set, e, 0) == 0);
	while (!(seen & status)) {
		EXPECT(dds_waitset_wait(set, NULL, 0, DDS_INFINITY) > 0);
		EXPECT(dds_take_status(e, &seen, status) == 0);
	}
	dds_delete(set);
}

dds_entity_t ask_writer_of(dds_entity_t p, const char *service, const dds_topic_descriptor_t *desc, const char *client,
			   int32_t depth)
{
	dds_qos_t *qos = service_qos(client, depth);
	dds_entity_t t, w;
	char name[128];

	snprintf(name, sizeof(name), "rq%sRequest", service);
	t = dds_create_topic(p, desc, name, NULL, NULL);
	w = dds_create_writer(p, t, qos, NULL);
	wait_for(p, w, DDS_PUBLICATION_MATCHED_STATUS);
	dds_delete_qos(qos);
	return w;
}

/* Deeper than ROS' ten: what it writes before the other side has seen its first heartbeat must be there, still. */
dds_entity_t ask_writer(dds_entity_t p, const char *service, const dds_topic_descriptor_t *desc, const char *client)
{
	return ask_writer_of(p, service, desc, client, 1000);
}

dds_entity_t ask_reader(dds_entity_t p, const char *service, const dds_topic_descriptor_t *desc, const char *client,
			int32_t depth)
{
	dds_qos_t *qos = service_qos(client, depth);
	dds_entity_t t, r;
	char name[128];

	snprintf(name, sizeof(name), "rr%sReply", service);
	t = dds_create_topic(p, desc, name, NULL, NULL);
	r = dds_create_reader(p, t, qos, NULL);
	wait_for(p, r, DDS_SUBSCRIPTION_MATCHED_STATUS);
	dds_delete_qos(qos);
	return r;
}

struct asker asker_open(dds_entity_t p, const char *service, const dds_topic_descriptor_t *request,
			const dds_topic_descriptor_t *response, const char *client)
{
	struct asker a = { .reader = ask_reader(p, service, response, client, ASK_DEPTH) };

	a.writer = ask_writer(p, service, request, client);
	return a;
}

void asker_set(const struct asker *a, int64_t sequence, bool on, bool success, const char *text)
{
	struct ask_byte q = { { ASK_CLIENT, sequence }, on };
	struct ask_text *r = calloc(1, sizeof(*r));

	EXPECT(dds_write(a->writer, &q) == 0);
	EXPECT(reader_take(a->reader, r) == 0);
	EXPECT(r->id.client == ASK_CLIENT && r->id.sequence == sequence);
	if (r->success != success || (text && strcmp(r->message, text) != 0)) {
		fprintf(stderr, "asker: %d, \"%s\"\n", r->success, r->message);
		_exit(1);
	}
	free(r);
}
