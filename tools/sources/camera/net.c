/* SPDX-License-Identifier: Apache-2.0 */
/* See net.h. */
#include "net.h"

#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "number.h"

#define CHUNK         16384
#define WIDTH_DEFAULT 3.2 /* SUMO's SUMO_const_laneWidth */
#define WIDTH_MAX     100.0
#define COORD_MAX     1e8 /* m: precision of floats is too low beyond */

enum edge_function { NORMAL, INTERNAL, CROSSING, WALKING };

struct edge {
	char from[NET_ID_MAX], to[NET_ID_MAX];
	uint32_t first; /* index of its first lane in the shapes */
	uint32_t n;
};

struct junction {
	char id[NET_ID_MAX];
	bool lights, stops;
};

struct reading {
	XML_Parser parser;
	const char *name;
	struct net net;
	struct edge *edges;
	struct junction *junctions;
	size_t n_edges, n_junctions, edges_cap, junctions_cap, shapes_cap, points_cap;
	enum edge_function function; /* of the open edge */
	bool in_edge;                /* an edge is open */
	unsigned depth;
	double projected[4]; /* origBoundary */
	bool located;
	int r; /* negative errno that ended parsing; 0: none */
};

/* ---- helpers ---- */

static const char *attribute(const char **all, const char *name)
{
	for (; *all; all += 2) {
		if (strcmp(all[0], name) == 0)
			return all[1];
	}
	return NULL;
}

static void end(struct reading *d, int r)
{
	if (d->r == 0)
		d->r = r;
	XML_StopParser(d->parser, XML_FALSE);
}

static unsigned long line_of(const struct reading *d)
{
	return (unsigned long)XML_GetCurrentLineNumber(d->parser);
}

/* Room for one more element of `each` bytes. */
static bool more(struct reading *d, void **p, size_t n, size_t *cap, size_t each)
{
	size_t to = *cap ? *cap * 2 : 256;
	void *q;

	if (n < *cap)
		return true;
	q = realloc(*p, to * each);
	if (!q) {
		end(d, err_set(-ENOMEM, "%s: no memory for the network", d->name));
		return false;
	}
	*p = q;
	*cap = to;
	return true;
}

/* Parses a number, and advances *at. False: NaN, infinite or out of range. */
static bool number(const char **at, double *ret)
{
	*at += strspn(*at, " ");
	return number_take_f64(at, ret) == 0 && fabs(*ret) <= COORD_MAX;
}

/* Parses "x,y" or "x,y,z" and following blanks. */
static bool point(const char **at, double ret[3])
{
	ret[2] = 0;
	if (!number(at, &ret[0]) || *(*at)++ != ',' || !number(at, &ret[1]))
		return false;
	if (**at == ',' && (++*at, !number(at, &ret[2])))
		return false;
	if (**at != ' ' && **at != '\0')
		return false;
	while (**at == ' ')
		++*at;
	return true;
}

/* ---- shapes ---- */

static bool add_point(struct reading *d, const double p[3])
{
	struct net *n = &d->net;

	if (n->n_points >= NET_POINTS_MAX) {
		end(d,
		    err_set(-E2BIG, "%s:%lu: more than %u points in all shapes", d->name, line_of(d), NET_POINTS_MAX));
		return false;
	}
	if (!more(d, (void **)&n->points, n->n_points, &d->points_cap, 3 * sizeof(double)))
		return false;
	memcpy(&n->points[3 * n->n_points++], p, 3 * sizeof(double));
	for (int i = 0; i < 2; i++) {
		n->low[i] = fmin(n->low[i], p[i]);
		n->high[i] = fmax(n->high[i], p[i]);
	}
	return true;
}

/* Merges coinciding points. False: parsing was ended, or there are too few points. */
static bool add_points(struct reading *d, const char *text, struct net_shape *s)
{
	double p[3], last[3] = { NAN, NAN, NAN };

	s->first = (uint32_t)d->net.n_points;
	while (*text) {
		if (!point(&text, p)) {
			end(d, err_set(-EINVAL, "%s:%lu: a shape is not a list of x,y or x,y,z", d->name, line_of(d)));
			return false;
		}
		if (s->n >= NET_SHAPE_MAX || (fabs(p[0] - last[0]) < 1e-3 && fabs(p[1] - last[1]) < 1e-3))
			continue;
		if (!add_point(d, p))
			return false;
		memcpy(last, p, sizeof(last));
		s->n++;
	}
	return s->n >= (s->width > 0 ? 2u : 3u);
}

static void add_shape(struct reading *d, struct net_shape s, const char *text)
{
	struct net *n = &d->net;

	if (n->n >= NET_SHAPES_MAX) {
		end(d,
		    err_set(-E2BIG, "%s:%lu: more than %u lanes and junctions", d->name, line_of(d), NET_SHAPES_MAX));
		return;
	}
	if (!text || !more(d, (void **)&n->shapes, n->n, &d->shapes_cap, sizeof(s)))
		return;
	if (add_points(d, text, &s))
		n->shapes[n->n++] = s;
	else if (d->r == 0)
		n->n_points = s.first; /* netconvert writes degenerate shapes, which are not visible */
}

/* ---- elements ---- */

static bool alone(const char *allow, const char *who)
{
	return allow && strcmp(allow, who) == 0;
}

static void on_lane(struct reading *d, const char **all)
{
	const char *width = attribute(all, "width"), *allow = attribute(all, "allow");
	struct net_shape s = { .kind = NET_ROAD, .width = (float)WIDTH_DEFAULT };

	if (!d->in_edge || d->function == INTERNAL)
		return;
	if (width) {
		double w;

		if (!number(&width, &w) || *width || w < 0 || w > WIDTH_MAX) {
			end(d,
			    err_set(-EINVAL, "%s:%lu: the width of a lane is 0 to %g", d->name, line_of(d), WIDTH_MAX));
			return;
		}
		s.width = w > 0 ? (float)w : s.width;
	}
	if (d->function == CROSSING)
		s.kind = NET_CROSSING;
	else if (d->function == WALKING)
		s.kind = NET_CORNER, s.width = 0;
	else if (alone(allow, "pedestrian"))
		s.kind = NET_FOOTWAY;
	else if (alone(allow, "bicycle"))
		s.kind = NET_CYCLEWAY;
	s.edge = (uint32_t)d->n_edges;
	add_shape(d, s, attribute(all, "shape"));
}

static void copy_id(char ret[NET_ID_MAX], const char *id)
{
	snprintf(ret, NET_ID_MAX, "%s", id ? id : "");
}

static void on_edge(struct reading *d, const char **all)
{
	const char *f = attribute(all, "function");
	struct edge *e;

	d->in_edge = true;
	d->function = !f ? NORMAL : !strcmp(f, "crossing") ? CROSSING : !strcmp(f, "walkingarea") ? WALKING : INTERNAL;
	if (f && strcmp(f, "normal") == 0)
		d->function = NORMAL;
	if (!more(d, (void **)&d->edges, d->n_edges, &d->edges_cap, sizeof(*d->edges)))
		return;
	e = &d->edges[d->n_edges];
	copy_id(e->from, attribute(all, "from"));
	copy_id(e->to, attribute(all, "to"));
	e->first = (uint32_t)d->net.n;
}

static void on_junction(struct reading *d, const char **all)
{
	const char *type = attribute(all, "type");
	struct junction *j;

	if (!type || strcmp(type, "internal") == 0)
		return;
	if (!more(d, (void **)&d->junctions, d->n_junctions, &d->junctions_cap, sizeof(*d->junctions)))
		return;
	j = &d->junctions[d->n_junctions++];
	copy_id(j->id, attribute(all, "id"));
	j->lights = strncmp(type, "traffic_light", 13) == 0;
	j->stops = j->lights || strcmp(type, "allway_stop") == 0 || strcmp(type, "priority_stop") == 0;
	add_shape(d, (struct net_shape){ .kind = NET_JUNCTION, .edge = UINT32_MAX }, attribute(all, "shape"));
}

static void on_location(struct reading *d, const char **all)
{
	const char *orig = attribute(all, "origBoundary"), *p = attribute(all, "projParameter");

	if (!orig || !p || *p != '+')
		return; /* "!": not georeferenced */
	for (int i = 0; i < 4; i++) {
		if (!number(&orig, &d->projected[i]) || (i < 3 && *orig++ != ','))
			return;
	}
	d->located = fabs(d->projected[0]) <= 180 && fabs(d->projected[1]) <= 90;
}

static void XMLCALL on_start(void *arg, const char *element, const char **all)
{
	struct reading *d = arg;

	if (d->r < 0)
		return; /* expat may call once more after stopping */
	if (d->depth++ == 0 && strcmp(element, "net") != 0)
		end(d, err_set(-EINVAL, "%s:%lu: <%.40s> instead of <net>: not a network of SUMO", d->name, line_of(d),
			       element));
	else if (strcmp(element, "edge") == 0)
		on_edge(d, all);
	else if (strcmp(element, "lane") == 0)
		on_lane(d, all);
	else if (strcmp(element, "junction") == 0)
		on_junction(d, all);
	else if (strcmp(element, "location") == 0)
		on_location(d, all);
}

static void XMLCALL on_end(void *arg, const char *element)
{
	struct reading *d = arg;

	if (d->r < 0)
		return;
	d->depth--;
	if (strcmp(element, "edge") != 0 || !d->in_edge)
		return;
	d->in_edge = false;
	d->edges[d->n_edges].n = (uint32_t)d->net.n - d->edges[d->n_edges].first;
	d->n_edges++;
}

/* Refused, as entity expansion attacks need a DOCTYPE. */
static void XMLCALL on_doctype(void *arg, const char *name, const char *system, const char *public, int internal)
{
	struct reading *d = arg;

	(void)system, (void)public, (void)internal;
	end(d, err_set(-EINVAL, "%s:%lu: a document type (<!DOCTYPE %.40s>) is not allowed in a network of SUMO",
		       d->name, line_of(d), name));
}

/* ---- after parsing ---- */

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct junction *)a)->id, ((const struct junction *)b)->id);
}

static int by_ends(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	int r = strcmp(x->from, y->from);

	return r ? r : strcmp(x->to, y->to);
}

static void finish(struct reading *d)
{
	if (d->n_junctions)
		qsort(d->junctions, d->n_junctions, sizeof(*d->junctions), by_id);
	if (d->n_edges)
		qsort(d->edges, d->n_edges, sizeof(*d->edges), by_ends);
	for (size_t i = 0; i < d->n_edges; i++) {
		const struct edge *e = &d->edges[i];
		const struct junction *j = NULL;
		struct junction key;
		struct edge back;

		if (!e->from[0] || !e->to[0])
			continue;
		memcpy(key.id, e->to, sizeof(key.id));
		if (d->n_junctions)
			j = bsearch(&key, d->junctions, d->n_junctions, sizeof(*d->junctions), by_id);
		memcpy(back.from, e->to, sizeof(back.from));
		memcpy(back.to, e->from, sizeof(back.to));
		for (uint32_t k = e->first; k < e->first + e->n; k++) {
			d->net.shapes[k].two_way =
				bsearch(&back, d->edges, d->n_edges, sizeof(*d->edges), by_ends) != NULL;
			d->net.shapes[k].signalled = j && j->lights;
			d->net.shapes[k].stops = j && j->stops;
		}
	}
	if (d->located) {
		d->net.longitude = (d->projected[0] + d->projected[2]) / 2;
		d->net.latitude = (d->projected[1] + d->projected[3]) / 2;
	}
}

static int open_reading(struct reading *d, const char *name)
{
	*d = (struct reading){ .name = name,
			       .net = { .low = { INFINITY, INFINITY },
					.high = { -INFINITY, -INFINITY },
					.latitude = NAN,
					.longitude = NAN } };
	d->parser = XML_ParserCreate(NULL);
	if (!d->parser)
		return err_set(-ENOMEM, "%s: no memory for the network", name);
	XML_SetUserData(d->parser, d);
	XML_SetElementHandler(d->parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(d->parser, on_doctype);
	return 0;
}

static int feed(struct reading *d, const void *bytes, size_t size, bool last)
{
	if (XML_Parse(d->parser, bytes, (int)size, last) == XML_STATUS_OK)
		return d->r;
	if (d->r == 0)
		d->r = err_set(-EINVAL, "%s:%lu: %s", d->name, line_of(d),
			       XML_ErrorString(XML_GetErrorCode(d->parser)));
	return d->r;
}

static int close_reading(struct reading *d, int r, struct net *ret)
{
	XML_ParserFree(d->parser);
	if (r == 0 && d->net.n == 0)
		r = err_set(-EINVAL, "%s: no lane and no junction in it has a shape", d->name);
	if (r == 0) {
		finish(d);
		*ret = d->net;
	} else {
		net_free(&d->net);
	}
	free(d->edges);
	free(d->junctions);
	return r;
}

int net_parse(const char *name, const void *bytes, size_t size, struct net *ret)
{
	struct reading d;
	int r = size > NET_BYTES_MAX ? err_set(-E2BIG, "%s: larger than %u bytes", name, NET_BYTES_MAX)
				     : open_reading(&d, name);

	return r < 0 ? r : close_reading(&d, feed(&d, bytes, size, true), ret);
}

int net_load(const char *path, struct net *ret)
{
	char chunk[CHUNK];
	struct reading d;
	size_t n, all = 0;
	FILE *f = fopen(path, "re");
	int r;

	if (!f)
		return err_sys(-errno, "%s: the network cannot be opened", path);
	r = open_reading(&d, path);
	while (r == 0 && (n = fread(chunk, 1, sizeof(chunk), f)) > 0) {
		r = feed(&d, chunk, n, false);
		if (r == 0 && (all += n) > NET_BYTES_MAX)
			r = err_set(-E2BIG, "%s: larger than %u bytes", path, NET_BYTES_MAX);
	}
	if (r == 0 && ferror(f))
		r = err_sys(-errno, "%s: the network cannot be read", path);
	if (r == 0)
		r = feed(&d, "", 0, true);
	fclose(f);
	return d.parser ? close_reading(&d, r, ret) : r;
}

void net_free(struct net *n)
{
	free(n->shapes);
	free(n->points);
	*n = (struct net){ .shapes = NULL };
}
