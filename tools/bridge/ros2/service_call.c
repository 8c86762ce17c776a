/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and replies. A request goes to the host without waiting, in order of arrival. A provider takes a limited
 * number at a time, and the others wait here for their turn, since ROS has no reply that means "later". A reply waits,
 * off Cyclone's threads, until the client's own reader is matched: if written before, it is lost, and where packets are
 * lost, discovery of a peer takes seconds. Clients of rmw_cyclonedds and of rmw_fastrtps are each answered in their own
 * way.
 *
 * Thread: requests on Cyclone's receive thread, answers on the host's; "ros2-replies" writes replies and gives requests
 * their turn. b->replies.lock guards the queues and the fields of struct ros2_service that say so; it is a leaf, except
 * for Cyclone's internal locks.
 */
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "sertype.h"

#define WAIT_DUR_NS INT64_C(5000000000) /* how long a reply waits for its client's reader, and for others that lag */
#define TURN_DUR_NS INT64_C(5000000000) /* how long a request waits for its turn */
#define LOOK_DUR_NS INT64_C(10000000)   /* how often to look without an event */
#define ACK_DUR_NS  INT64_C(500000000)  /* how long to wait for acknowledgements */
#define LAG_DUR_NS  INT64_C(5000000000) /* how long not to wait for them after that failed */
#define UNACKED_MAX 8u                  /* replies in flight: a ROS reader has room for ten */
#define TAKE_DUR_NS INT64_C(500000000)  /* how long a client has to take its reply before others may push it out */
#define SENT_DUR_NS INT64_C(100000000)  /* how often to look at replies that were sent */
#define TRIES       2u                  /* how often a reply may be sent again */
#define CROWD_DUR_NS \
	INT64_C(20000000) /* least time per UNACKED_MAX replies while at least as many wait: such clients also read slowly */
#define OPEN_MAX     16u /* requests of a service with the host: the default limit of a provider */
#define MATCHED_MAX  256
#define REFUSAL_ROOM 1024
#define PREFIX_SIZE  12

static void request_free(struct ros2_request *q)
{
	service_unref(q->service);
	iov_buf_finish(&q->out);
	free(q->request);
	free(q->body);
	free(q);
}

static void drop(struct ros2_service *s, int r)
{
	struct sim_bridge *b = s->bridge;
	uint64_t n = atomic_fetch_add(&s->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* logs counts 1, 2, 4, 8, ... */
		log_warn(b, "service %s: a request is dropped: %s (%llu so far)", s->name, topics_reason(r),
			 (unsigned long long)n);
}

/* ---- queues, with lock held ---- */

/* Makes the thread look at all queues again. */
static void wake(struct sim_bridge *b)
{
	b->replies.news++;
	pthread_cond_broadcast(&b->replies.changed);
}

static size_t bytes_of(const struct ros2_request *q)
{
	return sizeof(*q) + q->request_size + q->out.total;
}

/* Appends a request that was just removed, for which there is room. */
static void push_again(struct ros2_queue *queue, struct ros2_request *q)
{
	q->next = NULL;
	*(queue->first ? &queue->last->next : &queue->first) = q;
	queue->last = q;
	queue->n++;
	queue->bytes += bytes_of(q);
}

/* false: the queue is full. */
static bool push(struct ros2_queue *queue, struct ros2_request *q)
{
	if (queue->n >= ROS2_REPLIES_MAX || queue->bytes + bytes_of(q) > ROS2_REPLIES_BYTES_MAX)
		return false;
	push_again(queue, q);
	return true;
}

static struct ros2_request *pop(struct ros2_queue *queue)
{
	struct ros2_request *q = queue->first;

	if (!q)
		return NULL;
	queue->first = q->next;
	queue->n--;
	queue->bytes -= bytes_of(q);
	return q;
}

/* ---- replies ---- */

/* Reads "clientid=...;", which a client's reader and writer share. false: no endpoint, or it has none. */
static bool client_id(const dds_builtintopic_endpoint_t *e, char id[128])
{
	id[0] = '\0';
	if (e)
		ros2_qos_user_data(e->qos, "clientid=", id, 128);
	return *id;
}

/*
 * Whether a reply is for this reader: it has that client id, or that GUID; if only the request's writer is known, it is
 * of the same participant.
 */
static bool is_for(const struct ros2_request *q, const dds_builtintopic_endpoint_t *e, const char *name)
{
	char id[128];

	if (!q->of_fastrtps)
		return client_id(e, id) && strcmp(id, name) == 0;
	return e && memcmp(e->key.v, q->to.guid, q->to_reader ? sizeof(q->to.guid) : PREFIX_SIZE) == 0;
}

static bool reader_matched(const struct ros2_request *q, const char *name)
{
	dds_entity_t writer = q->service->writer;
	dds_instance_handle_t readers[MATCHED_MAX];
	int n = dds_get_matched_subscriptions(writer, readers, MATCHED_MAX);
	bool found = false;

	for (int i = 0; i < n && i < MATCHED_MAX && !found; i++) {
		dds_builtintopic_endpoint_t *e = dds_get_matched_subscription_data(writer, readers[i]);

		found = is_for(q, e, name);
		dds_builtintopic_free_endpoint(e);
	}
	return found;
}

enum asker { ASKER_READY, ASKER_NOT_YET, ASKER_GONE };

/* A client without an id cannot be waited for, nor one of a removed service: the reply is written at once. */
static enum asker look_for_asker(const struct ros2_request *q)
{
	dds_entity_t reader = atomic_load(&q->service->reader);
	dds_builtintopic_endpoint_t *e = reader ? dds_get_matched_publication_data(reader, q->asker) : NULL;
	char name[128];
	bool named;

	if (!e)
		return atomic_load(&q->service->reader) ? ASKER_GONE : ASKER_READY;
	named = q->of_fastrtps || client_id(e, name);
	dds_builtintopic_free_endpoint(e);
	return !named || reader_matched(q, name) ? ASKER_READY : ASKER_NOT_YET;
}

static bool crowded(struct sim_bridge *b)
{
	bool yes;

	pthread_mutex_lock(&b->replies.lock);
	yes = b->replies.ready.n + b->replies.waiting.n >= UNACKED_MAX;
	pthread_mutex_unlock(&b->replies.lock);
	return yes;
}

/*
 * Whether another reply may be written. Every reader of the service gets all replies. While a reader waits for one that
 * was lost, later ones fill its history, which in ROS has room for ten, and Fast DDS then drops the late one: so fewer
 * than that are in flight. A reader that does not acknowledge delays the others by 0.5 s out of every 5 s.
 */
static bool may_write(struct ros2_service *s)
{
	int64_t now_mono_ns = mono_now_ns();

	if (s->n_unacked < UNACKED_MAX || s->bridge->replies.stop)
		return true;
	if (now_mono_ns < s->batch_mono_ns + CROWD_DUR_NS && crowded(s->bridge))
		return false;
	if (now_mono_ns >= s->lag_mono_ns && dds_wait_for_acks(s->writer, DDS_MSECS(20)) != 0) {
		if (!s->ack_mono_ns)
			s->ack_mono_ns = now_mono_ns + ACK_DUR_NS;
		if (now_mono_ns < s->ack_mono_ns)
			return false;
		s->lag_mono_ns = now_mono_ns + LAG_DUR_NS;
	}
	s->n_unacked = 0;
	s->ack_mono_ns = 0;
	s->batch_mono_ns = mono_now_ns();
	return true;
}

static void log_again(struct ros2_service *s)
{
	uint64_t n = ++s->n_again;

	if ((n & (n - 1)) == 0) /* logs counts 1, 2, 4, 8, ... */
		log_info(s->bridge,
			 "service %s: a reply is sent again: its client was so slow that others' replies may have pushed it "
			 "out of the client's reader (%llu so far)",
			 s->name, (unsigned long long)n);
}

/* Marks q as being written: the client may receive it and make another request before the write returns. */
static void set_writing(struct sim_bridge *b, struct ros2_request *q)
{
	pthread_mutex_lock(&b->replies.lock);
	b->replies.writing = q;
	q->taken = q->asked_since = false;
	pthread_mutex_unlock(&b->replies.lock);
}

/* false: not now, since a reader lags. */
static bool send_reply(struct ros2_request *q)
{
	struct ros2_service *s = q->service;
	struct sim_bridge *b = s->bridge;
	int r;

	if (!b->replies.stop && (mono_now_ns() < s->write_pause_mono_ns || !may_write(s)))
		return false;
	set_writing(b, q);
	r = q->of_fastrtps ? sertype_write_to(s->writer, s->response_sertype, &q->out, &q->to)
			   : dds_write(s->writer, &q->out);

	if (r == DDS_RETCODE_TIMEOUT && !b->replies.stop && mono_now_ns() < q->until_mono_ns) {
		s->write_pause_mono_ns = mono_now_ns() + LOOK_DUR_NS;
		return false;
	}
	if (r < 0)
		log_warn(b, "service %s: a reply could not be written: %s", s->name, dds_strretcode(r));
	else if (q->tries)
		log_again(s);
	else
		atomic_fetch_add(&b->converted, 1);
	s->n_unacked++;
	q->number = ++s->n_written;
	q->sent_mono_ns = mono_now_ns();
	return true;
}

/*
 * The caller holds the lock. Marks the sent replies that q may push out of their clients' readers. Replies to the same
 * client do not count: a client with that many requests must choose its own depth.
 */
static void note_next(const struct ros2_request *q)
{
	for (struct ros2_request *s = q->service->bridge->replies.sent.first; s; s = s->next)
		if (s->service == q->service && q->number - s->number <= UNACKED_MAX && s->asker != q->asker)
			s->others = true;
}

/*
 * Each client's reader gets the replies to all clients, and acknowledges them before its program has taken any. A
 * program that gets no CPU for a moment while ten others are answered loses its own reply, and its call would hang. So
 * a reply is kept until its client makes another request, or has had half a second before others could push the reply
 * out; else it is sent again. A client with several open calls may make another request after it has lost one of their
 * replies. A client ignores a reply that it does not wait for. Returns false if q is not kept.
 */
static bool keep_sent(struct ros2_request *q)
{
	struct sim_bridge *b = q->service->bridge;
	bool kept;

	pthread_mutex_lock(&b->replies.lock);
	q->in_doubt = q->tries > 0;
	note_next(q);
	kept = q->tries < TRIES && !q->service->gone && push(&b->replies.sent, q);
	b->replies.writing = NULL;
	pthread_mutex_unlock(&b->replies.lock);
	return kept;
}

static int64_t sequence_of(const struct ros2_request *q)
{
	return q->of_fastrtps ? q->to.sequence : q->id.sequence;
}

static void note_next_of(struct ros2_request *sent, const struct ros2_request *q)
{
	if (sent->service != q->service || sent->asker != q->asker)
		return;
	sent->asked_since = true;
	sent->taken = sent->taken || sequence_of(q) == sequence_of(sent) + 1;
}

/*
 * The caller holds the lock. Records that a client has made this request; if it is the next after an earlier one, the
 * client has the reply to that.
 */
static void note_request(const struct ros2_request *q)
{
	const struct ros2_replies *replies = &q->service->bridge->replies;

	if (replies->writing)
		note_next_of(replies->writing, q);
	for (struct ros2_request *sent = replies->sent.first; sent; sent = sent->next)
		note_next_of(sent, q);
}

enum sent { SENT_KEEP, SENT_FREE, SENT_AGAIN };

static enum sent look_at_sent(struct ros2_request *q)
{
	int64_t age_dur_ns = mono_now_ns() - q->sent_mono_ns;

	if (q->taken || (!q->in_doubt && q->asked_since))
		return SENT_FREE;
	if (!q->in_doubt && (!q->others || q->service->n_written - q->number < UNACKED_MAX))
		return age_dur_ns < TAKE_DUR_NS ? SENT_KEEP : SENT_FREE;
	q->in_doubt = true;
	return age_dur_ns < (q->tries ? 2 * TAKE_DUR_NS : TAKE_DUR_NS / 2) ? SENT_KEEP : SENT_AGAIN;
}

/* Called and returns with the lock held. */
static void look_at_all_sent(struct sim_bridge *b)
{
	struct ros2_request *q;

	for (unsigned n = b->replies.sent.n; n && (q = pop(&b->replies.sent)); n--) {
		enum sent what = q->service->gone || b->replies.stop ? SENT_FREE : look_at_sent(q);

		if (what == SENT_KEEP) {
			push_again(&b->replies.sent, q);
		} else if (what == SENT_AGAIN) {
			q->tries++;
			q->until_mono_ns = mono_now_ns() + WAIT_DUR_NS;
			push_again(&b->replies.ready, q);
		} else {
			pthread_mutex_unlock(&b->replies.lock);
			request_free(q);
			pthread_mutex_lock(&b->replies.lock);
		}
	}
}

/* true: q was written, or its client is gone. */
static bool write_reply(struct ros2_request *q)
{
	enum asker asker =
		q->service->bridge->replies.stop || mono_now_ns() >= q->until_mono_ns ? ASKER_READY : look_for_asker(q);

	if (asker == ASKER_NOT_YET || (asker == ASKER_READY && !send_reply(q)))
		return false;
	if (asker == ASKER_GONE || !keep_sent(q))
		request_free(q);
	return true;
}

/* Writes all replies that are ready or have waited long enough. Called and returns with the lock held. */
static void write_replies(struct sim_bridge *b)
{
	struct ros2_request *q;

	for (unsigned n = b->replies.ready.n; n && (q = pop(&b->replies.ready)); n--) {
		bool done;

		pthread_mutex_unlock(&b->replies.lock);
		done = write_reply(q);
		pthread_mutex_lock(&b->replies.lock);
		if (done)
			continue;
		b->replies.writing = NULL;
		push_again(&b->replies.ready, q);
	}
}

static void reply(struct ros2_request *q)
{
	struct sim_bridge *b = q->service->bridge;
	bool full;

	q->until_mono_ns = mono_now_ns() + WAIT_DUR_NS;
	pthread_mutex_lock(&b->replies.lock);
	full = !push(&b->replies.ready, q);
	wake(b);
	pthread_mutex_unlock(&b->replies.lock);
	if (!full)
		return;
	drop(q->service, -EBUSY);
	request_free(q);
}

/* Makes a negative response. If the type cannot carry one, the client gets no reply. */
static int refuse(struct ros2_request *q, const char *why, size_t *ret_size)
{
	free(q->body);
	q->body = aligned_alloc(64, REFUSAL_ROOM);
	return q->body ? rpc_refusal(q->service->response, why, q->body, REFUSAL_ROOM, ret_size) : -ENOMEM;
}

static int keep_response(struct ros2_request *q, const void *response, size_t size)
{
	q->body = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!q->body)
		return -ENOMEM;
	memcpy(q->body, response, size);
	return 0;
}

/* For services about parameters, whose responses can carry a refusal. */
static void log_refused(struct ros2_service *s, const char *why)
{
	uint64_t n = atomic_fetch_add(&s->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* logs counts 1, 2, 4, 8, ... */
		log_warn(s->bridge, "service %s: a request is refused: %s (%llu so far)", s->name, why,
			 (unsigned long long)n);
}

/* Called with the host's result, or when the host will not get the request. */
static void answer(struct ros2_request *q, int result, const char *why, const void *response, size_t size)
{
	struct sim_bridge *b = q->service->bridge;
	bool written = q->service->params != NULL; /* the response is in q->out already */
	int r;

	if (written)
		r = result < 0 ? ros2_params_refuse(q, why) : 0;
	else
		r = result < 0 ? refuse(q, why, &size) : keep_response(q, response, size);
	free(q->request);
	q->request = NULL;
	q->request_size = 0;
	if (result < 0 && written)
		log_refused(q->service, why);
	else if (result < 0)
		log_at(b, r < 0 ? 1 : 2, "service %s: %s%s", q->service->name, why,
		       r < 0 ? "; its type cannot carry an error, so the client gets no reply" : "");
	if (r == 0 && !written)
		r = rpc_write_response(q->service->response, q->of_fastrtps ? NULL : &q->id, q->body, size, &q->out);
	if (r < 0 && result == 0)
		drop(q->service, r);
	if (r < 0)
		request_free(q);
	else
		reply(q);
}

/* ---- turns ---- */

#define TOO_MANY "too many requests are unanswered"

static void refuse_late(struct ros2_request *q)
{
	if (atomic_load(&q->service->reader))
		answer(q, -EBUSY, TOO_MANY, NULL, 0);
	else
		answer(q, -EPIPE, "the service was removed", NULL, 0);
}

/* The caller holds the lock. false: too many requests wait already. */
static bool wait_for_turn(struct ros2_request *q)
{
	if (!push(&q->service->bridge->replies.waiting, q))
		return false;
	q->service->n_waiting++;
	return true;
}

/*
 * Called by the host, for which the request no longer counts. If the provider was busy, the request waits for another
 * turn, after a pause.
 */
static void on_answer(void *user, int result, const char *why, const void *response, size_t size)
{
	struct ros2_request *q = user;
	struct ros2_service *s = q->service;
	struct sim_bridge *b = s->bridge;
	bool again = false;

	pthread_mutex_lock(&b->replies.lock);
	s->n_open--;
	if (result == -EBUSY && !s->gone && mono_now_ns() < q->until_mono_ns) {
		again = wait_for_turn(q);
		s->pause_mono_ns = mono_now_ns() + LOOK_DUR_NS;
	}
	wake(b);
	pthread_mutex_unlock(&b->replies.lock);
	if (!again)
		answer(q, result, result == -EBUSY ? TOO_MANY : why, response, size);
}

void service_answered(struct ros2_request *q, int result, const char *why)
{
	on_answer(q, result, why, NULL, 0);
}

/* q is already counted in n_open. The caller must not hold the lock: the answer may come at once. */
static void ask_host(struct ros2_request *q)
{
	struct ros2_service *s = q->service;
	struct sim_bridge *b = s->bridge;
	int r;

	if (s->params) {
		ros2_params_take(q);
		return;
	}
	r = b->host->call(b->host->ctx, s->simd, s->type, q->request, q->request_size, 0, on_answer, q);
	if (r < 0)
		on_answer(q, r, strerror(-r), NULL, 0);
}

static bool may_ask(const struct ros2_service *s)
{
	return s->n_open < (s->params ? 1 : OPEN_MAX) && mono_now_ns() >= s->pause_mono_ns;
}

/* Called and returns with the lock held. true: q was passed on or refused, and may be freed already. */
static bool turn(struct ros2_request *q)
{
	struct ros2_service *s = q->service;
	struct sim_bridge *b = s->bridge;
	bool late = s->gone || b->replies.stop || mono_now_ns() >= q->until_mono_ns;

	if (!late && !may_ask(s))
		return false;
	s->n_waiting--;
	s->n_open += !late;
	s->calling = !late; /* while set, service_calls_end() waits, so s stays valid */
	pthread_mutex_unlock(&b->replies.lock);
	if (late)
		refuse_late(q);
	else
		ask_host(q);
	pthread_mutex_lock(&b->replies.lock);
	if (!late) {
		s->calling = false;
		wake(b);
	}
	return true;
}

/* Gives each waiting request its turn, in order. Called and returns with the lock held. */
static void take_turns(struct sim_bridge *b)
{
	struct ros2_request *q;

	for (unsigned n = b->replies.waiting.n; n && (q = pop(&b->replies.waiting)); n--)
		if (!turn(q))
			push_again(&b->replies.waiting, q);
}

static void wait_for_news(struct sim_bridge *b, int64_t dur_ns)
{
	int64_t due_mono_ns = mono_now_ns() + dur_ns;
	struct timespec t = { .tv_sec = due_mono_ns / 1000000000, .tv_nsec = due_mono_ns % 1000000000 };

	pthread_cond_timedwait(&b->replies.changed, &b->replies.lock, &t);
}

static void *replies_main(void *arg)
{
	struct sim_bridge *b = arg;

	prctl(PR_SET_NAME, "ros2-replies");
	pthread_mutex_lock(&b->replies.lock);
	while (!b->replies.stop || b->replies.ready.n || b->replies.waiting.n || b->replies.sent.n) {
		unsigned news = b->replies.news;

		take_turns(b);
		look_at_all_sent(b);
		write_replies(b);
		if (b->replies.stop || b->replies.news != news)
			continue;
		if (b->replies.ready.n || b->replies.waiting.n)
			wait_for_news(b, LOOK_DUR_NS);
		else if (b->replies.sent.n)
			wait_for_news(b, SENT_DUR_NS);
		else
			pthread_cond_wait(&b->replies.changed, &b->replies.lock);
	}
	pthread_mutex_unlock(&b->replies.lock);
	return NULL;
}

/*
 * Removes the service's sent replies from the queue. The service's endpoints are deleted with the last of them. The
 * caller holds the lock, and frees each result with request_free() after it.
 */
static struct ros2_request *take_sent_of(const struct ros2_service *s)
{
	struct ros2_queue *sent = &s->bridge->replies.sent;
	struct ros2_request *q, *list = NULL;

	for (unsigned n = sent->n; n && (q = pop(sent)); n--) {
		if (q->service != s) {
			push_again(sent, q);
			continue;
		}
		q->next = list;
		list = q;
	}
	return list;
}

void service_calls_end(struct ros2_service *s)
{
	struct sim_bridge *b = s->bridge;
	struct ros2_request *sent;

	pthread_mutex_lock(&b->replies.lock);
	s->gone = true;
	wake(b);
	while (s->calling)
		pthread_cond_wait(&b->replies.changed, &b->replies.lock);
	sent = take_sent_of(s);
	pthread_mutex_unlock(&b->replies.lock);
	while (sent) {
		struct ros2_request *q = sent;

		sent = q->next;
		request_free(q);
	}
}

/* ---- requests ---- */

/* Passes a new request to the host, or queues it. */
static void call(struct ros2_request *q)
{
	struct ros2_service *s = q->service;
	struct sim_bridge *b = s->bridge;
	bool now, waits = false;

	pthread_mutex_lock(&b->replies.lock);
	note_request(q);
	now = !s->n_waiting && may_ask(s);
	if (now)
		s->n_open++;
	else
		waits = wait_for_turn(q);
	if (waits)
		wake(b);
	pthread_mutex_unlock(&b->replies.lock);
	if (now)
		ask_host(q);
	else if (!waits)
		answer(q, -EBUSY, TOO_MANY, NULL, 0);
}

/*
 * Determines who made the request. Fast DDS clients are identified by inline QoS or by their writer, all others in the
 * message.
 */
static void find_asker(struct ros2_request *q, const struct rtps_origin *o)
{
	static const uint8_t nobody[sizeof(o->related.guid)];

	if (!o || (!o->has_related && o->vendor != RTPS_VENDOR_EPROSIMA))
		return;
	q->of_fastrtps = true;
	q->to = o->own;
	q->to_reader = o->has_related && memcmp(o->related.guid, nobody, sizeof(nobody)) != 0;
	if (q->to_reader)
		memcpy(q->to.guid, o->related.guid, sizeof(q->to.guid));
}

static int keep_request(struct ros2_request *q, size_t size)
{
	q->request = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!q->request)
		return -ENOMEM;
	memcpy(q->request, q->service->body, size);
	q->request_size = size;
	return 0;
}

static int read_request(struct ros2_request *q, const struct endpoint_sample *sample)
{
	struct ros2_service *s = q->service;
	size_t size = 0;
	int r = -EMSGSIZE;

	if (s->params)
		return ros2_params_keep(q, sample);
	if (sample->len)
		r = rpc_read_request(s->type->request, sample->bytes, sample->len, q->of_fastrtps ? NULL : &q->id,
				     s->body, SIM_SERVICE_BODY_MAX, &size);
	return r < 0 ? r : keep_request(q, size);
}

static void take_in(void *arg, const struct endpoint_sample *sample)
{
	struct ros2_request *q = calloc(1, sizeof(*q));
	struct ros2_service *s = arg;
	int r;

	if (!q) {
		drop(s, -ENOMEM);
		return;
	}
	service_ref(s);
	q->service = s;
	q->asker = sample->info->publication_handle;
	q->until_mono_ns = mono_now_ns() + TURN_DUR_NS;
	iov_buf_init(&q->out);
	find_asker(q, sertype_origin(sample->data));
	r = read_request(q, sample);
	if (r == 0) {
		call(q);
		return;
	}
	drop(s, r);
	request_free(q);
}

void service_on_data(dds_entity_t reader, void *arg)
{
	endpoint_take(reader, take_in, arg);
}

void service_on_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	struct ros2_service *s = arg;

	(void)writer;
	(void)status;
	pthread_mutex_lock(&s->bridge->replies.lock);
	wake(s->bridge);
	pthread_mutex_unlock(&s->bridge->replies.lock);
}

/* ---- the thread ---- */

int service_calls_open(struct sim_bridge *b)
{
	pthread_condattr_t attr;
	int r;

	pthread_mutex_init(&b->replies.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->replies.changed, &attr);
	pthread_condattr_destroy(&attr);
	r = -pthread_create(&b->replies.thread, NULL, replies_main, b);
	b->replies.running = r == 0;
	return r;
}

void service_calls_close(struct sim_bridge *b)
{
	pthread_mutex_lock(&b->replies.lock);
	b->replies.stop = true;
	wake(b);
	pthread_mutex_unlock(&b->replies.lock);
	pthread_join(b->replies.thread, NULL);
	pthread_cond_destroy(&b->replies.changed);
	pthread_mutex_destroy(&b->replies.lock);
}
