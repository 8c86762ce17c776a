/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One who calls services as a node of rmw_cyclonedds does, with types that Cyclone itself encodes and decodes: in a process of its
 * own, which ends with 1 and a sentence when something is not as it must be.
 */
#ifndef ASKER_H
#define ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <dds/dds.h>

#include "reader.h"

#define ASK_CLIENT UINT64_C(0x1122334455667788)

/* As idlc would make them of the IDL of rmw_cyclonedds. */
struct ask_id {
	uint64_t client;
	int64_t sequence;
};
struct ask_byte { /* SetBool_Request; of an empty message the byte is nothing */
	struct ask_id id;
	uint8_t data;
};
struct ask_text { /* SetBool_Response, Trigger_Response */
	struct ask_id id;
	uint8_t success;
	char *message;
};

#define ASK_B8(s, m) DDS_OP_ADR | DDS_OP_TYPE_8BY, offsetof(struct s, m)
#define ASK_ID(s)    ASK_B8(s, id.client), ASK_B8(s, id.sequence)
#define ASK_STD      "std_srvs::srv::dds_::"
#define ASK_DESC(type, ops, name) \
	{ \
		.m_size = sizeof(struct type), .m_align = _Alignof(struct type), .m_typename = (name), \
		.m_nops = sizeof(ops) / sizeof((ops)[0]), .m_ops = (ops), .m_meta = "" \
	}
#define ASK_TEXT_OPS \
	{ \
		ASK_ID(ask_text), DDS_OP_ADR | DDS_OP_TYPE_1BY, offsetof(struct ask_text, success), \
			DDS_OP_ADR | DDS_OP_TYPE_STR, offsetof(struct ask_text, message), DDS_OP_RTS \
	}
extern const dds_topic_descriptor_t ask_set_request, ask_set_response, ask_empty_request, ask_empty_response;

/* A writer that the service's reader is matched with. client: for USER_DATA, "": none. */
dds_entity_t ask_writer(dds_entity_t p, const char *service, const dds_topic_descriptor_t *desc, const char *client);
/* One of that depth. */
dds_entity_t ask_writer_of(dds_entity_t p, const char *service, const dds_topic_descriptor_t *desc, const char *client,
			   int32_t depth);
/* A reader. Wait until the service's writer and it have found each other. */
#define ASK_DEPTH 10 /* of a reader, as ROS has it: what comes while ten wait to be taken pushes out the oldest */
dds_entity_t ask_reader(dds_entity_t p, const char *service, const dds_topic_descriptor_t *desc, const char *client,
			int32_t depth);

struct asker {
	dds_entity_t writer, reader;
};

/* Read first, ask then: the bridge holds a reply back until it has found our reader. */
struct asker asker_open(dds_entity_t p, const char *service, const dds_topic_descriptor_t *request,
			const dds_topic_descriptor_t *response, const char *client);

/* Ask a std_srvs/SetBool, and have this answer. text NULL: any. */
void asker_set(const struct asker *a, int64_t sequence, bool on, bool success, const char *text);

#endif
