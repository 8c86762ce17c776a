/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of the link: the directory that `simctl link make-keys` makes for a machine, checked before Cyclone sees it, and given to its
 * plug-ins of DDS Security. Who a writer is its partition says: that of its host's name, by what the permissions authority has signed.
 * Thread: reading that of create(); the rest any.
 */
#ifndef LINK_SECURE_H
#define LINK_SECURE_H

#include <stdbool.h>

#include <dds/dds.h>

struct sim_bridge;
struct secure;

/* Negative errno, with an error in the log that names the file and what to do. Returns: secure_free(). */
int secure_read(struct sim_bridge *b, const char *dir, struct secure **ret);
void secure_free(struct secure *s);                    /* tolerates NULL; wipes the key */
dds_qos_t *secure_participant(const struct secure *s); /* its QoS; NULL: no memory */

/* The name of the host whose keys a writer has; false: it has gone, or they are not known. */
#define SECURE_NAME_SIZE 64u
bool secure_writer(dds_entity_t reader, dds_instance_handle_t writer, char ret[SECURE_NAME_SIZE]);
/* Whether a writer may speak as that host. True of all without keys. */
bool secure_is_host(const struct sim_bridge *b, dds_entity_t reader, dds_instance_handle_t writer, const char *host);

#endif
