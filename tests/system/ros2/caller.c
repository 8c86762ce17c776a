/* SPDX-License-Identifier: Apache-2.0 */
/* See caller.h. */
#include "caller.h"

#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>

#include "iov_buf.h"
#include "reader.h"
#include "sertype.h"
#include "tests/support/wait.h"

#define CLIENT  UINT64_C(0x1020304050607080)
#define SERVERS 24

/* ---- bytes ---- */

static void *room(struct cdr *c, size_t n)
{
	size_t pad = -c->n & (n - 1);

	while (c->n + pad + n > c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->bytes = realloc(c->bytes, c->room);
		assert_non_null(c->bytes);
	}
	memset(c->bytes + c->n, 0, pad);
	c->n += pad + n;
	return c->bytes + c->n - n;
}

void cdr_u8(struct cdr *c, uint8_t v)
{
	memcpy(room(c, 1), &v, 1);
}
void cdr_u32(struct cdr *c, uint32_t v)
{
	memcpy(room(c, 4), &v, 4);
}
void cdr_i64(struct cdr *c, int64_t v)
{
	memcpy(room(c, 8), &v, 8);
}
void cdr_f64(struct cdr *c, double v)
{
	memcpy(room(c, 8), &v, 8);
}
void cdr_text(struct cdr *c, const char *s)
{
	cdr_u32(c, (uint32_t)strlen(s) + 1);
	for (size_t i = 0; i <= strlen(s); i++)
		cdr_u8(c, (uint8_t)s[i]);
}

static const void *take(struct cdr *c, size_t size, size_t n)
{
	static const uint64_t nothing;
	size_t at = c->at == SIZE_MAX ? c->n : (c->at + size - 1) / size * size;

	if (at > c->n || n > c->n - at) {
		c->at = SIZE_MAX;
		return &nothing;
	}
	c->at = at + n;
	return c->bytes + at;
}

uint8_t cdr_get_u8(struct cdr *c)
{
	return *(const uint8_t *)take(c, 1, 1);
}
uint32_t cdr_get_u32(struct cdr *c)
{
	uint32_t v;

	memcpy(&v, take(c, 4, 4), 4);
	return v;
}
int64_t cdr_get_i64(struct cdr *c)
{
	int64_t v;

	memcpy(&v, take(c, 8, 8), 8);
	return v;
}
double cdr_get_f64(struct cdr *c)
{
	double v;

	memcpy(&v, take(c, 8, 8), 8);
	return v;
}
const char *cdr_get_text(struct cdr *c)
{
	uint32_t n = cdr_get_u32(c);
	const char *s = n ? take(c, 1, n) : "";

	return n && c->at != SIZE_MAX && !s[n - 1] ? s : "";
}

bool cdr_ended(const struct cdr *c)
{
	return c->at != SIZE_MAX && c->n - c->at < 4;
}

void cdr_free(struct cdr *c)
{
	free(c->bytes);
	*c = (struct cdr){ .n = 0 };
}

/* ---- a line of a pipe ---- */

static void print_hex(FILE *f, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%02x", bytes[i]);
	fputc('\n', f);
	fflush(f);
}

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct cdr read_hex(const char *s)
{
	struct cdr c = { .n = 0 };

	for (; s[0] > ' ' && s[1] > ' '; s += 2)
		cdr_u8(&c, (uint8_t)(digit(s[0]) * 16 + digit(s[1])));
	return c;
}

/* ---- on Cyclone: in a process of its own ---- */

struct server {
	char service[128];
	dds_entity_t writer, reader;
};

static dds_qos_t *client_qos(int number)
{
	dds_qos_t *qos = dds_create_qos();
	char data[64];
	int n = snprintf(data, sizeof(data), "clientid=9.%d;", number);

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1000);
	dds_qset_userdata(qos, data, (size_t)n);
	return qos;
}

static bool matched(const struct server *s)
{
	dds_publication_matched_status_t w;
	dds_subscription_matched_status_t r;

	return dds_get_publication_matched_status(s->writer, &w) == 0 && w.current_count &&
	       dds_get_subscription_matched_status(s->reader, &r) == 0 && r.current_count;
}

static void find_server(struct server *s, dds_entity_t p, const char *service, const char *type, int number)
{
	dds_qos_t *qos = client_qos(number);
	char topic[160], name[160];

	snprintf(s->service, sizeof(s->service), "%s", service);
	snprintf(topic, sizeof(topic), "rr%sReply", service);
	snprintf(name, sizeof(name), "%sResponse_", type);
	s->reader = dds_create_reader(p, sertype_topic_create(p, topic, name, NULL), qos, NULL);
	snprintf(topic, sizeof(topic), "rq%sRequest", service);
	snprintf(name, sizeof(name), "%sRequest_", type);
	s->writer = dds_create_writer(p, sertype_topic_create(p, topic, name, NULL), qos, NULL);
	EXPECT(s->reader > 0 && s->writer > 0);
	dds_delete_qos(qos);
}

static struct server *server_of(struct server *all, dds_entity_t p, const char *service, const char *type)
{
	int i = 0;

	while (i < SERVERS && all[i].writer && strcmp(all[i].service, service) != 0)
		i++;
	EXPECT(i < SERVERS);
	if (!all[i].writer)
		find_server(&all[i], p, service, type, i);
	AWAIT(matched(&all[i]));
	return &all[i];
}

static void write_request(const struct server *s, int64_t number, const struct cdr *request)
{
	static const uint8_t little[4] = { 0, 1, 0, 0 };
	uint64_t id[2] = { CLIENT, (uint64_t)number };
	struct iov_buf o;
	uint8_t *at;

	iov_buf_init(&o);
	at = iov_buf_room(&o, sizeof(little) + sizeof(id) + request->n);
	EXPECT(at);
	memcpy(at, little, sizeof(little));
	memcpy(at + sizeof(little), id, sizeof(id));
	if (request->n)
		memcpy(at + sizeof(little) + sizeof(id), request->bytes, request->n);
	EXPECT(dds_write(s->writer, &o) == 0);
	iov_buf_finish(&o);
}

/* Whether it is the reply to that one: then it is printed. Those to others come too. */
static bool take_reply(const struct server *s, int64_t number)
{
	struct ddsi_serdata *d;
	dds_sample_info_t info;
	bool is = false;
	uint64_t id[2];

	EXPECT(reader_wait(dds_get_participant(s->reader), s->reader) == 0);
	if (dds_takecdr(s->reader, &d, 1, &info, DDS_ANY_STATE) != 1)
		return false;
	if (info.valid_data && ddsi_serdata_size(d) >= 20) {
		size_t n = ddsi_serdata_size(d);
		uint8_t *bytes = malloc(n);

		EXPECT(bytes);
		ddsi_serdata_to_ser(d, 0, n, bytes);
		memcpy(id, bytes + 4, sizeof(id));
		is = id[0] == CLIENT && (int64_t)id[1] == number;
		if (is)
			print_hex(stdout, bytes + 20, n - 20);
		free(bytes);
	}
	ddsi_serdata_unref(d);
	return is;
}

static void call(struct server *all, dds_entity_t p, const char *line)
{
	static int64_t number;
	char service[128], type[128];
	const struct server *s;
	struct cdr request;
	unsigned times = 0;
	int at = 0;

	EXPECT(sscanf(line, "%u %127s %127s %n", &times, service, type, &at) == 3);
	request = read_hex(line + at);
	s = server_of(all, p, service, type);
	for (unsigned i = 0; i < times; i++)
		write_request(s, ++number, &request);
	if (*line == '+') {
		EXPECT(dds_wait_for_acks(s->writer, DDS_INFINITY) == 0);
		print_hex(stdout, NULL, 0);
	}
	while (!take_reply(s, number))
		continue;
	cdr_free(&request);
}

static _Noreturn void be_caller(void)
{
	static struct server all[SERVERS];
	dds_entity_t p = reader_participant();
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0 && *line != '.') {
		if (*line != '-') {
			call(all, p, line);
			continue;
		}
		for (int i = 0; i < SERVERS && all[i].writer; i++)
			AWAIT(!matched(&all[i]));
		print_hex(stdout, NULL, 0);
	}
	dds_delete(p);
	_exit(0);
}

static _Noreturn void be_listener(const char *topic, const char *type)
{
	dds_entity_t p = reader_participant(), r;
	dds_qos_t *qos = client_qos(0);

	r = dds_create_reader(p, sertype_topic_create(p, topic, type, NULL), qos, NULL);
	for (;;) {
		struct ddsi_serdata *d;
		dds_sample_info_t info;

		EXPECT(r > 0 && reader_wait(p, r) == 0);
		if (dds_takecdr(r, &d, 1, &info, DDS_ANY_STATE) != 1)
			continue;
		if (info.valid_data) {
			size_t n = ddsi_serdata_size(d);
			uint8_t *bytes = malloc(n);

			EXPECT(bytes);
			ddsi_serdata_to_ser(d, 0, n, bytes);
			print_hex(stdout, bytes + 4, n - 4);
			free(bytes);
		}
		ddsi_serdata_unref(d);
	}
}

/* ---- who tells it ---- */

static struct caller start(bool fast, const char *topic, const char *type)
{
	int to[2], from[2];
	struct caller c;

	assert_int_equal(pipe(to) + pipe(from), 0);
	c.pid = fork();
	if (!c.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int i = 0; i < 2; i++) {
			close(to[i]);
			close(from[i]);
		}
		if (topic)
			be_listener(topic, type);
		if (!fast)
			be_caller();
		execl(ASKER, "fastdds-asker", "calls", "-", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	c.to = fdopen(to[1], "w");
	c.from = fdopen(from[0], "r");
	return c;
}

struct caller caller_start(bool fast)
{
	return start(fast, NULL, NULL);
}

struct caller caller_listen(const char *topic, const char *type)
{
	return start(false, topic, type);
}

void caller_send(struct caller *c, const char *service, const char *type, const struct cdr *request, unsigned times)
{
	fprintf(c->to, "%u %s %s ", times, service, type);
	print_hex(c->to, request->bytes, request->n);
}

static struct cdr next_line(struct caller *c)
{
	char *line = NULL;
	size_t room_for_line = 0;
	struct cdr reply;

	assert_true(getline(&line, &room_for_line, c->from) > 0);
	reply = read_hex(line);
	free(line);
	return reply;
}

void caller_post(struct caller *c, const char *service, const char *type, const struct cdr *request)
{
	struct cdr nothing;

	fputc('+', c->to);
	caller_send(c, service, type, request, 1);
	nothing = next_line(c);
	cdr_free(&nothing);
}

struct cdr caller_reply(struct caller *c)
{
	return next_line(c);
}

struct cdr caller_next(struct caller *c)
{
	return next_line(c);
}

void caller_wait_gone(struct caller *c)
{
	struct cdr nothing;

	fputs("-\n", c->to);
	fflush(c->to);
	nothing = next_line(c);
	cdr_free(&nothing);
}

struct cdr caller_call(struct caller *c, const char *service, const char *type, struct cdr request)
{
	caller_send(c, service, type, &request, 1);
	cdr_free(&request);
	return caller_reply(c);
}

void caller_kill(struct caller *c)
{
	fclose(c->to);
	fclose(c->from);
	assert_int_equal(kill(c->pid, SIGKILL), 0);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

/* A caller that was started later has the other end of its pipe open too: it is told. */
void caller_end(struct caller *c)
{
	int status;

	fputs(".\n", c->to);
	fclose(c->to);
	fclose(c->from);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}
