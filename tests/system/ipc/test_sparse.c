/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iceoryx hands out the lowest slots of a pool first, and never one beyond the number of slots out at once. Committing
 * memory slot by slot relies on that. A model follows every reference through random operations, and checks the
 * position of each slot that a loan returns; where RouDi has not written to its pools first (sparse.c), the file has no
 * page behind the last of these slots, whichever process was killed.
 */
#include "ipc_child.h"
#include "rnd.h"
#include "roudi.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define CLASSES    3
#define PUBLISHERS 6
#define CHANNELS   2
#define READERS    3 /* of each channel */
#define DEPTH      4
#define HELD_MAX   8
#define LOANS_MAX  4

static const struct ipc_mem_pool pools[CLASSES] = { { 320, 2000 }, { 4096, 1000 }, { 65536, 500 } };
static struct roudi roudi;
static struct ipc *ipc;

/* ---- the model: references to a slot, by its place in its pool ---- */

struct slot {
	unsigned class, index;
};

static const char *base; /* of the first slot that was ever handed out, one of the smallest */
static struct {
	unsigned refs[2000], out, peak;
} pool[CLASSES];
static unsigned others; /* slots that another process may have besides */

static size_t stride(unsigned class)
{
	return pools[class].size + 40;
}

static void ref(struct slot s)
{
	if (pool[s.class].refs[s.index]++ == 0 && ++pool[s.class].out > pool[s.class].peak)
		pool[s.class].peak = pool[s.class].out;
}

static void unref(struct slot s)
{
	assert_true(pool[s.class].refs[s.index] > 0);
	pool[s.class].out -= --pool[s.class].refs[s.index] == 0;
}

/*
 * Pools lie one behind the other; a publisher whose last slot is not shared gets that one again, even if it is larger
 * than need be.
 */
static struct slot place_of(const char *at)
{
	struct slot s = { 0, 0 };
	size_t far = (size_t)(at + IPC_ALIGN - base); /* each is aligned within its slot */

	for (; s.class < CLASSES - 1 && far >= stride(s.class) * pools[s.class].count; s.class ++)
		far -= stride(s.class) * pools[s.class].count;
	s.index = (unsigned)(far / stride(s.class));
	assert_true(s.index < pools[s.class].count);
	return s;
}

/* ---- publishers and readers ---- */

struct publisher {
	struct ipc_pub *pub;
	unsigned channel, n;
	struct slot loan[LOANS_MAX], last;
	void *at[LOANS_MAX];
	bool has_last;
};

struct reader {
	struct ipc_sub *sub;
	unsigned n, first, held;
	struct slot queue[DEPTH], hand[HELD_MAX];
	const void *at[HELD_MAX];
};

static struct publisher pubs[PUBLISHERS];
static struct reader readers[CHANNELS][READERS];
static struct rnd rnd;

static void loan(struct publisher *p)
{
	unsigned class = rnd_below(&rnd, CLASSES);
	size_t size = (class ? pools[class - 1].size : 0) + 1;
	struct slot s;
	void *at;

	if (p->n == LOANS_MAX)
		return;
	assert_int_equal(ipc_loan(p->pub, size, &at), 0);
	p->at[p->n] = at;
	s = place_of(at);
	ref(s);
	assert_true(s.class >= class);
	assert_true(s.index <
		    pool[s.class].peak +
			    others); /* whatever is out: as many as have ever been out at once, from the lowest on */
	p->loan[p->n++] = s;
}

static void queue(struct reader *r, struct slot s)
{
	if (r->n == DEPTH) {
		unref(r->queue[r->first]);
		r->first = (r->first + 1) % DEPTH;
		r->n--;
	}
	r->queue[(r->first + r->n++) % DEPTH] = s;
	ref(s);
}

static void give(struct publisher *p, bool publish)
{
	struct slot s;

	if (!p->n)
		return;
	s = p->loan[--p->n];
	if (!publish) {
		assert_int_equal(ipc_unloan(p->pub, p->at[p->n]), 0);
		unref(s);
		return;
	}
	assert_int_equal(ipc_publish(p->pub, p->at[p->n]), 0);
	for (int i = 0; i < READERS; i++)
		queue(&readers[p->channel][i], s);
	if (p->has_last)
		unref(p->last);
	p->last = s; /* it keeps this one, with the reference of its loan */
	p->has_last = true;
}

static void take(struct reader *r)
{
	const void *at;
	size_t size;
	int got;

	if (r->held == HELD_MAX)
		return;
	got = ipc_take(r->sub, &at, &size);
	assert_int_equal(got, r->n ? 0 : -EAGAIN);
	if (got < 0)
		return;
	r->at[r->held] = at;
	r->hand[r->held++] = r->queue[r->first];
	r->first = (r->first + 1) % DEPTH;
	r->n--;
}

static void release(struct reader *r)
{
	unsigned i;

	if (!r->held)
		return;
	i = rnd_below(&rnd, r->held);
	assert_int_equal(ipc_release(r->sub, r->at[i]), 0);
	unref(r->hand[i]);
	r->at[i] = r->at[--r->held];
	r->hand[i] = r->hand[r->held];
}

static void operate(void)
{
	struct publisher *p = &pubs[rnd_below(&rnd, PUBLISHERS)];
	struct reader *r = &readers[rnd_below(&rnd, CHANNELS)][rnd_below(&rnd, READERS)];

	switch (rnd_below(&rnd, 8)) {
	case 0:
	case 1:
		loan(p);
		break;
	case 2:
	case 3:
		give(p, true);
		break;
	case 4:
		give(p, false);
		break;
	case 5:
	case 6:
		take(r);
		break;
	default:
		release(r);
	}
}

static void open_ports(void)
{
	const struct ipc_sub_options o = { .depth = DEPTH };
	char name[16];
	void *first;

	for (unsigned c = 0; c < CHANNELS; c++)
		for (unsigned i = 0; i < READERS; i++) {
			snprintf(name, sizeof(name), "c%u", c);
			assert_int_equal(ipc_sub_create(ipc, name, &o, &readers[c][i].sub), 0);
		}
	for (unsigned i = 0; i < PUBLISHERS; i++) {
		pubs[i].channel = i % CHANNELS;
		snprintf(name, sizeof(name), "c%u", pubs[i].channel);
		assert_int_equal(ipc_pub_create(ipc, name, NULL, &pubs[i].pub), 0);
	}
	for (unsigned c = 0; c < CHANNELS; c++)
		for (unsigned i = 0; i < READERS; i++)
			AWAIT(ipc_sub_connected(readers[c][i].sub));
	assert_int_equal(ipc_loan(pubs[0].pub, 1, &first), 0);
	base = first;
	assert_int_equal(ipc_unloan(pubs[0].pub, first), 0);
}

/* ---- the file ---- */

/* The last slot of the largest class of which the file has a page. */
static unsigned last_in_file(void)
{
	char path[300];
	int fd;
	off_t at = 0, data, end = 0, begin;
	struct stat st;

	snprintf(path, sizeof(path), "/dev/shm/%s", getgrgid(getegid())->gr_name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	while ((data = lseek(fd, at, SEEK_DATA)) >= 0)
		end = at = lseek(fd, data, SEEK_HOLE);
	close(fd);
	begin = st.st_size - (off_t)(stride(CLASSES - 1) * pools[CLASSES - 1].count);
	return end > begin ? (unsigned)((size_t)(end - begin) / stride(CLASSES - 1)) : 0;
}

TEST(used_slots_are_the_lowest_ones)
{
	unsigned n = test_full() ? 10000000 : 100000;

	for (unsigned i = 0; i < n; i++)
		operate();
	for (unsigned c = 0; c < CLASSES; c++)
		print_message("slots of %llu bytes: at most %u out at once, of %u\n", (unsigned long long)pools[c].size,
			      pool[c].peak, pools[c].count);
	assert_true(last_in_file() <= pool[CLASSES - 1].peak);
}

/* ---- killed processes ---- */

#define KILLS      (test_full() ? 300 : 20)
#define VICTIM_MAX (2 * 2 + 2 * (DEPTH + HELD_MAX)) /* slots that one refers to */
#define IN_HAND    8                                /* and the slots that they hold */

/* With the victim. */
static struct {
	uint64_t origin[2]; /* of its publishers */
	_Atomic unsigned loans;
} * shared;

static void victim(void)
{
	const struct ipc_sub_options o = { .depth = DEPTH };
	struct ipc_pub *pub[2];
	struct ipc_sub *sub[2];
	const void *held[2][HELD_MAX];
	unsigned n[2] = { 0 };
	size_t size;
	void *at;

	ipc = attach_as("victim");
	rnd_seed(&rnd, (uint64_t)getpid());
	for (int i = 0; i < 2; i++) {
		CHECK_IS(ipc_pub_create(ipc, "victims", NULL, &pub[i]), 0);
		CHECK_IS(ipc_sub_create(ipc, "victims", &o, &sub[i]), 0);
		shared->origin[i] = ipc_pub_origin(pub[i]);
	}
	for (;;) {
		unsigned i = rnd_below(&rnd, 2);

		CHECK_IS(ipc_loan(pub[i], 5000, &at), 0);
		CHECK_IS(rnd_below(&rnd, 4) ? ipc_publish(pub[i], at) : ipc_unloan(pub[i], at), 0);
		shared->loans++;
		if (n[i] < HELD_MAX && ipc_take(sub[i], &held[i][n[i]], &size) == 0)
			n[i]++;
		if (n[i] && rnd_below(&rnd, 2))
			CHECK_IS(ipc_release(sub[i], held[i][--n[i]]), 0);
	}
}

/* As simd does after a death; no other process holds a slot now. */
static void reclaim(void)
{
	struct ipc_scan_request o = { .dead = shared->origin, .n_dead = 2, .marks = true };
	struct ipc_scan s;

	assert_int_equal(ipc_free_app(NULL, "victim"), 0);
	assert_int_equal(ipc_probe(NULL, PATIENT_MS), 0);
	assert_int_equal(ipc_scan(ipc, &o, &s), 0);
	o.settled = s.number;
	assert_int_equal(ipc_scan(ipc, &o, &s), 0);
}

TEST(used_slots_stay_the_lowest_ones_after_kills)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	assert_int_equal(ipc_beacon_create(ipc), 0);
	others = VICTIM_MAX + IN_HAND;
	for (int i = 0; i < KILLS; i++) {
		unsigned before = shared->loans;
		pid_t pid = child_start(victim);

		AWAIT(shared->loans - before > 100);
		moment_us(rnd_below(&rnd, 2000));
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(child_status(pid), SIGKILL);
		reclaim();
		for (int k = 0; k < 1000; k++)
			operate();
	}
	print_message("%d kills: the last slot of 65536 bytes that has memory is %u; at most %u are out at once\n",
		      KILLS, last_in_file(), pool[CLASSES - 1].peak + others);
	assert_true(last_in_file() <= pool[CLASSES - 1].peak + others);
}

static int begin(void **state)
{
	(void)state;
	/* page by page; it is the same file system, so the test's own */
	if (getenv("SIMD_TESTS_NS"))
		assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "huge=never"), 0);
	setenv("ROUDI_ALSO", SPARSE, 1);
	assert_int_equal(roudi_start(&roudi, pools, CLASSES), 0);
	ipc = attach_as("test");
	rnd_seed(&rnd, test_seed(38));
	open_ports();
	return 0;
}

static int end(void **state)
{
	(void)state;
	ipc_detach(ipc);
	roudi_kill(&roudi);
	return 0;
}

TEST_GROUP(begin, end)
