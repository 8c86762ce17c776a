/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs a warning about machines that are seen but do not become linked, such as those without our keys: Cyclone keeps
 * those out without naming them. The name in the warning is what the machine says, unproved. Thread: that of peers.c.
 */
#include <string.h>

#include "link.h"

#define PATIENCE_DUR_NS INT64_C(5000000000) /* before it is logged; linking takes about a second */

static bool is_linked(const struct sim_bridge *b, const dds_guid_t *key)
{
	bool found = false;

	for (unsigned i = 0; i < b->thr.n_peers && !found; i++) {
		dds_builtintopic_endpoint_t *e =
			dds_get_matched_publication_data(b->manifest_reader, b->thr.peers[i].writer);

		found = e && memcmp(&e->participant_key, key, sizeof(*key)) == 0;
		if (e)
			dds_builtintopic_free_endpoint(e);
	}
	return found;
}

static void say(const struct sim_bridge *b, const dds_builtintopic_participant_t *p)
{
	char *name = NULL;
	const char *shown = dds_qget_entity_name(p->qos, &name) && name && manifest_host_ok(name) ? name : "(unnamed)";

	if (b->keyed)
		log_warn(b, "machine %s was seen, and cannot link: it has no keys of the authority in %s", shown,
			 bridge_option(b->host, "keys"));
	else
		log_warn(b,
			 "machine %s was seen, and is not linked: if it has keys, this machine needs keys of the same authority "
			 "(options.keys)",
			 shown);
	dds_free(name);
}

/* What was stored about it; for a new one, that it is first seen now. */
static struct link_stranger known(const struct sim_bridge *b, const dds_guid_t *key)
{
	for (unsigned i = 0; i < b->thr.n_strangers; i++)
		if (memcmp(&b->thr.strangers[i].key, key, sizeof(*key)) == 0)
			return b->thr.strangers[i];
	return (struct link_stranger){ .key = *key, .since_mono_ns = mono_now_ns() };
}

static bool is_stranger(const struct sim_bridge *b, const dds_sample_info_t *info,
			const dds_builtintopic_participant_t *p, const dds_guid_t *own)
{
	return info->valid_data && info->instance_state == DDS_IST_ALIVE && memcmp(&p->key, own, sizeof(*own)) != 0 &&
	       !is_linked(b, &p->key);
}

void link_strangers_look(struct sim_bridge *b)
{
	void *samples[LINK_STRANGERS_MAX] = { NULL };
	dds_sample_info_t info[LINK_STRANGERS_MAX];
	struct link_stranger now[LINK_STRANGERS_MAX];
	dds_return_t n = dds_read(b->participants, samples, info, LINK_STRANGERS_MAX, LINK_STRANGERS_MAX);
	dds_guid_t own = { { 0 } };
	unsigned count = 0;

	if (n <= 0 || dds_get_guid(b->participant, &own) < 0)
		return;
	for (dds_return_t i = 0; i < n; i++) {
		const dds_builtintopic_participant_t *p = samples[i];
		struct link_stranger s;

		if (!is_stranger(b, &info[i], p, &own))
			continue;
		s = known(b, &p->key);
		if (!s.said && mono_now_ns() - s.since_mono_ns > PATIENCE_DUR_NS) {
			s.said = true;
			if (limit_allows(&b->thr.lines))
				say(b, p);
		}
		now[count++] = s;
	}
	dds_return_loan(b->participants, samples, n);
	memcpy(b->thr.strangers, now, count * sizeof(*now));
	b->thr.n_strangers = count;
}
