/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log topics, the level table, and the handler; the ring is in log_ring.c. Thread: any. The level table is guarded by
 * table_lock, which is taken only when a topic meets a new epoch, that is, once per topic and change of levels. Lines
 * are written with one write().
 */
#include "log.h"

#include "err.h"
#include "log_private.h"
#include "number.h"
#include "printable.h"
#include "timeutil.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOPIC_NAME_MAX 31

struct rule {
	char topic[TOPIC_NAME_MAX + 1]; /* "*" matches all */
	enum log_level level;
};

struct rules {
	struct rule rule[LOG_RULES_MAX];
	unsigned n;
};

struct sink {
	log_handler fn;
	void *user;
};

_Atomic uint32_t log_epoch = 1;

/* a leaf: no other lock is taken under it */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rules table = { .rule = { { "*", LOG_LEVEL_INFO } }, .n = 1 }; /* guarded by table_lock */
static struct sink sinks[2]; /* written only while not current; see log_set_handler */
static _Atomic unsigned sink_now;
static const char *_Atomic program_name;
static _Thread_local struct log_ring *thread_ring;

static const char *const level_names[] = { "none", "error", "warn", "info", "debug" };

static const char *level_name(enum log_level level)
{
	return (unsigned)level < sizeof(level_names) / sizeof(level_names[0]) ? level_names[level] : "?";
}

/* Negative: not the name of a level. */
static int level_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (!strcmp(level_names[i], name))
			return (int)i;
	return -EINVAL;
}

uint32_t log_topic_resolve(struct log_topic *t)
{
	enum log_level level = LOG_LEVEL_NONE;
	int saved = errno;
	uint32_t c;

	pthread_mutex_lock(&table_lock);
	for (unsigned i = 0; i < table.n; i++)
		if (!strcmp(table.rule[i].topic, "*") || !strcmp(table.rule[i].topic, t->name))
			level = table.rule[i].level;
	c = atomic_load_explicit(&log_epoch, memory_order_relaxed) << 8 | (uint32_t)level;
	pthread_mutex_unlock(&table_lock);
	atomic_store_explicit(&t->cached, c, memory_order_relaxed);
	errno = saved;
	return c;
}

/* Parses one "topic:level" or "level" of len bytes. */
static int rule_parse(const char *s, size_t len, struct rule *ret)
{
	const char *colon = memchr(s, ':', len);
	size_t tlen = colon ? (size_t)(colon - s) : 1;
	char level[8] = "";
	int l;

	if (colon) {
		if (!tlen || tlen > TOPIC_NAME_MAX)
			return err_set(-EINVAL, "log levels: \"%.*s\": a topic's name has 1 to %d characters", (int)len,
				       s, TOPIC_NAME_MAX);
		len -= tlen + 1;
	}
	memcpy(ret->topic, colon ? s : "*", tlen);
	ret->topic[tlen] = '\0';
	s = colon ? colon + 1 : s;
	if (len < sizeof(level))
		memcpy(level, s, len);
	l = level_of(level);
	if (l < 0)
		return err_set(-EINVAL, "log levels: \"%.*s\" is not one of none, error, warn, info, debug",
			       (int)(len > 40 ? 40 : len), s);
	ret->level = (enum log_level)l;
	return 0;
}

static int rules_parse(const char *spec, struct rules *ret)
{
	struct rules next = { .rule = { { "*", LOG_LEVEL_INFO } }, .n = 1 };

	for (const char *s = spec; *s;) {
		size_t len = strcspn(s, ",");
		int r;

		if (len) {
			if (next.n == LOG_RULES_MAX)
				return err_set(-EINVAL, "log levels: more than %d rules", LOG_RULES_MAX - 1);
			r = rule_parse(s, len, &next.rule[next.n]);
			if (r < 0)
				return r;
			next.n++;
		}
		s += len + (s[len] == ',');
	}
	*ret = next;
	return 0;
}

int log_check_spec(const char *spec)
{
	struct rules unused;

	return rules_parse(spec, &unused);
}

int log_set_spec(const char *spec)
{
	struct rules next;
	uint32_t epoch;
	int r = rules_parse(spec, &next);

	if (r < 0)
		return r;
	pthread_mutex_lock(&table_lock);
	table = next;
	epoch = atomic_load(&log_epoch);
	/* never 0, which marks a topic that was never looked up */
	atomic_store(&log_epoch, epoch < 0xffffff ? epoch + 1 : 1);
	pthread_mutex_unlock(&table_lock);
	return 0;
}

int log_setup(const char *program)
{
	const char *spec = getenv("SIM_LOG");

	atomic_store(&program_name, program);
	if (!spec)
		return 0;
	return log_set_spec(spec) < 0 ? err_prefix(-EINVAL, "SIM_LOG") : 0;
}

/* ---- handlers ---- */

/* The journal parses "<3>text" if stderr is its stream, which JOURNAL_STREAM names as device:inode. */
bool log_to_journal(void)
{
	const char *s = getenv("JOURNAL_STREAM");
	uint64_t dev, ino;
	struct stat st;

	return s && number_take_u64(&s, NUMBER_DEC, UINT64_MAX, &dev) == 0 && *s == ':' &&
	       number_u64(s + 1, NUMBER_DEC, UINT64_MAX, &ino) == 0 && fstat(STDERR_FILENO, &st) == 0 &&
	       st.st_dev == dev && st.st_ino == ino;
}

static void to_stderr(enum log_level level, const char *topic, const char *text)
{
	static const int priority[] = { 0, 3, 4, 6, 7 };
	static _Atomic int journal = -1;
	const char *program = atomic_load(&program_name);
	char line[LOG_LINE_MAX + 128];
	int n;

	if (atomic_load(&journal) < 0)
		atomic_store(&journal, log_to_journal());
	if (atomic_load(&journal) > 0) {
		n = snprintf(line, sizeof(line), "<%d>%s: %s\n", priority[level], topic, text);
	} else {
		int64_t now = real_now_ns();
		time_t sec = (time_t)(now / NS_PER_S);
		struct tm tm;

		localtime_r(&sec, &tm);
		n = snprintf(line, sizeof(line), "%02d:%02d:%02d.%03d %s %-5s %s: %s\n", tm.tm_hour, tm.tm_min,
			     tm.tm_sec, (int)(now % NS_PER_S / NS_PER_MS), program ? program : "sim", level_name(level),
			     topic, text);
	}
	if (n >= (int)sizeof(line)) {
		n = (int)sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	/* a full pipe or a closed stderr must not stop the program: the line is lost */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void log_emit(enum log_level level, const char *topic, const char *text)
{
	const struct sink *s = &sinks[atomic_load_explicit(&sink_now, memory_order_acquire)];
	char fit[LOG_LINE_MAX];
	size_t len = strlen(text);

	if (!printable_is(text, len)) {
		printable(fit, sizeof(fit), text, len);
		text = fit;
	}

	if (s->fn)
		s->fn(s->user, level, topic, text);
	else
		to_stderr(level, topic, text);
}

void log_set_handler(log_handler fn, void *user)
{
	unsigned next;

	/* two slots: a logger in another thread always reads a consistent pair */
	pthread_mutex_lock(&table_lock);
	next = !atomic_load(&sink_now);
	sinks[next] = (struct sink){ fn, user };
	atomic_store_explicit(&sink_now, next, memory_order_release);
	pthread_mutex_unlock(&table_lock);
}

void log_thread_use(struct log_ring *ring)
{
	thread_ring = ring;
}

void log_write(enum log_level level, const char *topic, const char *fmt, ...)
{
	char text[LOG_LINE_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	if (thread_ring) {
		log_ring_vput(thread_ring, level, topic, fmt, ap);
	} else {
		vsnprintf(text, sizeof(text), fmt, ap);
		log_emit(level, topic, text);
	}
	va_end(ap);
	errno = saved;
}
