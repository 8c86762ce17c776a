/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: saves the next message of a channel as a picture, a cloud or JSON. Never overwrites a file. Thread: main.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sim/introspect.h>
#include <sim/msg/CompressedImage.h>

#include "picture.h"
#include "simctl.h"
#include "timeutil.h"

#define PIXELS       1000
#define SLICE_DUR_NS (50 * NS_PER_MS)

struct snapshot {
	struct ctl *c;
	const struct sim_type *type;
	const struct sim_message *m;
	FILE *f;
	char path[4096], why[PICTURE_WHY];
};

/* ---- files ---- */

static const char *ending_of(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;

	return dot && !strchr(dot, '/') ? dot + 1 : "";
}

/* Creates the file of -o, or one named after the channel with that suffix. Returns 0, or 1 after printing why. */
static int open_file(struct snapshot *s, const char *ending)
{
	const char *channel = s->c->a.channel;

	snprintf(s->path, sizeof(s->path), "%s", s->c->a.out ? s->c->a.out : channel + (*channel == '/'));
	if (!s->c->a.out) {
		for (char *at = s->path; *at; at++)
			*at = *at == '/' ? '_' : *at;
		snprintf(s->path + strlen(s->path), sizeof(s->path) - strlen(s->path), ".%s", ending);
	}
	s->f = fopen(s->path, "wxe");
	if (s->f)
		return 0;
	fprintf(stderr, "simctl: %s: %s%s\n", s->path, strerror(errno),
		errno == EEXIST ? "; remove it, or give another one with -o" : "");
	return 1;
}

/* Deletes the file if it is incomplete. */
static int close_file(struct snapshot *s, int r)
{
	if (fclose(s->f) && r == 0) {
		snprintf(s->why, sizeof(s->why), "%s", strerror(errno));
		r = -EIO;
	}
	s->f = NULL;
	if (r == 0)
		return 0;
	fprintf(stderr, "simctl: %s: %s\n", s->c->a.channel, *s->why ? s->why : strerror(-r));
	(void)unlink(s->path);
	return 1;
}

static void tell(const struct snapshot *s, const char *what)
{
	char stamp[STAMP_FORMAT_MAX];

	printf("%s: %s at %s s\n", s->path, what, stamp_format(s->m->header.stamp_sim_ns, stamp));
}

/* ---- one function per kind of file: 0, or 1 after printing why ---- */

static int put_picture(struct snapshot *s, struct picture *p, int r, const char *what)
{
	if (r == 0 && open_file(s, "png") == 0) {
		r = close_file(s, picture_write_png(p, s->f));
		if (r == 0)
			tell(s, what);
	} else {
		if (r < 0)
			fprintf(stderr, "simctl: %s: %s\n", s->c->a.channel, s->why);
		r = 1;
	}
	picture_finish(p);
	return r;
}

static int put_image(struct snapshot *s)
{
	const struct sim_Image *m = s->m->body;
	char what[200];
	struct picture p;
	int r = picture_of_image(m, s->m->body_size, s->why, &p), n;

	n = snprintf(what, sizeof(what), "%u x %u, %.40s", m->width, m->height,
		     r == 0 ? sim_Image_encoding(m, s->m->body_size) : "");
	if (r == 0 && p.coloured)
		snprintf(what + n, sizeof(what) - (size_t)n, ", red %.3f m to blue %.3f m", p.least, p.most);
	return put_picture(s, &p, r, what);
}

static int put_cloud_picture(struct snapshot *s)
{
	const struct sim_PointCloud *m = s->m->body;
	char what[200];
	struct picture p;
	double metres = 0;
	int r = picture_of_cloud(m, s->m->body_size, PIXELS, s->c->a.metres, s->why, &p, &metres);

	snprintf(what, sizeof(what),
		 "%llu points from above, x up, %.1f m to the edge, z from %.2f m (blue) to %.2f m (red),",
		 (unsigned long long)m->width * m->height, metres, p.least, p.most);
	return put_picture(s, &p, r, what);
}

static int put_pcd(struct snapshot *s)
{
	char what[100];
	const struct sim_PointCloud *m = s->m->body;

	if (open_file(s, "pcd") || close_file(s, cloud_write_pcd(m, s->m->body_size, s->why, s->f)))
		return 1;
	snprintf(what, sizeof(what), "%llu points", (unsigned long long)m->width * m->height);
	tell(s, what);
	return 0;
}

static int put_encoded(struct snapshot *s)
{
	const struct sim_CompressedImage *m = s->m->body;
	const char *format = sim_CompressedImage_format(m, s->m->body_size);
	char what[100];
	uint32_t n = 0;
	const uint8_t *data = sim_CompressedImage_data(m, s->m->body_size, &n);

	if (open_file(s, format && strstr(format, "png") ? "png" : "jpg"))
		return 1;
	if (close_file(s, fwrite(data, 1, n, s->f) == n ? 0 : -EIO))
		return 1;
	snprintf(what, sizeof(what), "%u x %u as it came, %u bytes,", m->width, m->height, n);
	tell(s, what);
	return 0;
}

static int put_json(struct snapshot *s)
{
	const struct sim_json_options o = { .pretty = true };
	int r;

	if (open_file(s, "json"))
		return 1;
	r = sim_msg_to_json(s->type, s->m->body, s->m->body_size, &o, json_to_file, s->f);
	fputc('\n', s->f);
	if (r < 0)
		snprintf(s->why, sizeof(s->why), "%s", sim_why());
	if (close_file(s, r))
		return 1;
	tell(s, s->type->name);
	return 0;
}

/* Chooses by the suffix of -o, and by what can be made of the message's type. */
static int put(struct snapshot *s)
{
	const char *asked = s->c->a.out ? ending_of(s->c->a.out) : "";
	const bool cloud = sim_type_equal(s->type, &sim_PointCloud_type);

	if (!strcmp(asked, "json"))
		return put_json(s);
	if (cloud && !strcmp(asked, "pcd"))
		return put_pcd(s);
	if (cloud && (!*asked || !strcmp(asked, "png")))
		return put_cloud_picture(s) || (!s->c->a.out && put_pcd(s));
	if (sim_type_equal(s->type, &sim_CompressedImage_type))
		return put_encoded(s);
	if (sim_type_equal(s->type, &sim_Image_type) && (!*asked || !strcmp(asked, "png")))
		return put_image(s);
	if (!*asked)
		return put_json(s);
	fprintf(stderr,
		"simctl: %s: a %s cannot be saved as .%s: .json takes all types, .png images and clouds, .pcd clouds\n",
		s->path[0] ? s->path : s->c->a.out, s->type->name, asked);
	return 1;
}

/* ---- the command ---- */

/* The next message, or the one that the channel keeps (latched). NULL: none came in time. */
static const struct sim_message *next(const struct ctl *c, struct sim_subscriber *s)
{
	const int64_t end = mono_now_ns() + (c->a.timeout_dur_ns ? c->a.timeout_dur_ns : 10 * NS_PER_S);
	const struct sim_message *m = NULL;

	while (!simctl_stop && sim_take(s, &m) != 0) {
		const int64_t left = end - mono_now_ns();

		if (left <= 0) {
			fprintf(stderr, "simctl: no message came on %s within the time-out\n", c->a.channel);
			return NULL;
		}
		if (sim_wait(s, left < SLICE_DUR_NS ? left : SLICE_DUR_NS) < 0)
			return ctl_fail(c->a.channel), NULL;
	}
	return m;
}

int cmd_snapshot(struct ctl *c)
{
	const struct sim_subscriber_options o = { .size = sizeof(o), .depth = 1, .flags = SIM_SUB_LATCHED };
	struct snapshot s = { .c = c };
	struct sim_subscriber *sub = NULL;
	int r = 1;

	if (sim_channel_type(c->client, c->a.channel, &s.type) < 0 ||
	    sim_subscribe(c->client, c->a.channel, s.type, &o, &sub) < 0)
		ctl_fail(NULL);
	else if ((s.m = next(c, sub)))
		r = put(&s);
	if (s.m)
		sim_release(sub, s.m);
	sim_subscriber_destroy(sub);
	sim_type_unref(s.type);
	return r;
}
