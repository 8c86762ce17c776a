/* SPDX-License-Identifier: Apache-2.0 */
/* switch_core.h */
#include "switch_core.h"

#include "err.h"
#include "mem.h"

#include <string.h>

#define ADDRESS_BYTES 6
#define HEADER_BYTES  14 /* to, from, type */

struct port {
	struct switch_path *path[2]; /* by enum switch_direction */
	uint64_t parted;
};

struct address {
	unsigned char bytes[ADDRESS_BYTES];
	unsigned port;
};

struct partition {
	uint32_t ports;
	int64_t from_mono_ns, until_mono_ns;
};

struct switch_core {
	uint64_t seed;
	struct port ports[SWITCH_PORTS_MAX];
	unsigned n_ports;
	struct address addresses[SWITCH_ADDRESSES_MAX];
	unsigned n_addresses;
	struct partition partitions[SWITCH_PARTITIONS_MAX];
	unsigned n_partitions;
};

int switch_core_create(uint64_t seed, struct switch_core **ret)
{
	struct switch_core *c = MEM_NEW(struct switch_core);

	if (!c)
		return err_nomem();
	c->seed = seed;
	*ret = c;
	return 0;
}

void switch_core_destroy(struct switch_core *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->n_ports; i++) {
		switch_path_destroy(c->ports[i].path[SWITCH_IN]);
		switch_path_destroy(c->ports[i].path[SWITCH_OUT]);
	}
	mem_free(c);
}

int switch_core_add_port(struct switch_core *c)
{
	struct port *p = &c->ports[c->n_ports];
	uint64_t seed = c->seed * 2 * SWITCH_PORTS_MAX + 2 * c->n_ports;
	int e;

	if (c->n_ports == SWITCH_PORTS_MAX)
		return err_set(-ENOSPC, "the switch has %d ports already", SWITCH_PORTS_MAX);
	e = switch_path_create(seed + SWITCH_IN, &p->path[SWITCH_IN]);
	if (e < 0)
		return e;
	e = switch_path_create(seed + SWITCH_OUT, &p->path[SWITCH_OUT]);
	if (e < 0) {
		switch_path_destroy(p->path[SWITCH_IN]);
		return e;
	}
	return (int)c->n_ports++;
}

static int check_port(const struct switch_core *c, unsigned port)
{
	return port < c->n_ports ? 0 : err_set(-ENOENT, "the switch has no port %u, only %u of them", port, c->n_ports);
}

int switch_core_set(struct switch_core *c, unsigned port, enum switch_direction d, const struct switch_rules *rules)
{
	int e = check_port(c, port);

	return e < 0 ? e : switch_path_set(c->ports[port].path[d], rules);
}

/* ---- partitions ---- */

int switch_core_part(struct switch_core *c, uint32_t ports, int64_t from_mono_ns, int64_t until_mono_ns)
{
	if (until_mono_ns <= from_mono_ns)
		return err_set(-EINVAL, "a partition ends before it begins");
	if (c->n_partitions == SWITCH_PARTITIONS_MAX)
		return err_set(-ENOSPC, "the switch has %d partitions already", SWITCH_PARTITIONS_MAX);
	c->partitions[c->n_partitions++] = (struct partition){ ports, from_mono_ns, until_mono_ns };
	return 0;
}

void switch_core_heal(struct switch_core *c)
{
	c->n_partitions = 0;
}

static bool together(const struct switch_core *c, unsigned a, unsigned b, int64_t now_mono_ns)
{
	for (unsigned i = 0; i < c->n_partitions; i++) {
		const struct partition *p = &c->partitions[i];

		if (p->from_mono_ns <= now_mono_ns && now_mono_ns < p->until_mono_ns &&
		    ((p->ports >> a ^ p->ports >> b) & 1))
			return false;
	}
	return true;
}

static void forget_partitions(struct switch_core *c, int64_t now_mono_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_partitions; i++)
		if (c->partitions[i].until_mono_ns > now_mono_ns)
			c->partitions[n++] = c->partitions[i];
	c->n_partitions = n;
}

/* ---- addresses ---- */

static bool is_group(const unsigned char *address)
{
	return address[0] & 1;
}

static struct address *find_address(struct switch_core *c, const unsigned char *bytes)
{
	for (unsigned i = 0; i < c->n_addresses; i++)
		if (memcmp(c->addresses[i].bytes, bytes, ADDRESS_BYTES) == 0)
			return &c->addresses[i];
	return NULL;
}

static void learn(struct switch_core *c, const unsigned char *bytes, unsigned port)
{
	struct address *a = find_address(c, bytes);

	if (!a && (is_group(bytes) || c->n_addresses == SWITCH_ADDRESSES_MAX))
		return;
	if (!a) {
		a = &c->addresses[c->n_addresses++];
		memcpy(a->bytes, bytes, ADDRESS_BYTES);
	}
	a->port = port;
}

/* ---- frames ---- */

static void send_to(struct switch_core *c, unsigned from, unsigned to, int64_t now_mono_ns, const void *frame,
		    size_t len)
{
	struct port *p = &c->ports[to];

	if (from == to)
		return;
	if (together(c, from, to, now_mono_ns))
		switch_path_push(p->path[SWITCH_OUT], now_mono_ns, frame, len);
	else
		p->parted++;
}

static void forward(struct switch_core *c, unsigned from, int64_t now_mono_ns, const unsigned char *frame, size_t len)
{
	const struct address *to;

	learn(c, frame + ADDRESS_BYTES, from);
	to = is_group(frame) ? NULL : find_address(c, frame);
	if (to)
		send_to(c, from, to->port, now_mono_ns, frame, len);
	for (unsigned i = 0; !to && i < c->n_ports; i++)
		send_to(c, from, i, now_mono_ns, frame, len);
}

void switch_core_push(struct switch_core *c, unsigned port, int64_t now_mono_ns, const void *frame, size_t len)
{
	if (port < c->n_ports && len >= HEADER_BYTES)
		switch_path_push(c->ports[port].path[SWITCH_IN], now_mono_ns, frame, len);
}

int64_t switch_core_next(const struct switch_core *c)
{
	int64_t first = INT64_MAX;

	for (unsigned i = 0; i < c->n_ports; i++)
		for (unsigned d = SWITCH_IN; d <= SWITCH_OUT; d++) {
			int64_t t = switch_path_next(c->ports[i].path[d]);

			first = t < first ? t : first;
		}
	return first;
}

int switch_core_pop(struct switch_core *c, int64_t now_mono_ns, const void **ret_frame, size_t *ret_len)
{
	const void *frame;
	size_t len;

	forget_partitions(c, now_mono_ns);
	for (unsigned i = 0; i < c->n_ports; i++)
		while (switch_path_pop(c->ports[i].path[SWITCH_IN], now_mono_ns, &frame, &len))
			forward(c, i, now_mono_ns, frame, len);
	for (unsigned i = 0; i < c->n_ports; i++)
		if (switch_path_pop(c->ports[i].path[SWITCH_OUT], now_mono_ns, ret_frame, ret_len))
			return (int)i;
	return -EAGAIN;
}

int switch_core_counts(const struct switch_core *c, unsigned port, enum switch_direction d, struct switch_counts *ret)
{
	int e = check_port(c, port);

	if (e == 0)
		*ret = *switch_path_counts(c->ports[port].path[d]);
	return e;
}

uint64_t switch_core_parted(const struct switch_core *c, unsigned port)
{
	return port < c->n_ports ? c->ports[port].parted : 0;
}
