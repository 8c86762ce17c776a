/* SPDX-License-Identifier: Apache-2.0 */
/* See watch.h. */
#include "watch.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <sim/msg/Image.h>
#include <sim/sim.h>

#include "ros1_arena.h"

#define READ_SIZE (256u << 10)
#define TEXT_SIZE (256u << 10)

/* ---- the bridge ---- */

/* NULL: it cannot be asked. */
static json_t *list_bridges(struct bench *b)
{
	char *text = NULL;
	json_t *reply;

	if (bench_call(b, "io.simd.Control.ListBridges", "{}", &text) < 0)
		return NULL;
	reply = json_loads(text, 0, NULL);
	free(text);
	return reply;
}

static bool find_bridge(struct bench *b, pid_t *ret_pid, unsigned *ret_port)
{
	json_t *reply = list_bridges(b), *one;
	bool found = false;
	size_t i;

	json_array_foreach(json_object_get(reply, "bridges"), i, one) {
		const char *name = json_string_value(json_object_get(one, "name")),
			   *detail = json_string_value(json_object_get(one, "detail"));

		if (name && detail && strcmp(name, "foxglove") == 0)
			found = sscanf(detail, "http://127.0.0.1:%u/", ret_port) == 1;
		if (found)
			*ret_pid = (pid_t)json_integer_value(json_object_get(one, "pid"));
		if (found)
			break;
	}
	json_decref(reply);
	return found;
}

int watch_bridge(struct bench *b, pid_t *ret_pid, unsigned *ret_port)
{
	BENCH_UNTIL(20, find_bridge(b, ret_pid, ret_port));
	return *ret_pid > 0 ? 0 : -EIO;
}

int watch_pin(struct bench *b)
{
	json_t *reply = list_bridges(b), *one;
	size_t i;

	json_array_foreach(json_object_get(reply, "bridges"), i, one)
		bench_pin_process((pid_t)json_integer_value(json_object_get(one, "pid")), 1);
	json_decref(reply);
	bench_pin_process(b->simd_pid, 0);
	return reply ? 0 : -EIO;
}

/* ---- a client ---- */

static int say(struct watcher *w, unsigned opcode, const void *data, size_t n)
{
	uint8_t frame[1024] = { (uint8_t)(0x80 | opcode) };
	size_t len = n < 126 ? 2 : 4;

	if (n > sizeof(frame) - 8)
		return -EIO;
	frame[1] = (uint8_t)(0x80 | (n < 126 ? n : 126));
	frame[2] = (uint8_t)(n >> 8);
	frame[3] = (uint8_t)n;
	memset(frame + len, 0, 4); /* a mask */
	memcpy(frame + len + 4, data, n);
	n += len + 4;
	return send(w->fd, frame, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -EIO;
}

/* The answer, byte by byte: later bytes are not part of it. */
static bool is_upgraded(int fd)
{
	char text[2048] = "";
	size_t n = 0;

	while (n < sizeof(text) - 1 && (n < 4 || memcmp(text + n - 4, "\r\n\r\n", 4) != 0)) {
		if (recv(fd, text + n, 1, 0) != 1)
			return false;
		n++;
	}
	return strncmp(text, "HTTP/1.1 101", 12) == 0;
}

int watcher_open(struct watcher *w, unsigned port, const char *protocol, const char *prefix)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
			 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s%s%s\r\n",
			 port, *protocol ? "Sec-WebSocket-Protocol: " : "", protocol, *protocol ? "\r\n" : "");

	*w = (struct watcher){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .prefix = prefix };
	w->buf = calloc(1, READ_SIZE);
	w->text = calloc(1, TEXT_SIZE);
	if (w->fd >= 0 && w->buf && w->text && connect(w->fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    send(w->fd, text, (size_t)n, MSG_NOSIGNAL) == n && is_upgraded(w->fd))
		return 0;
	fprintf(stderr, "bench: 127.0.0.1:%u takes no client\n", port);
	return -EIO;
}

bool watcher_has(const struct watcher *w)
{
	return w->at < w->n;
}

static int more(struct watcher *w)
{
	ssize_t n = recv(w->fd, w->buf, READ_SIZE, 0);

	w->at = 0;
	w->n = n > 0 ? (size_t)n : 0;
	return n > 0 ? 0 : -EIO;
}

static int next_byte(struct watcher *w, uint8_t *ret)
{
	if (!watcher_has(w) && more(w) < 0)
		return -EIO;
	*ret = w->buf[w->at++];
	return 0;
}

static int take_head(struct watcher *w)
{
	uint8_t first, len, byte;

	if (next_byte(w, &first) < 0 || next_byte(w, &len) < 0)
		return -EIO;
	w->final = first & 0x80;
	w->opcode = first & 0x0f;
	w->left = len;
	if (len >= 126)
		w->left = 0;
	for (int i = len == 126 ? 2 : len == 127 ? 8 : 0; i > 0; i--) {
		if (next_byte(w, &byte) < 0)
			return -EIO;
		w->left = w->left << 8 | byte;
	}
	if (w->opcode == 1 || w->opcode == 2) {
		w->message = w->opcode;
		w->taken = 0;
	}
	return 0;
}

static int take_payload(struct watcher *w)
{
	while (w->left) {
		size_t n = w->n - w->at < w->left ? w->n - w->at : w->left;

		if (w->message == 1 && w->opcode < 8 && w->taken + n < TEXT_SIZE)
			memcpy(w->text + w->taken, w->buf + w->at, n);
		if (w->opcode < 8)
			w->taken += n;
		else
			w->control = w->buf[w->at];
		w->at += n;
		w->left -= n;
		if (w->left && more(w) < 0)
			return -EIO;
	}
	return 0;
}

/* A ping behind them: when its answer is there, so are all with a number up to its own. Of several that come at once, not all are answered. */
static int ask(struct watcher *w)
{
	uint8_t number = (uint8_t)w->asked;

	return say(w, 9, &number, 1);
}

static int subscribe(struct watcher *w, json_t *channel)
{
	const char *topic = json_string_value(json_object_get(channel, "topic"));
	char text[128];
	int n;

	if (!w->prefix || !topic || strncmp(topic, w->prefix, strlen(w->prefix)) != 0)
		return 0;
	n = snprintf(text, sizeof(text), "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%u,\"channelId\":%lld}]}",
		     ++w->asked, (long long)json_integer_value(json_object_get(channel, "id")));
	return say(w, 1, text, (size_t)n) < 0 ? -EIO : ask(w);
}

static int on_text(struct watcher *w)
{
	json_t *j = w->taken < TEXT_SIZE ? json_loadb((const char *)w->text, w->taken, 0, NULL) : NULL, *one;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(j, "channels"), i, one)
		r = r < 0 ? r : subscribe(w, one);
	json_decref(j);
	return r;
}

/* From the server: a whole ping would have to be answered; a client that reads gets none. */
static int on_control(struct watcher *w)
{
	if (w->opcode == 8)
		return -EIO;
	if (w->opcode == 10)
		w->subscribed = w->control;
	return w->opcode == 10 && w->subscribed < w->asked ? ask(w) : 0;
}

int watcher_take(struct watcher *w, size_t *ret_size)
{
	for (;;) {
		int r = take_head(w);

		if (r == 0)
			r = take_payload(w);
		if (r == 0 && w->opcode >= 8) {
			r = on_control(w);
			if (r < 0 || w->opcode == 10)
				return r;
			continue;
		}
		if (r == 0 && w->final && w->message == 1)
			r = on_text(w);
		if (r < 0)
			return r;
		if (w->final && w->message == 2)
			break;
	}
	*ret_size = w->taken;
	return 1;
}

int watcher_await(struct watcher *w, unsigned subscribed)
{
	size_t size;
	int r = 0;

	while (r >= 0 && w->subscribed < subscribed)
		r = watcher_take(w, &size);
	return r < 0 ? r : 0;
}

/* ---- something to look at ---- */

struct load {
	struct watch_load *l;
	struct sim_publisher *image[WATCH_IMAGES], *small[WATCH_SMALL];
};

/* Of what the slot held before. */
static int send_image(struct sim_publisher *p)
{
	struct sim_Image *m;
	struct sim_builder b;
	struct sim_slot *s;
	int r = sim_loan(p, sim_Image_size(4, ROS1_DATA_6), &s);

	if (r < 0)
		return r;
	m = sim_Image_init(sim_slot_body_mut(s), s->body_size, &b);
	m->width = ROS1_WIDTH;
	m->height = ROS1_HEIGHT_6;
	m->step = ROS1_WIDTH * 3;
	r = sim_Image_encoding_set(&b, "rgb8");
	if (r < 0 || !sim_Image_data_alloc(&b, ROS1_DATA_6))
		return -EINVAL;
	return sim_try_queue(p, s, NULL, NULL, NULL);
}

static void count(struct watch_load *l, int r)
{
	if (r >= 0)
		atomic_fetch_add(&l->sent, 1);
}

static void await_bridges(const struct sim_publisher *p, unsigned n)
{
	bench_await_bridge(p);
	if (!HOLDS_WITHIN(20000, sim_publisher_bridges(p).connected >= n))
		fprintf(stderr, "bench: not all bridges are connected\n");
}

static int advertise(struct load *x, struct sim_client *c)
{
	struct sim_publisher_options po = { .size = sizeof(po),
					    .max_body = sim_Image_size(4, ROS1_DATA_6),
					    .frame_id = "camera" };
	char name[32];

	for (unsigned i = 0; i < x->l->images; i++) {
		snprintf(name, sizeof(name), "/watch/image%u", i);
		if (sim_advertise(c, name, &sim_Image_type, &po, &x->image[i]) < 0)
			return -EIO;
		await_bridges(x->image[i], x->l->bridges);
	}
	for (unsigned i = 0; i < WATCH_SMALL; i++) {
		snprintf(name, sizeof(name), "/watch/small%u", i);
		x->small[i] = bench_advertise(c, name, 64, 0);
		await_bridges(x->small[i], x->l->bridges);
	}
	return 0;
}

static int load_main(void *arg)
{
	struct load x = { .l = arg };
	struct sim_client *c = bench_connect(x.l->b, "look");
	int64_t next;

	if (advertise(&x, c) < 0) {
		fprintf(stderr, "bench: something to look at: %s\n", sim_why());
		atomic_store(&x.l->failed, true);
		return 1;
	}
	bench_pin(0);
	atomic_store(&x.l->running, true);
	next = mono_now_ns();
	for (unsigned tick = 0; !atomic_load(&x.l->stop); tick++) {
		for (unsigned i = 0; i < WATCH_SMALL; i++)
			count(x.l, bench_queue(x.small[i], 64, NULL, NULL, NULL));
		if (tick % 10 < x.l->images) /* one after the other */
			count(x.l, send_image(x.image[tick % 10]));
		next += WATCH_PERIOD;
		mono_sleep_until(next);
	}
	sim_disconnect(c);
	return 0;
}

int watch_load_start(struct watch_load *l)
{
	l->pid = bench_fork(load_main, l);
	BENCH_UNTIL(60, atomic_load(&l->running) || atomic_load(&l->failed));
	return atomic_load(&l->failed) ? -EIO : watch_pin(l->b);
}

int watch_load_stop(struct watch_load *l)
{
	atomic_store(&l->stop, true);
	return bench_wait(l->pid) ? -EIO : 0;
}
