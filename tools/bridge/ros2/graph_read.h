/* SPDX-License-Identifier: Apache-2.0 */
/* Others' samples of ros_discovery_info, in either format. A pure function of its arguments: any thread. */
#ifndef GRAPH_READ_H
#define GRAPH_READ_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_GID_HUMBLE 24u /* bytes of an identity: up to Humble */
#define GRAPH_GID_IRON   16u /* from Iron on */
#define GRAPH_NODE_MAX   127u

struct graph_info {
	unsigned gid_size;             /* one of the two */
	uint8_t participant[16];       /* GUID */
	char node[GRAPH_NODE_MAX + 1]; /* "/ns/name" of its first node, for people: printable, cut; "" has none */
};

/* A sample as it came, its header of 4 bytes included. 0, or -EBADMSG: it is of neither form. */
int graph_read(const void *cdr, size_t len, struct graph_info *ret);

#endif
