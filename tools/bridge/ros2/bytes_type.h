/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DDS type whose samples are messages that are encoded already: dds_write() takes a struct out and copies its pieces once,
 * straight into what Cyclone sends. Readers take bytes, with dds_takecdr(): none for a message over 4 MiB. Thread: any.
 */
#ifndef BYTES_TYPE_H
#define BYTES_TYPE_H

#include <dds/dds.h>

/* A topic of the DDS type `type_name`. qos borrows, NULL: default. Returns the entity or a negative DDS code. */
dds_entity_t bytes_topic_create(dds_entity_t participant, const char *name, const char *type_name,
				const dds_qos_t *qos);

#endif
