/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_package.h. A package depends on the packages of its messages' nested messages. */
#include "ros_package.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fd.h"
#include "mem.h"

#define DEPENDS_MAX 64
#define NAME_ROOM   64
#define MSG_MAX     (1u << 20)
#define MARK        "written by simctl type show"

struct package {
	const char *name;
	char path[4096];
	char depends[DEPENDS_MAX][NAME_ROOM]; /* sorted */
	unsigned n;
};

static int complain(const char *path)
{
	fprintf(stderr, "simctl: %s: %s\n", path, strerror(errno));
	return 1;
}

static void add(struct package *p, const char *name, size_t len)
{
	unsigned at = 0;

	if (len >= NAME_ROOM || p->n == DEPENDS_MAX || (strncmp(p->name, name, len) == 0 && !p->name[len]))
		return;
	while (at < p->n && strncmp(p->depends[at], name, len) < 0)
		at++;
	if (at < p->n && strncmp(p->depends[at], name, len) == 0 && !p->depends[at][len])
		return;
	memmove(&p->depends[at + 1], &p->depends[at], (p->n - at) * sizeof(p->depends[0]));
	memcpy(p->depends[at], name, len);
	p->depends[at][len] = '\0';
	p->n++;
}

/* Adds the packages of nested messages, from a definition's lines "package/Type field". */
static void add_nested(struct package *p, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t blanks = strspn(line, " \t"), n = strspn(line + blanks, "abcdefghijklmnopqrstuvwxyz0123456789_");

		if (n && line[blanks + n] == '/' && isupper((unsigned char)line[blanks + n + 1]))
			add(p, line + blanks, n);
	}
}

static int read_messages(struct package *p)
{
	char path[4608];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/msg", p->path);
	d = opendir(path);
	if (!d)
		return complain(path);
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name), len;
		char *text;

		snprintf(path, sizeof(path), "%s/msg/%s", p->path, e->d_name);
		if (n < 5 || strcmp(e->d_name + n - 4, ".msg") != 0 || fd_read_file(path, MSG_MAX, &text, &len) < 0)
			continue;
		add_nested(p, text);
		mem_free(text);
	}
	closedir(d);
	return 0;
}

static void put_xml(const struct package *p, FILE *f)
{
	fprintf(f,
		"<?xml version=\"1.0\"?>\n<!-- " MARK " -->\n<package format=\"3\">\n  <name>%s</name>\n"
		"  <version>0.1.0</version>\n  <description>Messages of %s as they go through simd.</description>\n"
		"  <maintainer email=\"nobody@example.com\">nobody</maintainer>\n  <license>Apache-2.0</license>\n"
		"  <buildtool_depend>ament_cmake</buildtool_depend>\n"
		"  <buildtool_depend>rosidl_default_generators</buildtool_depend>\n",
		p->name, p->name);
	for (unsigned i = 0; i < p->n; i++)
		fprintf(f, "  <depend>%s</depend>\n", p->depends[i]);
	fputs("  <exec_depend>rosidl_default_runtime</exec_depend>\n"
	      "  <member_of_group>rosidl_interface_packages</member_of_group>\n"
	      "  <export>\n    <build_type>ament_cmake</build_type>\n  </export>\n</package>\n",
	      f);
}

static void put_cmake(const struct package *p, FILE *f)
{
	fprintf(f,
		"# " MARK "\ncmake_minimum_required(VERSION 3.8)\nproject(%s)\nfind_package(ament_cmake REQUIRED)\n"
		"find_package(rosidl_default_generators REQUIRED)\n",
		p->name);
	for (unsigned i = 0; i < p->n; i++)
		fprintf(f, "find_package(%s REQUIRED)\n", p->depends[i]);
	fputs("file(GLOB messages RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS msg/*.msg)\n"
	      "rosidl_generate_interfaces(${PROJECT_NAME} ${messages}",
	      f);
	for (unsigned i = 0; i < p->n; i++)
		fprintf(f, "%s %s", i ? "" : "\n  DEPENDENCIES", p->depends[i]);
	fputs(")\nament_export_dependencies(rosidl_default_runtime)\nament_package()\n", f);
}

/* Whether the file was not written by simctl, and must not be changed. */
static bool is_foreign(const char *path)
{
	char *text;
	size_t len;
	bool foreign;

	if (fd_read_file(path, MSG_MAX, &text, &len) < 0)
		return false;
	foreign = !strstr(text, MARK);
	mem_free(text);
	return foreign;
}

static int put_file(const struct package *p, const char *name, void (*put)(const struct package *p, FILE *f))
{
	char path[4608];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	if (is_foreign(path)) {
		fprintf(stderr,
			"simctl: %s was not written by simctl and is not changed: check that it lists all dependencies\n",
			path);
		return 0;
	}
	f = fopen(path, "we");
	if (!f)
		return complain(path);
	put(p, f);
	return fclose(f) == 0 ? 0 : complain(path);
}

int ros_package_write(const char *dir, const char *name)
{
	struct package *p = MEM_NEW(struct package);
	int r;

	if (!p)
		return 1;
	p->name = name;
	snprintf(p->path, sizeof(p->path), "%s/%s", dir, name);
	r = read_messages(p);
	if (r == 0)
		r = put_file(p, "package.xml", put_xml);
	if (r == 0)
		r = put_file(p, "CMakeLists.txt", put_cmake);
	mem_free(p);
	return r;
}
