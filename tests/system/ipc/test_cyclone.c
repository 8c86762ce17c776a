/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that has iceoryx itself, through Cyclone DDS: its copy of the libraries, loaded first and with
 * the default error handler, must not be the one the data plane runs on. A SEVERE error then is an
 * errno; with a shared copy it is SIGABRT. Cyclone's own shared-memory runtime lives beside ours.
 */
#include <dds/dds.h>
#include <dlfcn.h>

#include "ipc_child.h"
#include "roudi.h"

static const struct ipc_mem_pool pools[] = { { 256, 500 }, { 65536, 16 } };
static struct roudi roudi;

static void severe_errors(struct ipc *ipc)
{
	static struct ipc_pub *pub[600];
	void *slot;
	int n = 0, r;

	CHECK_IS(ipc_pub_create(ipc, "dds", NULL, &pub[0]), 0);
	CHECK_IS(ipc_loan(pub[0], 1 << 24, &slot), -EMSGSIZE); /* SEVERE: chunk is too large */
	for (r = 0, n = 1; r == 0 && n < 600; n += r == 0)
		r = ipc_pub_create(ipc, "dds", NULL, &pub[n]);
	CHECK_IS(r, -EMFILE); /* SEVERE: publisher list full */
	CHECK_IS(ipc_loan(pub[0], 100, &slot), 0);
	CHECK_IS(ipc_publish(pub[0], slot), 0);
	while (n > 0)
		ipc_pub_destroy(pub[--n]);
}

static void beside_cyclone(void)
{
	dds_entity_t participant;
	struct ipc *ipc;

	CHECK(dlsym(RTLD_DEFAULT, "iox_pub_init") != NULL); /* the host has iceoryx */
	participant = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
	CHECK(participant > 0);
	ipc = attach_as("dds-host");
	severe_errors(ipc);
	ipc_detach(ipc);
	CHECK(dds_delete(participant) == DDS_RETCODE_OK);
}

static int start(void **state)
{
	(void)state;
	return roudi_restart(&roudi, pools, 2);
}

static int stop(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return 0;
}

TEST_WITH(a_severe_error_beside_cyclone_is_survived, start, stop)
{
	setenv("CYCLONEDDS_URI", "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>", 1);
	child_run(beside_cyclone);
}

TEST_WITH(a_severe_error_beside_cyclone_on_iceoryx_is_survived, start, stop)
{
	setenv("CYCLONEDDS_URI",
	       "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>"
	       "<SharedMemory><Enable>true</Enable><LogLevel>off</LogLevel></SharedMemory>",
	       1);
	child_run(beside_cyclone);
}
