/* SPDX-License-Identifier: Apache-2.0 */
/* sim/world.h: a host's calls. Each takes the lock. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "err.h"
#include "fd.h"
#include "timeutil.h"
#include "host_private.h"

#define FLUSH_AT 16384u /* bytes that may wait for the next Done */

static void lock(struct sim_world *w)
{
	pthread_mutex_lock(&w->lock);
}

static int unlock(struct sim_world *w, int r)
{
	pthread_mutex_unlock(&w->lock);
	return r;
}

/* ---- own objects ---- */

int sim_world_put(struct sim_world *w, const struct sim_world_object *o)
{
	struct side_object s = {
		.id = o->id, .code = o->code, .body = o->body, .len = o->body_size, .motion.time_sim_ns = o->time_sim_ns
	};
	const void *data;
	int r;

	memcpy(s.motion.position, o->position, sizeof(o->position));
	memcpy(s.motion.rotation, o->rotation, sizeof(o->rotation));
	memcpy(s.motion.velocity, o->velocity, sizeof(o->velocity));
	memcpy(s.motion.spin, o->spin, sizeof(o->spin));
	lock(w);
	r = side_put(w->side, &s);
	if (w->role != SIM_WORLD_REGULATING || side_output(w->side, &data) > FLUSH_AT)
		host_flush(w);
	return unlock(w, r);
}

int sim_world_remove(struct sim_world *w, uint64_t id)
{
	int r;

	lock(w);
	r = side_remove(w->side, id);
	host_flush(w);
	return unlock(w, r);
}

uint64_t sim_world_id(struct sim_world *w, uint64_t number)
{
	uint64_t id;

	lock(w);
	id = side_id(w->side, number);
	(void)unlock(w, 0);
	return id;
}

/* ---- time ---- */

static int done(struct sim_world *w)
{
	int r;

	host_come_back(w);
	w->paused = false;
	r = side_done(w->side, w->at_tick, mono_now_ns());

	if (r == 0) {
		w->done_world = side_world(w->side);
		w->done_tick = w->at_tick;
	}
	host_flush(w);
	return r;
}

int sim_world_done(struct sim_world *w)
{
	int r;

	lock(w);
	r = done(w);
	return unlock(w, r);
}

int sim_world_pause(struct sim_world *w)
{
	int r;

	lock(w);
	w->paused = true;
	r = side_pause(w->side);
	host_flush(w);
	return unlock(w, r);
}

/* Takes one turn, or waits for the thread's; false: the time is over. */
static bool wait_some(struct sim_world *w, int64_t until_mono_ns)
{
	const struct timespec t = timespec_from_ns(until_mono_ns);
	int64_t left = until_mono_ns == INT64_MAX ? -1 : until_mono_ns - mono_now_ns();

	if (w->has_thread && until_mono_ns == INT64_MAX)
		return pthread_cond_wait(&w->news, &w->lock) == 0;
	if (w->has_thread)
		return pthread_cond_timedwait(&w->news, &w->lock, &t) != ETIMEDOUT;
	(void)host_turn(w);
	if (w->news_tick || w->state == SIM_WORLD_FAILED)
		return true;
	if (until_mono_ns != INT64_MAX && left <= 0)
		return false;
	(void)unlock(w, 0);
	(void)fd_wait(w->epoll_fd, POLLIN, left);
	lock(w);
	return true;
}

static int wait_tick(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret)
{
	int64_t until = timeout_dur_ns < 0 ? INT64_MAX : ns_add(mono_now_ns(), timeout_dur_ns);
	bool time_left = true;

	w->waits = true;
	host_come_back(w);
	if (host_in_callback(w))
		return err_set(-EDEADLK, "a callback of a world cannot wait for its ticks");
	w->in_wait = true;
	while (!w->news_tick && w->state != SIM_WORLD_FAILED && time_left)
		time_left = wait_some(w, until);
	w->in_wait = false;
	if (!w->news_tick)
		return w->state == SIM_WORLD_FAILED ? err_set(-ENOTCONN, "%s", w->info.why)
						    : err_set(-ETIMEDOUT, "no tick of the world for %lld ms%s%s",
							      (long long)(timeout_dur_ns / NS_PER_MS),
							      *w->info.why ? ": " : "", w->info.why);
	w->news_tick = false;
	w->at_tick = w->waited_tick = side_tick(w->side)->tick;
	w->waited = true;
	host_tick(side_tick(w->side), ret);
	return 0;
}

int sim_world_wait(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret)
{
	int r;

	lock(w);
	r = wait_tick(w, timeout_dur_ns, ret);
	return unlock(w, r);
}

int sim_world_step(struct sim_world *w, int64_t timeout_dur_ns, struct sim_world_tick *ret)
{
	int r;

	lock(w);
	r = done(w);
	if (r == 0 || r == -ENOTCONN) /* then the next Welcome tells the time of the world */
		r = wait_tick(w, timeout_dur_ns, ret);
	return unlock(w, r);
}

/* ---- other hosts' objects ---- */

static enum remote_how state_at(const struct sim_world *w, const struct remote *o, int64_t at_sim_ns,
				struct sim_world_object *ret)
{
	struct motion_real m;
	enum remote_how how = remote_at(o, w->history, at_sim_ns, w->guess_dur_ns, &m);

	host_object(w, o, &m, how, ret);
	return how;
}

int sim_world_find(struct sim_world *w, uint64_t id, int64_t at_sim_ns, struct sim_world_object *ret, void *body,
		   size_t *body_size)
{
	size_t room = body && body_size ? *body_size : 0;
	const struct remote *o;
	int r = 0;

	lock(w);
	o = remotes_find(side_remotes(w->side), side_id(w->side, id));
	if (!o)
		return unlock(w, err_set(-ENOENT, "object %llu is not seen", (unsigned long long)id));
	(void)state_at(w, o, at_sim_ns, ret);
	if (body && ret->body_size <= room && ret->body)
		memcpy(body, ret->body, ret->body_size);
	else if (body && ret->body_size > room)
		r = err_set(-ENOBUFS, "the body of object %llu has %zu bytes", (unsigned long long)id, ret->body_size);
	if (body_size)
		*body_size = ret->body_size;
	ret->body = body && r == 0 ? body : NULL;
	return unlock(w, r);
}

int sim_world_each(struct sim_world *w, int64_t at_sim_ns, bool (*fn)(void *user, const struct sim_world_object *o),
		   void *user)
{
	const struct remote *o;
	struct sim_world_object s;
	bool go_on = true;
	size_t at = 0;
	int n = 0;

	lock(w);
	while (go_on && (o = remotes_next(side_remotes(w->side), &at))) {
		if (o->owner == side_connection(w->side))
			continue;
		(void)state_at(w, o, at_sim_ns, &s);
		go_on = fn(user, &s);
		n++;
	}
	return unlock(w, n);
}

int sim_world_each_type(struct sim_world *w, bool (*fn)(void *user, const struct sim_world_type *t), void *user)
{
	struct side_type t;
	bool go_on = true;
	int n = 0;

	lock(w);
	while (go_on && side_type(w->side, (size_t)n, &t)) {
		go_on = fn(user, &(struct sim_world_type){ t.code, t.name, t.proto });
		n++;
	}
	return unlock(w, n);
}

int sim_world_look(struct sim_world *w, const double (*places)[3], unsigned n, double radius)
{
	int r;

	lock(w);
	r = side_interest(w->side, places, n, radius);
	host_flush(w);
	return unlock(w, r);
}

/* ---- messages and ownership ---- */

int sim_world_note(struct sim_world *w, uint64_t from, uint64_t to, bool all, const void *payload, size_t size)
{
	int r;

	lock(w);
	r = side_note(w->side, from, to, all, side_tick(w->side)->time_sim_ns, payload, size);
	host_flush(w);
	return unlock(w, r);
}

int sim_world_ask(struct sim_world *w, uint64_t id)
{
	int r;

	lock(w);
	r = side_ownership(w->side, id, false, 0, false);
	host_flush(w);
	return unlock(w, r);
}

int sim_world_give(struct sim_world *w, uint64_t id, uint32_t connection, bool refuse)
{
	int r;

	lock(w);
	r = side_ownership(w->side, id, true, connection, refuse);
	host_flush(w);
	return unlock(w, r);
}

/* ---- state ---- */

void sim_world_get_info(struct sim_world *w, struct sim_world_info *ret)
{
	lock(w);
	*ret = w->info;
	ret->state = w->state;
	ret->connection = side_connection(w->side);
	ret->objects = side_objects(w->side);
	ret->seen = remotes_count(side_remotes(w->side));
	ret->hash = remotes_hash(side_remotes(w->side));
	host_tick(side_tick(w->side), &ret->tick);
	(void)unlock(w, 0);
}

int sim_world_fd(struct sim_world *w)
{
	return w->epoll_fd;
}

int sim_world_process(struct sim_world *w)
{
	int r;

	lock(w);
	if (w->has_thread)
		return unlock(w, err_set(-EBUSY, "this world has a thread of its own: SIM_WORLD_NO_THREAD"));
	if (host_in_callback(w))
		return unlock(w, err_set(-EDEADLK, "a callback of a world cannot process it"));
	r = host_turn(w);
	return unlock(w, r);
}

const char *sim_world_why(void)
{
	return err_why();
}
