/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See graph_read.h. The two formats share one type name and have no marker: a sample has the format whose layout ends
 * exactly at the sample's end.
 */
#include "graph_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cdr_reader.h"

#define NAME_MAX_ 256u /* maximum for a node name or a namespace in rmw_dds_common */

static void skip_gids(struct sim_dec *d, unsigned gid_size)
{
	uint32_t n = sim_dec_list(d, "gids", gid_size), got;

	if (n && !d->err)
		d->ops->array(d, "gid", SIM_KIND_UINT8, n * gid_size, &got);
}

static void copy_name(char to[GRAPH_NODE_MAX + 1], const char *ns, size_t ns_len, const char *name, size_t len)
{
	snprintf(to, GRAPH_NODE_MAX + 1, "%.*s%s%.*s", (int)ns_len, ns, ns_len && ns[ns_len - 1] == '/' ? "" : "/",
		 (int)len, name);
	for (; *to; to++)
		if ((unsigned char)*to <= ' ' || (unsigned char)*to > '~')
			*to = '?';
}

static int read_as(unsigned gid_size, const void *cdr, size_t len, struct graph_info *ret)
{
	struct graph_info s = { .gid_size = gid_size };
	size_t ns_len, name_len;
	const uint8_t *gid;
	struct cdr_reader d;
	uint32_t n;

	cdr_reader_begin(&d, WIRE_CDR, cdr, len);
	gid = d.dec.ops->array(&d.dec, "gid", SIM_KIND_UINT8, gid_size, &n);
	if (gid)
		memcpy(s.participant, gid, sizeof(s.participant));
	n = sim_dec_list(&d.dec, "nodes", 16); /* size of two empty strings and two empty lists */
	for (uint32_t i = 0; i < n && !d.dec.err; i++) {
		const char *ns = sim_dec_string(&d.dec, "node_namespace", NAME_MAX_, &ns_len);
		const char *name = sim_dec_string(&d.dec, "node_name", NAME_MAX_, &name_len);

		skip_gids(&d.dec, gid_size);
		skip_gids(&d.dec, gid_size);
		if (i == 0 && !d.dec.err)
			copy_name(s.node, ns, ns_len, name, name_len);
	}
	if (cdr_reader_end(&d) < 0)
		return -EBADMSG;
	*ret = s;
	return 0;
}

int graph_read(const void *cdr, size_t len, struct graph_info *ret)
{
	struct graph_info humble, iron;
	bool is_humble = read_as(GRAPH_GID_HUMBLE, cdr, len, &humble) == 0;
	bool is_iron = read_as(GRAPH_GID_IRON, cdr, len, &iron) == 0;

	if (is_humble == is_iron) /* neither format, or both fit by chance */
		return -EBADMSG;
	*ret = is_humble ? humble : iron;
	return 0;
}
