/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small scenarios of SUMO of a test's own, in its /tmp: a street of two lanes to the east, 600 m, and one to the north from there, with an ego and
 * another vehicle. The network is made by SUMO's netconvert. Only under tests/support/ns.sh. Thread: the test's.
 */
#ifndef SYSTEM_SOURCES_SCENARIO_H
#define SYSTEM_SOURCES_SCENARIO_H

#include "tests/support/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SCENARIO_DIR "/tmp/scenario"
#define SCENARIO     SCENARIO_DIR "/s.sumocfg"

struct scenario {
	const char *begin;     /* of the configuration; NULL: it does not say */
	const char *departs;   /* the ego; NULL: at begin */
	const char *ego;       /* attributes of its vType; NULL: none */
	const char *others;    /* vehicles, routes of which are "all"; NULL: one that departs at begin */
	const char *options;   /* elements of the configuration; NULL: none */
	const char *projected; /* options of netconvert; NULL: there is no projection */
	const char *bare;      /* options of netconvert without one; NULL: none */
	bool bent;             /* then: the street bends, at a junction of its own */
	double lon, lat;       /* then: where it begins; 0, 0: in Munich */
};

static inline void __attribute__((format(printf, 2, 3))) scenario_file(const char *name, const char *fmt, ...)
{
	char path[128];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), SCENARIO_DIR "/%s", name);
	f = fopen(path, "w");
	assert_non_null(f);
	va_start(ap, fmt);
	assert_true(vfprintf(f, fmt, ap) > 0);
	va_end(ap);
	assert_int_equal(fclose(f), 0);
}

/* With a projection nodes are given in degrees. */
static inline void scenario_nodes(const struct scenario *s)
{
	double lon = s->lon != 0 || s->lat != 0 ? s->lon : 11.58, lat = s->lon != 0 || s->lat != 0 ? s->lat : 48.14;

	if (s->projected)
		scenario_file("n.nod.xml",
			      "<nodes><node id=\"a\" x=\"%.9f\" y=\"%.9f\"/><node id=\"b\" x=\"%.9f\" y=\"%.9f\"/>"
			      "<node id=\"c\" x=\"%.9f\" y=\"%.9f\"/><node id=\"d\" x=\"%.9f\" y=\"%.9f\"/></nodes>",
			      lon, lat, lon + 0.004, lat, lon + 0.008, lat, lon + 0.008, lat + 0.003);
	else
		scenario_file("n.nod.xml",
			      "<nodes><node id=\"a\" x=\"0\" y=\"0\"/><node id=\"b\" x=\"300\" y=\"%d\"/>"
			      "<node id=\"c\" x=\"600\" y=\"0\"/><node id=\"d\" x=\"600\" y=\"300\"/></nodes>",
			      s->bent ? -400 : 0);
}

static inline void scenario_network(const struct scenario *s)
{
	char command[512];

	scenario_nodes(s);
	scenario_file("e.edg.xml", "<edges><edge id=\"ab\" from=\"a\" to=\"b\" numLanes=\"2\" speed=\"13.9\"/>"
				   "<edge id=\"bc\" from=\"b\" to=\"c\" numLanes=\"2\" speed=\"13.9\"/>"
				   "<edge id=\"cd\" from=\"c\" to=\"d\" speed=\"13.9\"/></edges>");
	snprintf(command, sizeof(command),
		 "cd " SCENARIO_DIR " && netconvert -n n.nod.xml -e e.edg.xml -o net.xml %s >netconvert.log 2>&1",
		 s->projected ? s->projected
		 : s->bare    ? s->bare
			      : "");
	if (system(command) != 0)
		fail_msg("netconvert (of Debian's package sumo) refuses, see " SCENARIO_DIR "/netconvert.log");
}

static inline void scenario_write(const struct scenario *s)
{
	const char *begin = s->begin ? s->begin : "0";

	assert_int_equal(system("mkdir -p " SCENARIO_DIR), 0);
	scenario_network(s);
	scenario_file(
		"r.rou.xml",
		"<routes><vType id=\"c\" vClass=\"passenger\"/><vType id=\"e\" vClass=\"passenger\" %s/>"
		"<route id=\"all\" edges=\"ab bc cd\"/>%s%s%s<vehicle id=\"ego\" type=\"e\" route=\"all\" depart=\"%s\" "
		"departPos=\"100\"/></routes>",
		s->ego ? s->ego : "",
		s->others ? s->others : "<vehicle id=\"other\" type=\"c\" route=\"all\" departPos=\"150\" depart=\"",
		s->others ? "" : begin, s->others ? "" : "\"/>", s->departs ? s->departs : begin);
	scenario_file("s.sumocfg",
		      "<configuration><input><net-file value=\"net.xml\"/><route-files value=\"r.rou.xml\"/></input>"
		      "<time>%s%s%s</time>%s</configuration>",
		      s->begin ? "<begin value=\"" : "", s->begin ? s->begin : "", s->begin ? "\"/>" : "",
		      s->options ? s->options : "");
}

#endif
