/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of the link: checks the directory that `simctl link make-keys` makes for a machine, then gives its files to
 * Cyclone's DDS Security plug-ins. A writer's host is known by its DDS partition, which has the host's name: the signed
 * permissions allow a host no other partition. Threads: reading: that of create(); the rest any.
 */
#ifndef LINK_SECURE_H
#define LINK_SECURE_H

#include <stdbool.h>

#include <dds/dds.h>

struct sim_bridge;
struct secure;

/* 0, or -ERR with a log message that names the file and what to do. Free *ret with secure_free(). */
int secure_read(struct sim_bridge *b, const char *dir, struct secure **ret);
void secure_free(struct secure *s);                    /* s may be NULL; erases the key */
dds_qos_t *secure_participant(const struct secure *s); /* QoS for the participant; NULL: out of memory */

/* The name of the host whose keys a writer has; false: unknown, or the writer is gone. */
#define SECURE_NAME_SIZE 64u
bool secure_writer(dds_entity_t reader, dds_instance_handle_t writer, char ret[SECURE_NAME_SIZE]);
/* Whether a writer may send as that host. Without keys, always true. */
bool secure_is_host(const struct sim_bridge *b, dds_entity_t reader, dds_instance_handle_t writer, const char *host);

#endif
