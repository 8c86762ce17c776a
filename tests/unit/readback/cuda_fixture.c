/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_fixture.h. */
#include "cuda_fixture.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Never unloaded: its thread runs. */
static void *library(void)
{
	void *lib = dlopen(CUDA_STAND_IN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!lib)
		fail_msg("%s", dlerror());
	return lib;
}

void cuda_fixture_load(struct cuda_fixture *f)
{
	void *lib = library();

	memset(f, 0, sizeof(*f));
	f->driver = dlsym(lib, "cuda_stand_in");
	assert_non_null(f->driver);
	assert_ok(cuda_find_calls(lib, dlsym, &f->cu));
#define X(member, symbol, args) \
	*(void **)&f->program.member = dlsym(lib, symbol); \
	assert_non_null(f->program.member);
	CUDA_PROGRAM_CALLS(X)
#undef X
	assert_int_equal(f->cu.Init(0), CUDA_OK);
}

static void done(void *arg, struct sim_readback_ticket *t)
{
	struct cuda_fixture *f = arg;

	assert_true(f->n < DONE);
	f->number[f->n] = t->number;
	f->result[f->n] = t->result;
	f->copies[f->n] = t->copies;
	snprintf(f->why[f->n], sizeof(f->why[f->n]), "%s", t->why);
	for (uint32_t y = 0; t->data && y < H && t->data_size >= SIZE; y++)
		memcpy(&f->data[f->n][y * ROW], (const uint8_t *)t->data + (size_t)y * t->row_pitch, ROW);
	f->n++;
}

void cuda_fixture_arena(struct cuda_fixture *f)
{
	void *p = mmap(NULL, slots_arena(&f->slots, NULL), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	f->slots.arena = p;
	f->slots.generation++;
}

void cuda_fixture_init(struct cuda_fixture *f)
{
	cuda_fixture_load(f);
	assert_int_equal(f->program.CtxCreate(&f->context, 0, 0), CUDA_OK);
	assert_int_equal(f->program.StreamCreate(&f->stream, 0), CUDA_OK);
	assert_int_equal(f->program.MemAlloc(&f->source, SIZE), CUDA_OK);
	cuda_fill(f, f->source, SIZE, 1);
	f->slots = (struct slots){ .max_body = 8192, .now_sim_ns = 5 };
	cuda_fixture_arena(f);
	f->o = (struct sim_readback_options){
		.size = sizeof(f->o),
		.backend = SIM_READBACK_CUDA,
		.shape = { .format = SIM_READBACK_RGBA8, .width = W, .height = H },
		.publisher = slots_publisher(&f->slots),
		.head = 64,
		.done = done,
		.done_arg = f,
		.cuda = { .stream = f->stream },
	};
}

void cuda_fixture_create(struct cuda_fixture *f)
{
	assert_ok(sim_readback_create(&f->o, &f->rb));
}

void cuda_fixture_finish(struct cuda_fixture *f)
{
	struct cuda_stand_in_state s;

	sim_readback_destroy(f->rb);
	s = cuda_state(f);
	assert_int_equal(f->slots.out, 0);
	assert_int_equal(s.events, 0);
	assert_int_equal(s.registered, 0);
	assert_int_equal(s.allocated, 0);
	assert_int_equal(s.opened, 0);
	assert_int_equal(s.pageable, 0);
	assert_int_equal(s.stray, 0);
	assert_int_equal(s.misuse, 0);
	assert_int_equal(f->driver->depth(), 1);
	assert_int_equal(f->program.MemFree(f->source), CUDA_OK);
	assert_int_equal(f->program.StreamDestroy(f->stream), CUDA_OK);
	assert_int_equal(f->program.CtxDestroy(f->context), CUDA_OK);
}

uint8_t cuda_byte(unsigned seed, size_t i)
{
	return (uint8_t)(seed * 37 + i * 7 + i / 251);
}

void cuda_fill(struct cuda_fixture *f, cuda_pointer to, size_t size, unsigned seed)
{
	uint8_t *all = malloc(size);

	assert_non_null(all);
	for (size_t i = 0; i < size; i++)
		all[i] = cuda_byte(seed, i);
	assert_int_equal(f->program.MemcpyHtoD(to, all, size), CUDA_OK);
	free(all);
}

void assert_pixels(const struct cuda_fixture *f, unsigned k, unsigned seed)
{
	assert_true(k < f->n);
	assert_int_equal(f->result[k], 0);
	for (size_t i = 0; i < SIZE; i++) {
		if (f->data[k][i] != cuda_byte(seed, i))
			fail_msg("byte %zu of number %u is %u, not %u", i, k, f->data[k][i], cuda_byte(seed, i));
	}
}

int cuda_start_of(struct cuda_fixture *f, struct sim_readback_source s)
{
	s.size = sizeof(s);
	if (!s.format)
		s.format = SIM_READBACK_RGBA8;
	return sim_readback_start(f->rb, &s, NULL);
}

int cuda_start(struct cuda_fixture *f)
{
	return cuda_start_of(f, (struct sim_readback_source){ .cuda.pointer = f->source });
}

void cuda_drain(struct cuda_fixture *f)
{
	assert_ok(sim_readback_drain(f->rb, -1));
}

struct cuda_stand_in_state cuda_state(const struct cuda_fixture *f)
{
	struct cuda_stand_in_state s;

	f->driver->state(&s);
	return s;
}

struct sim_readback_counters cuda_counters(const struct cuda_fixture *f)
{
	struct sim_readback_counters n;

	sim_readback_get_counters(f->rb, &n);
	return n;
}

void says(int r, int error, const char *words)
{
	assert_int_equal(r, error);
	if (!strstr(sim_readback_why(), words))
		fail_msg("\"%s\" does not say \"%s\"", sim_readback_why(), words);
}

/* ---- memory of another process ---- */

static void export(int out, int in)
{
	char c;

	static struct cuda_fixture f;

	cuda_fixture_load(&f);
	assert_int_equal(f.program.CtxCreate(&f.context, 0, 0), CUDA_OK);
	for (unsigned i = 0; i < SIM_READBACK_CUDA_IPC_MAX + 1; i++) {
		struct cuda_ipc_handle h;
		cuda_pointer p;

		assert_int_equal(f.program.MemAlloc(&p, SIZE + 64), CUDA_OK);
		cuda_fill(&f, p, SIZE + 64, i);
		assert_int_equal(f.program.IpcGetMemHandle(&h, p), CUDA_OK);
		assert_int_equal(write(out, &h, sizeof(h)), sizeof(h));
	}
	_exit((int)read(in, &c, 1)); /* until the other one is over: 0 */
}

void cuda_exporter_init(struct cuda_exporter *e)
{
	int there[2], back[2];

	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	e->pid = fork();
	assert_true(e->pid >= 0);
	if (e->pid == 0) {
		close(back[1]);
		export(there[1], back[0]);
	}
	close(there[1]);
	close(back[0]);
	e->out = back[1];
	e->in = there[0];
	for (unsigned i = 0; i < SIM_READBACK_CUDA_IPC_MAX + 1; i++)
		assert_int_equal(read(e->in, &e->handle[i], sizeof(e->handle[i])), sizeof(e->handle[i]));
}

void cuda_exporter_finish(struct cuda_exporter *e)
{
	int status;

	close(e->out);
	close(e->in);
	assert_int_equal(waitpid(e->pid, &status, 0), e->pid);
	assert_int_equal(status, 0);
}
