/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging. Each file that logs says once `LOG_TOPIC("clock");` at file scope, then uses log_error(),
 * log_warn(), log_info(), log_debug(). Arguments are not evaluated when the topic's level is lower.
 * A failure is logged once, by the layer that decides: libraries and base return, they do not log.
 *
 * Levels come from the environment, SIM_LOG=clock:debug,*:info (the last match wins), or log_set_spec().
 * Lines go to the handler: by default one write to stderr, with the priority prefix that systemd's
 * journal understands when stderr is the journal.
 *
 * Threads that must not block (clock, dispatch) call log_thread_use(ring) once: their lines then go
 * into a bounded lock-free ring that the log thread drains. Full ring: the line is dropped and counted.
 *
 * Thread: any; errno is preserved. Level table, handler: process-wide (the accepted exception).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "log_limit.h"

enum log_level {
	LOG_LEVEL_NONE,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

struct log_topic {
	const char *name;
	_Atomic uint32_t cached; /* epoch << 8 | level, of the level table at its last look-up; 0: never */
};

#define LOG_TOPIC(topic_name) static struct log_topic log_topic_here = { .name = (topic_name) }

extern _Atomic uint32_t log_epoch; /* counts changes of the level table, 24 bits, from 1 */

uint32_t log_topic_resolve(struct log_topic *t);

static inline bool log_on(struct log_topic *t, enum log_level level)
{
	uint32_t c = atomic_load_explicit(&t->cached, memory_order_relaxed);

	if (c >> 8 != atomic_load_explicit(&log_epoch, memory_order_relaxed))
		c = log_topic_resolve(t);
	return (uint32_t)level <= (c & 0xff);
}

void log_write(enum log_level level, const char *topic, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#define log_at(level, ...) \
	do { \
		if (log_on(&log_topic_here, (level))) \
			log_write((level), log_topic_here.name, __VA_ARGS__); \
	} while (0)

#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* ---- levels ---- */

#define LOG_RULES_MAX 32
#define LOG_LINE_MAX  1024 /* longer lines are cut */

/*
 * Sets "topic:level,..." or a bare "level" for all topics. -EINVAL with a sentence (err.h); the old table then stays.
 */
int log_set_spec(const char *spec);
/* Checks it, with the same errors, and changes nothing. */
int log_check_spec(const char *spec);

/*
 * The first call of a program: `program` (a static string; never freed) starts each line; reads SIM_LOG. -EINVAL if
 * SIM_LOG is malformed (then the default levels, *:info, apply).
 */
int log_setup(const char *program);

/* ---- handler ---- */

/* Whether stderr goes to the journal, or to a reader of the same format: lines then begin with "<3>". */
bool log_to_journal(void);

/*
 * `text` is one printable line (printable.h); it and `topic` are borrowed until return. Called from any thread that
 * logs, also from several at once.
 */
typedef void (*log_handler)(void *user, enum log_level level, const char *topic, const char *text);

/* NULL: back to stderr. A call that is under way may still reach the old handler. */
void log_set_handler(log_handler fn, void *user);

/* ---- ring: for threads that must not block ---- */

struct log_ring;

#define LOG_RING_TEXT 232 /* bytes of text per line in a ring; longer lines are cut */

/* lines: rounded up to a power of two, 16 .. 65536. Errors: -EINVAL, -ENOMEM. */
int log_ring_create(uint32_t lines, struct log_ring **ret);
void log_ring_destroy(struct log_ring *ring); /* after log_ring_stop(), when no thread uses the ring any more */

/* Sends the calling thread's lines into `ring`; NULL: directly to the handler again. */
void log_thread_use(struct log_ring *ring);

/* Passes up to max waiting lines to the handler (max 0: all); returns how many. One thread at a time. */
unsigned log_ring_drain(struct log_ring *ring, unsigned max);
uint64_t log_ring_dropped(const struct log_ring *ring);

/* Starts a thread of this name that drains the ring as lines come; stop drains the rest and joins it. */
int log_ring_start(struct log_ring *ring, const char *thread_name);
void log_ring_stop(struct log_ring *ring);
/*
 * The same, but waits at most dur_ns: a handler may block on a reader that does not read. -ETIMEDOUT: the thread goes
 * on, so the ring must not be destroyed; the process may exit nevertheless.
 */
int log_ring_stop_within(struct log_ring *ring, int64_t dur_ns) __attribute__((warn_unused_result));

/* ---- repeats ---- */

#define log_limited(limit, now_ns, level, fmt, ...) \
	do { \
		uint64_t held_; \
		if (log_on(&log_topic_here, (level)) && log_limit_pass((limit), (now_ns), &held_)) { \
			if (held_) \
				log_write((level), log_topic_here.name, fmt " (%llu more like it before)", \
					  ##__VA_ARGS__, (unsigned long long)held_); \
			else \
				log_write((level), log_topic_here.name, fmt, ##__VA_ARGS__); \
		} \
	} while (0)

#endif
