/* SPDX-License-Identifier: Apache-2.0 */
/* See replay.h. */
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "err.h"
#include "input_log.h"
#include "log.h"
#include "mem.h"
#include "printable.h"
#include "world.h"

LOG_TOPIC("world");

#define NAMED 3u /* objects named of a section that differs */

struct cursor { /* over a record's contents */
	const uint8_t *at, *end;
	bool bad;
};

struct run {
	struct store *store;
	struct replay_result *result;
};

static uint64_t get(struct cursor *c, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->at) < bytes) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)*c->at++ << 8 * i;
	return v;
}

static double get_double(struct cursor *c)
{
	uint64_t bits = get(c, 8);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* ---- records ---- */

static int begin(struct run *run, struct cursor *c)
{
	struct store_options o = { 0 };
	int r;

	(void)get(c, 8);
	o.objects_max = (uint32_t)get(c, 4);
	o.objects_each_max = (uint32_t)get(c, 4);
	o.section_mm = (int64_t)get(c, 8);
	o.step_dur_ns = (int64_t)get(c, 8);
	o.start_sim_ns = (int64_t)get(c, 8);
	if (run->store || c->bad || o.objects_max > 10000000 || o.objects_each_max > 1000000)
		return -EBADMSG;
	r = store_create(&o, &run->store);
	return r == -EINVAL ? -EBADMSG : r;
}

static int update(struct store *st, struct cursor *c)
{
	struct store_update u = { 0 };
	double *const parts[] = { u.motion.position, u.motion.rotation, u.motion.velocity, u.motion.spin };
	static const unsigned n[] = { 3, 4, 3, 3 };
	uint32_t connection = (uint32_t)get(c, 4);
	int r = 0;

	u.id = get(c, 8);
	u.code = (uint32_t)get(c, 4);
	u.motion.time_sim_ns = (int64_t)get(c, 8);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < n[i]; k++)
			parts[i][k] = get_double(c);
	u.has_body = get(c, 1) != 0;
	if (c->bad)
		return -EBADMSG;
	if (u.has_body)
		r = body_create(c->at, (size_t)(c->end - c->at), &u.body);
	return r < 0 ? r : store_update(st, connection, &u);
}

/* Describes the first section of level 0 that differs from the logged ones. */
static int name_difference(const struct snapshot *s, struct cursor *c)
{
	uint32_t i = 0;
	char ids[NAMED * 20 + 1] = "";
	const struct section *is;

	for (;; i++) {
		bool logged = c->at < c->end;
		struct section_key key = { (int32_t)(uint32_t)get(c, 4), (int32_t)(uint32_t)get(c, 4), 0 };
		uint32_t count = (uint32_t)get(c, 4);
		uint64_t hash = get(c, 8);

		is = i < s->n_sections && !s->sections[i]->key.level ? s->sections[i] : NULL;
		if (!logged && (!is || !i)) /* quiet ticks list no sections */
			return err_set(-ESTALE, "tick %" PRIu64 " is not as it was: the hash differs", s->tick);
		if (!is || (logged && section_key_compare(key, is->key) < 0))
			return err_set(-ESTALE,
				       "tick %" PRIu64 " is not as it was: section %d, %d had %u objects, and has none",
				       s->tick, key.x, key.y, count);
		if (!logged || !section_key_equal(key, is->key) || hash != is->hash)
			break;
	}
	for (uint32_t k = 0; k < is->count && k < NAMED; k++)
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s%" PRIx64, k ? ", " : "", is->objects[k].id);
	return err_set(-ESTALE, "tick %" PRIu64 " is not as it was: section %d, %d differs; its %u objects are %s%s",
		       s->tick, is->key.x, is->key.y, is->count, ids, is->count > NAMED ? ", ..." : "");
}

/* Makes the ticks up to this one; *ret: the last. */
static int ticks_to(struct run *run, uint64_t number, struct snapshot **ret)
{
	struct snapshot *s = NULL;
	uint64_t next = store_next_tick(run->store);
	int r = number >= next && number - next < INPUT_LOG_QUIET ? 0 : -EBADMSG;

	for (; r == 0 && next <= number; next++) {
		snapshot_destroy(s);
		s = NULL;
		r = store_tick(run->store, 0, &s);
		run->result->ticks += r == 0 && next < number;
	}
	*ret = s;
	return r;
}

static int tick(struct run *run, struct cursor *c)
{
	uint64_t number = get(c, 8), hash = get(c, 8);
	struct snapshot *s;
	int r = c->bad ? -EBADMSG : ticks_to(run, number, &s);

	if (r < 0)
		return r;
	run->result->hash = s->hash;
	if (s->hash != hash)
		r = name_difference(s, c);
	else
		run->result->ticks++;
	if (r == 0)
		log_debug("tick %" PRIu64 ": hash %016" PRIx64 ", as it was", number, hash);
	snapshot_destroy(s);
	return r;
}

static int event(struct cursor *c)
{
	static const char *const what[] = {
		[WORLD_CAME] = "connected", [WORLD_LEFT] = "disconnected", [WORLD_REFUSED] = "refused",
		[WORLD_LATE] = "late",      [WORLD_IN_TIME] = "in time",   [WORLD_PAUSED] = "paused"
	};
	uint64_t kind = get(c, 1);
	uint32_t connection = (uint32_t)get(c, 4);
	char text[512];

	if (c->bad || kind >= sizeof(what) / sizeof(what[0]))
		return -EBADMSG;
	(void)printable(text, sizeof(text), (const char *)c->at, (size_t)(c->end - c->at));
	log_debug("client %u %s: %s", connection, what[kind], text);
	return 0;
}

/* Result of a statement that was accepted in the logged run; refusing it now is an error. */
static int taken(int r)
{
	return r == 0 || r == -ENOMEM || r == -EBADMSG ? r : -ESTALE;
}

static int take(struct run *run, uint8_t kind, struct cursor *c)
{
	uint32_t connection, to;

	if (kind == INPUT_LOG_BEGIN)
		return begin(run, c);
	if (!run->store)
		return -EBADMSG;
	switch (kind) {
	case INPUT_LOG_UPDATE:
		return taken(update(run->store, c));
	case INPUT_LOG_TICK:
		return tick(run, c);
	case INPUT_LOG_EVENT:
		return event(c);
	default:
		break;
	}
	connection = (uint32_t)get(c, 4);
	to = kind == INPUT_LOG_GIVE ? (uint32_t)get(c, 4) : 0;
	if (c->bad)
		return -EBADMSG;
	switch (kind) {
	case INPUT_LOG_REMOVE:
		return taken(store_remove(run->store, connection, get(c, 8)));
	case INPUT_LOG_GIVE:
		return taken(store_give(run->store, connection, to, get(c, 8)));
	case INPUT_LOG_LEAVE:
		store_remove_all(run->store, connection);
		return 0;
	case INPUT_LOG_FORGET:
		store_forget_connection(run->store, connection);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* ---- the file ---- */

/* Reads a record into data. 1; 0: the end, or an incomplete record (ret->cut); -EBADMSG: malformed. */
static int read_record(FILE *f, uint8_t *data, size_t *ret_len, struct replay_result *ret)
{
	uint8_t head[4];
	size_t got = fread(head, 1, sizeof(head), f), len;

	*ret_len = len = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
	if (got < sizeof(head)) {
		ret->cut = got > 0;
		return 0;
	}
	if (!len || len > INPUT_LOG_RECORD)
		return -EBADMSG;
	if (fread(data, 1, len + 8, f) == len + 8)
		return 1;
	ret->cut = true;
	return 0;
}

static int read_all(FILE *f, uint8_t *data, struct run *run)
{
	uint64_t chain = 0;
	size_t len = 0;
	int r;

	while ((r = read_record(f, data, &len, run->result)) == 1) {
		struct cursor c = { data + 1, data + len, false }, hash = { data + len, data + len + 8, false };

		chain = input_log_chain(chain, data, len);
		if (get(&hash, 8) != chain)
			return -EBADMSG;
		err_clear();
		r = take(run, data[0], &c);
		if (r < 0 || c.bad)
			return r < 0 ? r : -EBADMSG;
		run->result->records++;
	}
	return r;
}

int replay(FILE *f, struct replay_result *ret)
{
	uint8_t *data = mem_alloc(INPUT_LOG_RECORD + 8);
	struct run run = { .result = ret };
	char magic[sizeof(INPUT_LOG_MAGIC) - 1];
	int r;

	*ret = (struct replay_result){ 0 };
	if (!data)
		return err_nomem();
	if (fread(magic, 1, sizeof(magic), f) != sizeof(magic) || memcmp(magic, INPUT_LOG_MAGIC, sizeof(magic)) != 0)
		r = err_set(-EBADMSG, "it is not an input log of sim-world");
	else
		r = read_all(f, data, &run);
	if (r == -EBADMSG && !ret->records && !*err_why())
		err_set(r, "its first record is malformed");
	else if (r == -EBADMSG && ret->records)
		err_set(r, "record %" PRIu64 ", behind tick %" PRIu64 ", is not as it was written", ret->records + 1,
			ret->ticks);
	else if (r == -ESTALE && !*err_why())
		err_set(r, "record %" PRIu64 ", behind tick %" PRIu64 ", was taken then, and is refused now",
			ret->records + 1, ret->ticks);
	else if (r == -ENOMEM)
		err_nomem();
	store_destroy(run.store);
	mem_free(data);
	return r;
}

int replay_file(const char *path)
{
	FILE *f = fopen(path, "rbe");
	struct replay_result result;
	int r = f ? 0 : err_sys(-errno, "cannot read it");

	if (f) {
		r = replay(f, &result);
		(void)fclose(f);
	}
	if (r < 0) {
		fprintf(stderr, "sim-world: %s: %s\n", path, err_why());
		return 1;
	}
	printf("%s: ticks %" PRIu64 ", all as they were; hash %016" PRIx64 "\n", path, result.ticks, result.hash);
	if (result.cut)
		printf("%s: its end is cut off, after record %" PRIu64 "\n", path, result.records);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
