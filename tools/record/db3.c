/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a .db3 of rosbag2 with sqlite: a database with tables of topics and messages. Nothing in it is executed: no
 * views, and no functions that a malicious schema could name. Messages that rosbag2 has compressed one by one are
 * decompressed. Thread: as log.h.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "channels.h"
#include "db3_private.h"
#include "mem.h"
#include "ros/ros_definition.h"
#include "ros/ros_text.h"

/* steps of sqlite's virtual machine between two calls of the progress handler */
#define STEPS_AT_ONCE 10000
#define ZSTD_FIRST    "\x28\xb5\x2f\xfd" /* CDR begins with 0 */

struct db3 {
	struct log_reader r;
	struct channels channels;
	sqlite3 *db;
	sqlite3_stmt *messages;
	bool *want;
	size_t n_want;
	uint8_t *plain; /* the decompressed message */
	size_t room;
	bool ended;
	uint64_t steps; /* for the current row */
};

static int fail(struct db3 *d, const char *what)
{
	int e = sqlite3_errcode(d->db);
	int r = e == SQLITE_NOMEM      ? -ENOMEM
		: e == SQLITE_CANTOPEN ? -EACCES
		: e == SQLITE_TOOBIG   ? -EMSGSIZE
				       : -EBADMSG;

	return log_fail(d->r.why, sizeof(d->r.why), r, "%s: %s", what, sqlite3_errmsg(d->db));
}

static int prepare(struct db3 *d, const char *sql, sqlite3_stmt **ret)
{
	if (sqlite3_prepare_v2(d->db, sql, -1, ret, NULL) != SQLITE_OK)
		return fail(d, "the tables are not those of rosbag2");
	return 0;
}

static const char *text(sqlite3_stmt *s, int column)
{
	const char *t = (const char *)sqlite3_column_text(s, column);

	return t ? t : "";
}

/* ---- tables ---- */

/* Whether it is a table, not a view, and has that column. */
static bool has_column(struct db3 *d, const char *table, const char *column)
{
	sqlite3_stmt *s = NULL;
	bool yes = false;

	if (sqlite3_prepare_v2(d->db,
			       "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 AND "
			       "EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?1 AND type = 'table')",
			       -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_bind_text(s, 2, column, -1, SQLITE_STATIC) == SQLITE_OK)
		yes = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return yes;
}

/* Uses simd's definition of that name if the file has none. *ret_made: memory that ch borrows. */
static void known_definition(struct log_channel *ch, struct ros_text **ret_made)
{
	const struct ros_type *t;

	if (ch->schema.size || ros_definition_type(ros2_types, ch->schema_name, &t, ret_made) < 0)
		return;
	ch->schema_encoding = "ros2msg";
	ch->schema = (struct log_bytes){ t->definition, strlen(t->definition) };
}

static int topic_add(struct db3 *d, sqlite3_stmt *s)
{
	int64_t id = sqlite3_column_int64(s, 0), r;
	const struct log_pair qos[] = { { "offered_qos_profiles", text(s, 4) } };
	struct log_channel ch = { .topic = text(s, 1),
				  .schema_name = text(s, 2),
				  .message_encoding = text(s, 3),
				  .schema_encoding = text(s, 5),
				  .metadata = qos,
				  .n_metadata = *qos[0].value ? 1 : 0 };
	const char *definition = text(s, 6);
	struct ros_text *made = NULL;

	ch.schema = (struct log_bytes){ definition, strlen(definition) };
	known_definition(&ch, &made);
	r = channels_add(&d->channels, &id, sizeof(id), &ch);
	ros_text_destroy(made);
	return r < 0 && r != -EEXIST
		       ? log_fail(d->r.why, sizeof(d->r.why), (int)r, "too many topics, or no memory for them")
		       : 0;
}

static int topics_read(struct db3 *d)
{
	bool qos = has_column(d, "topics", "offered_qos_profiles");
	bool defined = has_column(d, "message_definitions", "encoded_message_definition");
	char sql[500];
	sqlite3_stmt *s;
	int r, k = SQLITE_DONE;

	if (!has_column(d, "topics", "serialization_format") || !has_column(d, "messages", "timestamp"))
		return log_fail(d->r.why, sizeof(d->r.why), -EBADMSG,
				"no tables `topics` and `messages` as rosbag2 has them");
	snprintf(sql, sizeof(sql),
		 "SELECT t.id, t.name, t.type, t.serialization_format, %s, %s FROM topics t %s ORDER BY t.id",
		 qos ? "t.offered_qos_profiles" : "''", defined ? "m.encoding, m.encoded_message_definition" : "'', ''",
		 defined ? "LEFT JOIN message_definitions m ON t.type IN (m.topic_type, m.topic_type || '_Event', m.topic_type || "
			   "'_FeedbackMessage', m.topic_type || '_SendGoal_Event', m.topic_type || '_GetResult_Event')"
			 /* for types of a service's or action's events, the definition is the service's or action's */
			 : "");
	r = prepare(d, sql, &s);
	while (r >= 0 && (k = sqlite3_step(s)) == SQLITE_ROW)
		r = topic_add(d, s);
	if (r >= 0 && k != SQLITE_DONE)
		r = fail(d, "the table of topics");
	sqlite3_finalize(s);
	return r;
}

static int counts_read(struct db3 *d)
{
	struct log_info *info = &d->r.info;
	sqlite3_stmt *s;
	int k, r = prepare(d,
			   "SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages GROUP BY topic_id",
			   &s);

	if (r < 0)
		return r;
	while ((k = sqlite3_step(s)) == SQLITE_ROW) {
		int64_t topic = sqlite3_column_int64(s, 0), n = sqlite3_column_int64(s, 1);
		int64_t id = channels_find(&d->channels, &topic, sizeof(topic));
		int64_t first = sqlite3_column_int64(s, 2), last = sqlite3_column_int64(s, 3);

		if (id < 0 || n <= 0)
			continue;
		d->channels.list[id].n_messages = (uint64_t)n;
		info->start_ns = !info->n_messages || first < info->start_ns ? first : info->start_ns;
		info->end_ns = !info->n_messages || last > info->end_ns ? last : info->end_ns;
		info->n_messages += (uint64_t)n;
	}
	info->counted = k == SQLITE_DONE; /* otherwise damaged: reading reports where */
	sqlite3_finalize(s);
	return 0;
}

/* ---- messages ---- */

static int messages_from(struct db3 *d, int64_t from_ns)
{
	const char *sql =
		d->r.options.file_order
			? "SELECT topic_id, timestamp, data, id FROM messages WHERE timestamp >= ?1 ORDER BY id"
			: "SELECT topic_id, timestamp, data, id FROM messages WHERE timestamp >= ?1 ORDER BY timestamp, id";
	int r;

	sqlite3_finalize(d->messages);
	d->messages = NULL;
	d->ended = false;
	d->steps = 0;
	r = prepare(d, sql, &d->messages);
	if (r >= 0 && sqlite3_bind_int64(d->messages, 1, from_ns) != SQLITE_OK)
		r = fail(d, "the table of messages");
	return r;
}

/* Decompresses a message written with --compression-mode message. */
static int unpack(struct db3 *d, struct log_message *m, int64_t row)
{
	unsigned long long n = ZSTD_getFrameContentSize(m->data, m->size);
	uint8_t *more;
	size_t k;

	if (n == ZSTD_CONTENTSIZE_ERROR || n == ZSTD_CONTENTSIZE_UNKNOWN || n > d->r.options.max_bytes)
		return log_fail(d->r.why, sizeof(d->r.why), -EMSGSIZE,
				"message %lld: compressed, and of unknown size or larger than what may be read at once",
				(long long)row);
	if (n > d->room) {
		more = mem_realloc(d->plain, (size_t)n);
		if (!more)
			return log_fail(d->r.why, sizeof(d->r.why), -ENOMEM, "no memory for a message");
		d->plain = more;
		d->room = (size_t)n;
	}
	k = ZSTD_decompress(d->plain, d->room, m->data, m->size);
	if (ZSTD_isError(k))
		return log_fail(d->r.why, sizeof(d->r.why), -EBADMSG, "message %lld: %s", (long long)row,
				ZSTD_getErrorName(k));
	m->data = d->plain;
	m->size = k;
	return 0;
}

static int db3_next(struct log_reader *r, struct log_message *ret)
{
	struct db3 *d = (struct db3 *)r;
	int k = SQLITE_DONE, e;

	while (!d->ended && (k = sqlite3_step(d->messages)) == SQLITE_ROW) {
		int64_t topic = sqlite3_column_int64(d->messages, 0), ns = sqlite3_column_int64(d->messages, 1);
		int64_t id = channels_find(&d->channels, &topic, sizeof(topic));

		if (id < 0 || ((size_t)id < d->n_want && !d->want[id]))
			continue;
		*ret = (struct log_message){ .channel = (uint32_t)id, .log_time_ns = ns, .publish_time_ns = ns };
		ret->data = sqlite3_column_blob(d->messages, 2);
		ret->size = (size_t)sqlite3_column_bytes(d->messages, 2);
		if (ret->size < 4 || memcmp(ret->data, ZSTD_FIRST, 4) != 0)
			return 1;
		e = unpack(d, ret, sqlite3_column_int64(d->messages, 3));
		return e < 0 ? e : 1;
	}
	if (d->ended || k == SQLITE_DONE) {
		d->ended = true;
		return 0;
	}
	d->ended = true;
	return fail(d, "the table of messages");
}

static int db3_select(struct log_reader *r, const bool *want, size_t n)
{
	struct db3 *d = (struct db3 *)r;
	bool *copy = want ? mem_alloc(n + 1) : NULL;

	if (want && !copy)
		return log_fail(r->why, sizeof(r->why), -ENOMEM, "no memory");
	if (copy && n)
		memcpy(copy, want, n);
	mem_free(d->want);
	d->want = copy;
	d->n_want = want ? n : 0;
	return 0;
}

static int db3_seek(struct log_reader *r, int64_t log_time_ns)
{
	if (r->options.file_order)
		return log_fail(r->why, sizeof(r->why), -ENOTSUP, "a file that is read in file order cannot seek");
	return messages_from((struct db3 *)r, log_time_ns);
}

static void db3_close(struct log_reader *r)
{
	struct db3 *d = (struct db3 *)r;

	sqlite3_finalize(d->messages);
	sqlite3_close(d->db);
	channels_finish(&d->channels);
	mem_free(d->want);
	mem_free(d->plain);
	mem_free(d);
}

static const struct log_reader_ops ops = {
	.close = db3_close, .select = db3_select, .seek = db3_seek, .next = db3_next
};

bool db3_is_file(const struct log_opening *o)
{
	return o->n_head >= 16 && !memcmp(o->head, "SQLite format 3", 16);
}

/* A row takes a number of steps that its size explains; many more mean a damaged tree of pages with a cycle. */
static int too_long(void *arg)
{
	struct db3 *d = arg;

	d->steps += STEPS_AT_ONCE;
	return d->steps > 10000000 + 32 * d->r.info.size;
}

static int open_db(struct db3 *d, const char *path)
{
	if (sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return fail(d, "sqlite");
	sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH,
		      d->r.options.max_bytes > 1000000000 ? 1000000000 : (int)d->r.options.max_bytes + 1);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_progress_handler(d->db, STEPS_AT_ONCE, too_long, d);
	sqlite3_exec(d->db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
	return 0;
}

int db3_open_file(struct log_opening *o, struct log_reader **ret)
{
	struct db3 *d = MEM_NEW(struct db3);
	int r;

	if (!d)
		return log_fail(o->why, o->why_size, -ENOMEM, "%s: no memory", o->path);
	log_reader_init(&d->r, &ops, o);
	d->r.info.format = LOG_DB3;
	d->r.info.profile = "ros2";
	d->r.info.complete = d->r.info.indexed = true;
	r = open_db(d, o->path);
	if (r >= 0)
		r = topics_read(d);
	if (r >= 0)
		r = counts_read(d);
	if (r >= 0)
		r = messages_from(d, INT64_MIN);
	if (r < 0) {
		log_fail(o->why, o->why_size, r, "%s: %s", o->path, d->r.why);
		db3_close(&d->r);
		return r;
	}
	d->r.info.channels = d->channels.list;
	d->r.info.n_channels = d->channels.n;
	*ret = &d->r;
	return 0;
}
