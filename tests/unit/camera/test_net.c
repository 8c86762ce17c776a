/* SPDX-License-Identifier: Apache-2.0 */
/* A network of SUMO as shapes, and as triangles; and invalid files. */
#include "support/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "err.h"
#include "net.h"
#include "streets.h"

static struct net net;

static int parse(const char *text)
{
	return net_parse("t.net.xml", text, strlen(text), &net);
}

static void refuses(const char *text, int r, const char *says)
{
	assert_int_equal(parse(text), r);
	if (!strstr(err_why(), says))
		fail_msg("\"%s\" does not say \"%s\"", err_why(), says);
}

/* A street of two lanes and a footway, back again, a junction with lights, a crossing, a corner. */
#define STREET \
	"<net><location netOffset=\"0,0\" origBoundary=\"11.0,48.0,11.2,48.4\" projParameter=\"+proj=utm\"/>" \
	"<edge id=\":j_0\" function=\"internal\"><lane id=\":j_0_0\" shape=\"100,0 110,0\"/></edge>" \
	"<edge id=\":j_c0\" function=\"crossing\"><lane id=\":j_c0_0\" width=\"4\" shape=\"100,-8 100,8\"/></edge>" \
	"<edge id=\":j_w0\" function=\"walkingarea\"><lane id=\":j_w0_0\" width=\"2\" shape=\"100,-10 104,-10 104,-6 100,-6\"/></edge>" \
	"<edge id=\"ab\" from=\"a\" to=\"j\">" \
	"<lane id=\"ab_0\" allow=\"pedestrian\" width=\"2\" shape=\"0,-7 100,-7\"/>" \
	"<lane id=\"ab_1\" shape=\"0,-4.4 100,-4.4\"/>" \
	"<lane id=\"ab_2\" shape=\"0,-1.2,3 100,-1.2,4.5\"/></edge>" \
	"<edge id=\"ba\" from=\"j\" to=\"a\"><lane id=\"ba_0\" allow=\"bicycle\" width=\"1.5\" shape=\"100,2 0,2\"/></edge>" \
	"<junction id=\"j\" type=\"traffic_light\" shape=\"100,-8 110,-8 110,8 100,8\"/>" \
	"<junction id=\"a\" type=\"dead_end\" shape=\"0,0\"/>" \
	"<junction id=\":i\" type=\"internal\" shape=\"0,0 1,0 1,1\"/></net>"

static const struct net_shape *nth(enum net_kind kind, unsigned n)
{
	for (size_t i = 0; i < net.n; i++) {
		if (net.shapes[i].kind == kind && n-- == 0)
			return &net.shapes[i];
	}
	fail_msg("no such shape of kind %d", (int)kind);
	return NULL;
}

TEST(visible_parts_of_a_network_are_found)
{
	const struct net_shape *s;

	assert_int_equal(parse(STREET), 0);
	assert_int_equal(net.n, 7); /* the internal lane and junction, and the outline of one point are left out */
	assert_int_equal(nth(NET_FOOTWAY, 0)->edge, nth(NET_ROAD, 1)->edge);
	assert_int_not_equal(nth(NET_CYCLEWAY, 0)->edge, nth(NET_ROAD, 1)->edge);
	s = nth(NET_ROAD, 1);
	assert_true(s->width > 3.19f && s->width < 3.21f && s->two_way && s->signalled && s->stops);
	assert_true(net.points[3 * s->first + 3] == 100 && net.points[3 * s->first + 4] == -1.2 &&
		    net.points[3 * s->first + 5] == 4.5);
	assert_false(nth(NET_CYCLEWAY, 0)->signalled);
	assert_true(nth(NET_CYCLEWAY, 0)->two_way);
	assert_true(nth(NET_CROSSING, 0)->width == 4);
	assert_true(nth(NET_CORNER, 0)->width == 0 && nth(NET_CORNER, 0)->n == 4 && nth(NET_JUNCTION, 0)->n == 4);
	assert_true(net.low[0] == 0 && net.high[0] == 110 && net.low[1] == -10 && net.high[1] == 8);
	assert_true(fabs(net.longitude - 11.1) < 1e-9 && fabs(net.latitude - 48.2) < 1e-9);
	net_free(&net);
}

TEST(an_invalid_network_is_refused_with_the_line)
{
	refuses("", -EINVAL, "t.net.xml:1:");
	refuses("<routes/>", -EINVAL, "<routes> instead of <net>: not a network of SUMO");
	refuses("<net>\n<edge id=\"a\"><lane shape=\"0,0 1\"/></edge></net>", -EINVAL,
		"t.net.xml:2: a shape is not a list");
	refuses("<net><edge id=\"a\"><lane shape=\"0,0 nan,1\"/></edge></net>", -EINVAL, "not a list");
	refuses("<net><edge id=\"a\"><lane shape=\"0,0 1e300,1\"/></edge></net>", -EINVAL, "not a list");
	refuses("<net><edge id=\"a\"><lane width=\"1000\" shape=\"0,0 1,1\"/></edge></net>", -EINVAL, "0 to 100");
	refuses("<net><edge id=\"a\"><lane width=\"x\" shape=\"0,0 1,1\"/></edge></net>", -EINVAL, "0 to 100");
	refuses("<net></net>", -EINVAL, "no lane and no junction");
	refuses("<net><edge>", -EINVAL, "t.net.xml:1:");
	refuses("<!DOCTYPE net [<!ENTITY a \"b\">]><net>&a;</net>", -EINVAL, "<!DOCTYPE net>");
	assert_int_equal(net_load("/nowhere/t.net.xml", &net), -ENOENT);
	assert_non_null(strstr(err_why(), "/nowhere/t.net.xml"));
}

TEST(the_points_of_a_shape_are_bounded)
{
	size_t n = 3 * NET_SHAPE_MAX, at = 0;
	char *text = malloc(32 * n + 200);

	at += (size_t)sprintf(text, "<net><edge id=\"a\"><lane shape=\"");
	for (size_t i = 0; i < n; i++)
		at += (size_t)sprintf(text + at, "%zu,0 ", i);
	sprintf(text + at, "\"/></edge></net>");
	assert_int_equal(parse(text), 0);
	assert_int_equal(net.shapes[0].n, NET_SHAPE_MAX);
	net_free(&net);
	free(text);
}

/* ---- triangles ---- */

static float area(const struct mesh *m, unsigned material)
{
	float all = 0;

	for (uint32_t i = 0; i < m->n_index; i += 3) {
		const float *a = m->v[m->index[i]].at, *b = m->v[m->index[i + 1]].at, *c = m->v[m->index[i + 2]].at;

		if (m->v[m->index[i]].material == material)
			all += ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2;
	}
	return all;
}

static void is_near(float is, float to)
{
	if (!(fabsf(is - to) < 0.01f * to))
		fail_msg("%g is not %g", (double)is, (double)to);
}

/* All face upwards, or their areas would count against one another. */
TEST(surfaces_have_the_areas_of_the_network)
{
	struct streets s;

	assert_int_equal(parse(STREET), 0);
	assert_int_equal(streets_build(&net, &s), 0);
	is_near(area(&s.mesh, MAT_ASPHALT), 2 * 320 + 160);
	is_near(area(&s.mesh, MAT_CYCLEWAY), 150);
	is_near(area(&s.mesh, MAT_SIDEWALK), 200 + 16);
	is_near(area(&s.mesh, MAT_KERB), 15);
	/* half of the crossing; of the street: a dashed line (12 pieces), two solid ones and its edge; two stop lines */
	assert_true(area(&s.mesh, MAT_MARKING) > 32 + 4.3f + 2 * 12 + 2 * 1.4f);
	assert_true(area(&s.mesh, MAT_MARKING) < 32 + 4.4f + 4 * 12 + 2 * 1.6f);
	streets_free(&s);
	net_free(&net);
}

TEST(each_triangle_lies_in_one_square_and_its_bounds)
{
	uint32_t n = 0;
	struct streets s;

	assert_int_equal(parse(STREET), 0);
	assert_int_equal(streets_build(&net, &s), 0);
	assert_true(s.n > 1);
	for (size_t i = 0; i < s.n; i++) {
		const struct streets_part *p = &s.parts[i];

		assert_int_equal(p->first, n);
		n += p->n;
		for (uint32_t k = p->first; k < n; k++) {
			const float *v = s.mesh.v[s.mesh.index[k]].at;

			for (int a = 0; a < 3; a++)
				assert_true(v[a] >= p->low[a] && v[a] <= p->high[a]);
		}
	}
	assert_int_equal(n, s.mesh.n_index);
	streets_free(&s);
	net_free(&net);
}

/* A corner that goes inwards, and one whose outline crosses itself. */
TEST(outlines_of_any_kind_are_triangulated)
{
	struct streets s;

	assert_int_equal(
		parse("<net><junction id=\"a\" type=\"priority\" shape=\"0,0 0,10 4,10 4,4 10,4 10,0\"/></net>"), 0);
	assert_int_equal(streets_build(&net, &s), 0);
	is_near(area(&s.mesh, MAT_ASPHALT), 64);
	streets_free(&s);
	net_free(&net);
	assert_int_equal(parse("<net><junction id=\"a\" type=\"priority\" shape=\"0,0 10,10 10,0 0,10 5,20\"/></net>"),
			 0);
	assert_int_equal(streets_build(&net, &s), 0);
	streets_free(&s);
	net_free(&net);
	assert_int_equal(
		parse("<net><edge id=\"a\"><lane shape=\"-1e8,0 1e8,0\"/><lane shape=\"0,0 0,0.0001 0,9 0,0\"/></edge></net>"),
		0);
	assert_int_equal(streets_build(&net, &s), 0);
	streets_free(&s);
	net_free(&net);
}
