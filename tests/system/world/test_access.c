/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world --config as a process: clients admitted by certificate, and invalid configurations. Thread: the test's;
 * hosts have theirs.
 */
#include "support/test.h"

#include <errno.h>
#include <sys/wait.h>

#include <sim/world.h>

#include "server.h"

static struct server server;
static char dir[TEST_PATH_MAX], keys[TEST_PATH_MAX + 8], config[TEST_PATH_MAX + 16];

/* Exit status of a shell command, and its output. */
static int run(char said[4096], const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int run(char said[4096], const char *fmt, ...)
{
	char command[1000];
	va_list ap;
	int status;
	size_t n;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	f = popen(command, "r"); /* NOLINT(cert-env33-c) */
	assert_non_null(f);
	n = fread(said, 1, 4095, f);
	said[n] = 0;
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make(void **state)
{
	char said[4096], proto[TEST_PATH_MAX + 16];

	(void)state;
	test_path(dir, "access");
	snprintf(keys, sizeof(keys), "%s/keys", dir);
	snprintf(config, sizeof(config), "%s/world.json", dir);
	snprintf(proto, sizeof(proto), "%s/drone.proto", dir);
	assert_int_equal(run(said,
			     "mkdir %s && " SIM_WORLD " --make-keys %s --client car-1 --client eye --client bob 2>&1",
			     dir, keys),
			 0);
	write_file(proto, "syntax = \"proto3\";\nmessage Drone { int32 rotors = 1; }\n");
	return 0;
}
TEST_GROUP(make, NULL)

static int come(const char *name, uint8_t code, struct sim_world **ret)
{
	char whose[TEST_PATH_MAX + 64];

	snprintf(whose, sizeof(whose), "%s:%s", keys, name);
	return sim_world_connect(&(struct sim_world_options){ .size = sizeof(struct sim_world_options),
							      .address = server.address,
							      .name = "host",
							      .keys = whose,
							      .own_codes = &code,
							      .n_own_codes = code != 0,
							      .timeout_ms = SERVER_NO_LIMIT_MS },
				 ret);
}

static void is_out(const char *name, uint8_t code, const char *why)
{
	struct sim_world *w;
	int r = come(name, code, &w);

	if (r != -EACCES)
		fail_msg("%d %s", r, sim_world_why());
	if (!strstr(sim_world_why(), why))
		fail_msg("\"%s\", not \"%s\"", sim_world_why(), why);
}

static bool is_drone(void *user, const struct sim_world_type *t)
{
	(void)user;
	assert_int_equal(t->code, 200);
	assert_string_equal(t->name, "drone");
	assert_non_null(strstr(t->proto, "message Drone { int32 rotors = 1; }"));
	return true;
}

TEST(a_certificate_grants_a_role_and_codes)
{
	struct sim_world *car, *eye;

	write_file(config,
		   "{\"access\": [{\"certificate\": \"car-*\", \"role\": \"regulating\", \"codes\": [\"drone\", 2]},"
		   " {\"certificate\": \"eye\"}],"
		   " \"types\": [{\"code\": 200, \"name\": \"drone\", \"proto\": \"drone.proto\"}]}");
	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, "--keys", keys, "--config", config, NULL });
	assert_int_equal(come("car-1", 200, &car), 0);
	server_says(&server, "host (certificate car-1): connected: regulating");
	assert_int_equal(sim_world_each_type(car, is_drone, NULL), 1);
	assert_int_equal(come("eye", 0, &eye), 0);
	server_says(&server,
		    "host (certificate eye): connected: observer, as the access list has it"); /* it asked to regulate */
	assert_int_equal(sim_world_put(eye, &(struct sim_world_object){ .code = SIM_WORLD_VEHICLE, .rotation = { 1 } }),
			 -EPERM);
	assert_non_null(strstr(sim_world_why(), "the access list of the server makes this host one"));
	is_out("bob", 0, "the access list has no entry for certificate bob");
	is_out("car-1", 201, "no type with code 201");
	sim_world_disconnect(car);
	sim_world_disconnect(eye);
	assert_int_equal(server_stop(&server), 0);
}

TEST(an_empty_access_list_admits_nobody_and_a_missing_one_everybody)
{
	struct sim_world *w;

	write_file(config, "{\"access\": []}");
	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, "--keys", keys, "--config", config, NULL });
	is_out("car-1", 0, "the access list has no entry for certificate car-1");
	assert_int_equal(server_stop(&server), 0);
	write_file(config, "{\"types\": [{\"code\": 200, \"name\": \"drone\", \"proto\": \"drone.proto\"}]}");
	server_start(&server, 0, (const char *const[]){ SERVER_NEVER_LATE, "--keys", keys, "--config", config, NULL });
	assert_int_equal(come("bob", 200, &w), 0);
	sim_world_disconnect(w);
	assert_int_equal(server_stop(&server), 0);
}

/* ---- configurations ---- */

static void is_wrong(const char *text, const char *why)
{
	char said[4096];

	write_file(config, text);
	assert_int_equal(run(said, SIM_WORLD " --listen 127.0.0.1:0 --config %s 2>&1", config), 1);
	if (!strstr(said, config) || !strstr(said, why))
		fail_msg("\"%s\", not \"%s\"", said, why);
}

#define TYPE(code, name, proto) "{\"code\": " code ", \"name\": \"" name "\", \"proto\": \"" proto "\"}"

TEST(errors_in_an_access_list_are_reported)
{
	is_wrong("{\"acces\": []}", "acces: unknown key; did you mean access?");
	is_wrong("{\"access\": [{\"token\": \"a\"}, {\"token\": \"b\", \"cods\": []}]}", "access[1].cods: unknown key");
	is_wrong("{\"access\": [{\"token\": 7}]}", "access[0].token: is of type integer");
	is_wrong("{\"access\": [{\"token\": \"a\", \"role\": \"king\"}]}", "access[0].role: \"king\" is not one of");
	is_wrong("{\"access\": [{\"role\": \"observer\"}]}", "access[0]: give a certificate, a token or both");
	is_wrong("{\"access\": [{\"token\": \"\"}]}", "access[0]: give a certificate, a token or both");
	is_wrong("{\"access\": [{\"token\": \"a\", \"codes\": 2}]}", "access[0].codes: give an array");
	is_wrong("{\"access\": [{\"token\": \"a\", \"codes\": [2, 3]}]}", "access[0].codes[1]: give vehicle");
	is_wrong("{\"access\": [{\"token\": \"a\", \"objects\": 0}]}", "access[0].objects: 0 is out of range");
	is_wrong("{\"access\": [{\"token\": \"a\"}", "world.json:1: ");
}

TEST(errors_in_a_type_are_reported)
{
	char command[4096];

	is_wrong("{\"types\": [" TYPE("127", "a", "drone.proto") "]}",
		 "types[0].code: 127 is out of range, 128 to 255");
	is_wrong("{\"types\": [" TYPE("200", "a", "none.proto") "]}", "none.proto: No such file");
	is_wrong("{\"types\": [" TYPE("200", "a", "drone.proto") ", " TYPE("200", "b", "drone.proto") "]}",
		 "types[1].code: 200 is the code of types[0] as well");
	is_wrong("{\"types\": [" TYPE("200", "a", "drone.proto") ", " TYPE("201", "a", "drone.proto") "]}",
		 "types[1].name: a is the name of types[0] as well");
	is_wrong("{\"types\": [{\"code\": 200, \"name\": \"a\"}]}", "types[0].proto");
	assert_int_equal(run(command,
			     "head -c 65537 /dev/zero | tr '\\0' a > %s/long.proto; printf '\\377' > %s/bytes.proto; "
			     "printf 'message A {\\nint32 a;\\n}' > %s/broken.proto",
			     dir, dir, dir),
			 0);
	is_wrong("{\"types\": [" TYPE("200", "a", "long.proto") "]}", "up to 64 KiB");
	is_wrong("{\"types\": [" TYPE("200", "a", "bytes.proto") "]}", "is not UTF-8 text");
	is_wrong("{\"types\": [" TYPE("200", "a", "broken.proto") "]}",
		 "broken.proto: line 2: \"=\" is expected, and there is \";\"");
}
