/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other sides of a ROS 1 node, as the tests play them: a master that can misbehave, and a subscriber on a bare
 * socket. An error aborts, with an error text.
 */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcpros.h"
#include "xmlrpc.h"

enum fake_mode { FAKE_GOOD, FAKE_HANGS, FAKE_HTML, FAKE_NUMBER, FAKE_FORGETFUL };

#define FAKE_CALLS 256

struct fake_master { /* a thread; answers one connection after the other */
	int fd;
	unsigned port;
	char uri[64];
	pthread_t thread;
	_Atomic int mode;
	_Atomic bool stop;
	pthread_mutex_t lock; /* guards what follows */
	struct {
		char method[64], topic[64], type[64];
	} call[FAKE_CALLS];
	unsigned n_calls;
	char node_uri[128];
	unsigned registered;
	char publishers
		[4]
		[64]; /* of all that is subscribed to; "": no more. The master's own URI is one that names tcpros_port */
	unsigned tcpros_port;
	char service[64]; /* "rosrpc://...", of all services; "": there is none */
};

/* At a free port, or at that of one that was there before. Sets ROS_MASTER_URI. */
void fake_master_start(struct fake_master *m, unsigned port);
void fake_master_stop(struct fake_master *m);
/* How often it was called so; topic "": any. */
unsigned fake_master_calls(struct fake_master *m, const char *method, const char *topic);
/* No node is registered any more, and the calls so far are forgotten: as a new master. */
void fake_master_forget(struct fake_master *m);

/* A call to the node, whose answer is [code, text, value]; params: a writer that has begun. returns the response. */
struct xmlrpc_doc *fake_ask(struct fake_master *m, struct xmlrpc_writer *w);
/* The port of TCPROS that it names for a topic. */
unsigned fake_request_topic(struct fake_master *m, const char *topic);

/* A port for connections of subscribers, for fake_accept(). */
int fake_listen(unsigned *ret_port);
/* The next of them, and a field of its first header. */
int fake_accept(int fd);
/* A publisher's header; simd: the value of its field "simd", NULL: without. */
void fake_welcome(int fd, const char *md5, const char *type, const char *simd);
/* The same with a definition; NULL: without. */
void fake_introduce(int fd, const char *md5, const char *type, const char *definition);
/* A message, its length in front. */
void fake_publish(int fd, const void *data, uint32_t n);
/* "publisherUpdate", with the publishers that are set. */
void fake_master_update(struct fake_master *m, const char *topic);

/* A connection to a port of this machine; room: of its receive buffer, 0: the kernel's. */
int fake_connect(unsigned port, int room);
/* The whole of a subscriber's header goes out; the answer is read. */
void fake_subscribe(int fd, const char *node, const char *topic, const char *md5, const char *type);
/* The header of a caller of a service; md5 "", key NULL: without. */
void fake_call(int fd, const char *service, const char *md5, const char *key, const char *value);
/* The next answer of a service, as fake_message(), and whether it is one. */
uint8_t *fake_answer(int fd, uint8_t *ret_ok, uint32_t *ret_len);
/* A field of the answer, or of its error: static. "" where the connection ended without. */
const char *fake_field(int fd, const char *key);
/* The next message, behind its length: malloc(). NULL: the connection ended. */
uint8_t *fake_message(int fd, uint32_t *ret_len);
uint32_t fake_u32(const uint8_t *p);
void fake_send(int fd, const void *data, size_t n);

#endif
