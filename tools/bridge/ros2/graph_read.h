/* SPDX-License-Identifier: Apache-2.0 */
/* Reads samples of ros_discovery_info from other participants, in either format. Pure function: any thread. */
#ifndef GRAPH_READ_H
#define GRAPH_READ_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_GID_HUMBLE 24u /* bytes of a GID up to Humble */
#define GRAPH_GID_IRON   16u /* from Iron on */
#define GRAPH_NODE_MAX   127u

struct graph_info {
	unsigned gid_size;       /* GRAPH_GID_HUMBLE or GRAPH_GID_IRON */
	uint8_t participant[16]; /* GUID */
	/* "/ns/name" of its first node, for messages: printable, truncated; "": no node */
	char node[GRAPH_NODE_MAX + 1];
};

/* Reads a sample with its CDR header of 4 bytes. 0, or -EBADMSG: neither format. */
int graph_read(const void *cdr, size_t len, struct graph_info *ret);

#endif
