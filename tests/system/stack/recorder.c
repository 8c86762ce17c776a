/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h */
#include "recorder.h"

#include <dirent.h>
#include <fcntl.h>

#include "record/codec.h"
#include "record/log.h"

/* ---- the recorder beside the test ---- */

static struct recording *newest; /* that was started, until it is waited for */

void start_record(struct recording *rec, const char *const *args)
{
	int fd[2];

	memset(rec, 0, sizeof(*rec));
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	rec->pid = fork();
	assert_true(rec->pid >= 0);
	if (rec->pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		close(STDIN_FILENO); /* it needs none */
		stack_exec_ctl("record", args);
	}
	close(fd[1]);
	rec->out = fd[0];
	newest = rec;
	assert_int_equal(fcntl(rec->out, F_SETFL, O_NONBLOCK), 0);
}

bool printed(struct recording *rec, const char *text)
{
	ssize_t got;

	while (rec->n < sizeof(rec->text) - 1 &&
	       (got = read(rec->out, rec->text + rec->n, sizeof(rec->text) - 1 - rec->n)) > 0)
		rec->n += (size_t)got;
	rec->text[rec->n] = '\0';
	return strstr(rec->text, text);
}

/* A recorder that should run, and has ended, will never be ready: its output is the reason. */
static void assert_runs(void)
{
	siginfo_t si = { .si_pid = 0 };

	if (!newest || waitid(P_PID, (id_t)newest->pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || !si.si_pid)
		return;
	(void)printed(newest, "");
	fail_msg("simctl record has ended by itself: %s", newest->text);
}

int end_record(struct recording *rec, int sig)
{
	int status;

	kill(rec->pid, sig);
	status = stack_wait(rec->pid);
	newest = NULL;
	(void)printed(rec, "");
	close(rec->out);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* ---- publishers ---- */

pid_t simd;
struct voice voice;

void begin_with(const char *conf, unsigned flags, const char *const *channels, unsigned n)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "voice", .timeout_ms = PATIENT_MS };
	struct sim_publisher_options po = { .size = sizeof(po), .flags = flags };

	(void)!system("rm -f /tmp/*.mcap /tmp/*.bag /tmp/*.record");
	newest = NULL;
	simd = stack_start(conf);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(sim_connect(&o, &voice.c), 0);
	voice.n = n;
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sim_advertise(voice.c, channels[i], &sim_Imu_type, &po, &voice.pub[i]), 0);
}
void begin(const char *const *channels, unsigned n)
{
	begin_with(RECORDER_CONF, SIM_PUB_LOCAL, channels, n);
}

void end_voice(void)
{
	for (unsigned i = 0; i < voice.n; i++)
		sim_publisher_destroy(voice.pub[i]);
	sim_disconnect(voice.c);
}

void end(void)
{
	end_voice();
	stack_kill(simd);
}

bool is_ready(void)
{
	assert_runs();
	return strstr(stack_ctl("service", "list", "--names", NULL)->out, "/record/split");
}

void caught_up(void)
{
	assert_int_equal(stack_ctl("service", "call", "/record/resume", NULL)->code, 0);
}

void publish(unsigned i, unsigned number)
{
	struct sim_Imu m = { .position = { .x = number } };

	assert_int_equal(sim_publish_local_copy(voice.pub[i], &m, sizeof(m), 0), 0);
}

void publish_many(unsigned i, unsigned from, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		publish(i, from + k);
}

bool is_subscribed(const char *channel)
{
	json_t *reply = stack_call("ListChannels", NULL), *ch;
	bool is = false;
	size_t i;

	json_array_foreach(json_object_get(reply, "channels"), i, ch)
		if (strcmp(json_string_value(json_object_get(ch, "name")), channel) == 0)
			is = json_array_size(json_object_get(ch, "subscribers")) == 1;
	json_decref(reply);
	return is;
}

/* ---- the content of a file ---- */

unsigned messages_of(const char *path, const char *channel)
{
	struct log_reader *r;
	struct log_message m;
	char why[300];
	unsigned n = 0;

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	while (log_reader_next(r, &m) == 1)
		n += !channel || strcmp(log_reader_info(r)->channels[m.channel].topic, channel) == 0;
	assert_true(log_reader_info(r)->complete);
	log_reader_close(r);
	return n;
}

const char *metadata_of(const char *path, const char *name, const char *key)
{
	static char value[200];
	const struct log_info *info;
	struct log_reader *r;
	char why[300];

	*value = '\0';
	assert_int_equal(log_reader_open(path, NULL, &r, why, sizeof(why)), 0);
	info = log_reader_info(r);
	for (size_t i = 0; i < info->n_metadata; i++)
		for (size_t k = 0; strcmp(info->metadata[i].name, name) == 0 && k < info->metadata[i].n; k++)
			if (strcmp(info->metadata[i].pairs[k].key, key) == 0)
				snprintf(value, sizeof(value), "%s", info->metadata[i].pairs[k].value);
	log_reader_close(r);
	return value;
}

void check_numbers(const char *path, const char *channel, unsigned first, unsigned n)
{
	uint8_t body[4096] __attribute__((aligned(64)));
	struct codec_in *codec = NULL;
	struct log_reader *r;
	struct log_message m;
	unsigned k = 0;
	char why[300];

	assert_int_equal(log_reader_open(path, NULL, &r, why, sizeof(why)), 0);
	while (log_reader_next(r, &m) == 1) {
		const struct log_channel *ch = &log_reader_info(r)->channels[m.channel];
		struct message_in in = { .buf = body, .room = sizeof(body) };

		if (strcmp(ch->topic, channel) != 0)
			continue;
		if (!codec)
			assert_int_equal(codec_in_create(ch, &codec, why, sizeof(why)), 0);
		assert_int_equal(codec_in_decode(codec, &m, &in), 0);
		assert_true(((const struct sim_Imu *)(const void *)body)->position.x == first + k);
		k++;
	}
	assert_int_equal(k, n);
	codec_in_destroy(codec);
	log_reader_close(r);
}

unsigned files_of(const char *prefix)
{
	DIR *d = opendir("/tmp");
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d)))
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	closedir(d);
	return n;
}
