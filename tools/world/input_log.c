/* SPDX-License-Identifier: Apache-2.0 */
/* See input_log.h. */
#include "input_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL /* uses only the header of xxhash: nothing to link */
#include <xxhash.h>

#include "err.h"
#include "fd.h"
#include "log.h"
#include "mem.h"
#include "thread.h"
#include "world/wire.h"

LOG_TOPIC("world");

#define QUEUE_MAX ((size_t)64 << 20)
#define HASH      8u

struct input_log {
	int fd; /* thread only */
	char *path;
	size_t queue_max;
	struct log_ring *ring; /* thread only */
	pthread_t thread;
	bool runs;
	uint64_t chain;         /* thread only: hash of the last record */
	struct wire_buf writes; /* thread only */

	pthread_mutex_t lock;
	bool took; /* the store has changed since the last tick */
	struct quiet {
		unsigned n;          /* quiet ticks without a record yet */
		uint64_t tick, hash; /* of the last one */
	} quiet;
	pthread_cond_t news;   /* signalled when a tick or half a queue waits, or the log ends */
	struct wire_buf waits; /* complete records, without their hashes */
	bool ends;
	struct input_log_info info;
};

/* ---- records ---- */

static void put(struct wire_buf *b, uint64_t v, unsigned bytes)
{
	uint8_t *at = wire_room(b, bytes);

	for (unsigned i = 0; at && i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
	b->len += at ? bytes : 0;
}

static void put_double(struct wire_buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	put(b, bits, 8);
}

static void put_update(struct wire_buf *b, const struct store_told *t)
{
	const struct store_update *u = t->update;
	const double *const parts[] = { u->motion.position, u->motion.rotation, u->motion.velocity, u->motion.spin };
	static const unsigned n[] = { 3, 4, 3, 3 };

	put(b, t->connection, 4);
	put(b, u->id, 8);
	put(b, u->code, 4);
	put(b, (uint64_t)u->motion.time_sim_ns, 8);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < n[i]; k++)
			put_double(b, parts[i][k]);
	put(b, u->has_body, 1);
	if (u->has_body && u->body)
		wire_append(b, u->body->data, u->body->len);
}

static void put_tick(struct wire_buf *b, const struct snapshot *s)
{
	put(b, s->tick, 8);
	put(b, s->hash, 8);
	for (uint32_t i = 0; i < s->n_sections && !s->sections[i]->key.level; i++) {
		if (s->n_sections > INPUT_LOG_SECTIONS)
			break;
		put(b, (uint32_t)s->sections[i]->key.x, 4);
		put(b, (uint32_t)s->sections[i]->key.y, 4);
		put(b, s->sections[i]->count, 4);
		put(b, s->sections[i]->hash, 8);
	}
}

/* Begins a record; returns the offset of its length. */
static size_t begin(struct wire_buf *b, enum input_log_kind kind)
{
	size_t at = b->len;

	put(b, 0, 4);
	put(b, kind, 1);
	return at;
}

uint64_t input_log_chain(uint64_t last, const void *data, size_t len)
{
	XXH64_state_t h;
	uint8_t before[HASH];

	for (unsigned i = 0; i < HASH; i++)
		before[i] = (uint8_t)(last >> 8 * i);
	XXH64_reset(&h, 0);
	XXH64_update(&h, before, sizeof(before));
	XXH64_update(&h, data, len);
	return XXH64_digest(&h);
}

/* Ends the log at this point, as later records would not fit the lost ones. Caller holds the lock. */
static void give_up(struct input_log *l, int why)
{
	if (!l->info.why)
		log_error("the input log %s ends, and the world continues: %s", l->path,
			  why == -ENOBUFS ? "the disk is too slow for it" : strerror(-why));
	l->info.why = l->info.why ? l->info.why : why;
}

/* Completes the record that begins at `at`, or removes it. Caller holds the lock. */
static void end(struct input_log *l, size_t at)
{
	struct wire_buf *b = &l->waits;
	size_t len = b->len - at - 4;

	put(b, 0, HASH);
	if (b->failed || b->len > l->queue_max)
		give_up(l, b->failed ? -ENOMEM : -ENOBUFS);
	if (l->info.why) {
		b->len = at;
		b->failed = false;
		l->info.lost++;
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		b->data[at + i] = (uint8_t)(len >> 8 * i);
	l->info.records++;
	l->info.bytes += b->len - at;
	if (b->len > l->queue_max / 2) /* do not wait for the next tick, which may be far off */
		pthread_cond_signal(&l->news);
}

/* Writes the record for the quiet ticks so far, before another record. Caller holds the lock. */
static void end_quiet(struct input_log *l)
{
	size_t at;

	if (!l->quiet.n)
		return;
	l->quiet.n = 0;
	at = begin(&l->waits, INPUT_LOG_TICK);
	put(&l->waits, l->quiet.tick, 8);
	put(&l->waits, l->quiet.hash, 8);
	end(l, at);
}

/* Caller holds the lock. */
static void take_tick(struct input_log *l, const struct snapshot *s)
{
	size_t at;

	if (!l->took && l->quiet.n + 1 < INPUT_LOG_QUIET) {
		l->quiet = (struct quiet){ l->quiet.n + 1, s->tick, s->hash };
		return;
	}
	l->took = false;
	l->quiet.n = 0;
	at = begin(&l->waits, INPUT_LOG_TICK);
	put_tick(&l->waits, s);
	end(l, at);
	pthread_cond_signal(&l->news);
}

/* Records anything but a tick. Caller holds the lock. */
static void take(struct input_log *l, const struct store_told *t)
{
	static const uint8_t kinds[] = { [STORE_UPDATE] = INPUT_LOG_UPDATE,
					 [STORE_REMOVE] = INPUT_LOG_REMOVE,
					 [STORE_GIVE] = INPUT_LOG_GIVE,
					 [STORE_REMOVE_ALL] = INPUT_LOG_LEAVE,
					 [STORE_FORGET] = INPUT_LOG_FORGET };
	struct wire_buf *b = &l->waits;
	size_t at;

	end_quiet(l);
	l->took = true;
	at = begin(b, (enum input_log_kind)kinds[t->what]);
	if (t->what == STORE_UPDATE)
		put_update(b, t);
	else
		put(b, t->connection, 4);
	if (t->what == STORE_GIVE)
		put(b, t->to, 4);
	if (t->what == STORE_GIVE || t->what == STORE_REMOVE)
		put(b, t->id, 8);
	end(l, at);
}

void input_log_told(void *user, const struct store_told *t)
{
	struct input_log *l = user;

	pthread_mutex_lock(&l->lock);
	if (t->what == STORE_TICK)
		take_tick(l, t->snapshot);
	else
		take(l, t);
	pthread_mutex_unlock(&l->lock);
}

void input_log_event(struct input_log *l, unsigned what, uint32_t connection, const char *name, const char *sentence)
{
	size_t at;

	pthread_mutex_lock(&l->lock);
	end_quiet(l);
	at = begin(&l->waits, INPUT_LOG_EVENT);
	put(&l->waits, what, 1);
	put(&l->waits, connection, 4);
	wire_append(&l->waits, name, strlen(name) + 1);
	wire_append(&l->waits, sentence, strlen(sentence));
	end(l, at);
	pthread_mutex_unlock(&l->lock);
}

void input_log_info(struct input_log *l, struct input_log_info *ret)
{
	pthread_mutex_lock(&l->lock);
	*ret = l->info;
	pthread_mutex_unlock(&l->lock);
}

/* ---- the thread ---- */

static void make_hashes(struct input_log *l)
{
	for (size_t at = 0; at < l->writes.len;) {
		uint8_t *p = l->writes.data + at;
		size_t len = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;

		l->chain = input_log_chain(l->chain, p + 4, len);
		for (unsigned i = 0; i < HASH; i++)
			p[4 + len + i] = (uint8_t)(l->chain >> 8 * i);
		at += 4 + len + HASH;
	}
}

static void *run(void *arg)
{
	struct input_log *l = arg;
	struct wire_buf had;
	bool ends = false;
	int r;

	log_thread_use(l->ring); /* the lock is held while the thread logs, and a tick waits for the lock */
	while (!ends) {
		pthread_mutex_lock(&l->lock);
		while (!l->waits.len && !l->ends)
			pthread_cond_wait(&l->news, &l->lock);
		had = l->writes;
		l->writes = l->waits;
		l->waits = had;
		l->waits.len = 0;
		ends = l->ends;
		pthread_mutex_unlock(&l->lock);
		make_hashes(l);
		r = fd_write_all(l->fd, l->writes.data, l->writes.len);
		if (r < 0) {
			pthread_mutex_lock(&l->lock);
			give_up(l, r);
			pthread_mutex_unlock(&l->lock);
			return NULL;
		}
	}
	return NULL;
}

/* ---- creation ---- */

static int write_begin(struct input_log *l, const struct input_log_options *o)
{
	struct wire_buf *b = &l->waits;
	size_t at = begin(b, INPUT_LOG_BEGIN);
	int r;

	put(b, o->number, 8);
	put(b, o->store.objects_max, 4);
	put(b, o->store.objects_each_max, 4);
	put(b, (uint64_t)o->store.section_mm, 8);
	put(b, (uint64_t)o->store.step_dur_ns, 8);
	put(b, (uint64_t)o->store.start_sim_ns, 8);
	end(l, at);
	if (l->info.why)
		return err_nomem();
	r = fd_write_all(l->fd, INPUT_LOG_MAGIC, strlen(INPUT_LOG_MAGIC));
	return r < 0 ? err_prefix(r, "input log %s", o->path) : 0;
}

static int open_new(struct input_log *l, const char *path)
{
	l->path = mem_strdup(path);
	if (!l->path)
		return err_nomem();
	l->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (l->fd >= 0)
		return 0;
	if (errno == EEXIST)
		return err_set(-EEXIST, "input log %s: the file exists, and it is kept; give another name", path);
	return err_sys(-errno, "input log %s", path);
}

int input_log_create(const struct input_log_options *o, struct input_log **ret)
{
	struct input_log *l = MEM_NEW(struct input_log);
	int r;

	if (!l)
		return err_nomem();
	pthread_mutex_init(&l->lock, NULL);
	thread_cond_init(&l->news);
	l->fd = -1;
	l->took = true; /* gives the first tick a record of its own */
	l->queue_max = o->queue_max ? o->queue_max : QUEUE_MAX;
	l->ring = o->ring;
	r = open_new(l, o->path);
	if (r == 0)
		r = write_begin(l, o);
	if (r == 0) {
		r = thread_start(&l->thread, "input log", run, l);
		r = r < 0 ? err_sys(r, "input log %s", o->path) : 0;
	}
	if (r < 0) {
		input_log_destroy(l);
		return r;
	}
	l->runs = true;
	*ret = l;
	return 0;
}

void input_log_destroy(struct input_log *l)
{
	if (!l)
		return;
	if (l->runs) {
		pthread_mutex_lock(&l->lock);
		end_quiet(l);
		l->ends = true;
		pthread_cond_signal(&l->news);
		pthread_mutex_unlock(&l->lock);
		pthread_join(l->thread, NULL);
	}
	if (l->info.lost)
		log_warn("the input log %s lacks the last %llu records", l->path, (unsigned long long)l->info.lost);
	pthread_cond_destroy(&l->news);
	pthread_mutex_destroy(&l->lock);
	wire_buf_finish(&l->waits);
	wire_buf_finish(&l->writes);
	fd_close(l->fd);
	mem_free(l->path);
	mem_free(l);
}
