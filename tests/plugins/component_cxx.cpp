/* SPDX-License-Identifier: Apache-2.0 */
/* Components as classes, which throw at what they do not like; one has a parameter. */
#include <stdexcept>
#include <string>
#include <thread>

#include <sim/component.hpp>
#include <sim/msg/Int32.h>
#include <sim/param.h>

static const sim_Int32 &int_of(const sim_message *m)
{
	return *sim_Int32_from(m->body, m->body_size);
}

class Picky : public sim::Component
{
      public:
	int Init() override
	{
		if (std::string(config()).find("bad") != std::string::npos)
			throw std::runtime_error("a bad configuration");
		return sim_node_writer_create(node(), "/picked", &sim_Int32_type, nullptr, &out_);
	}
	int Proc(const sim_message *const *m) override
	{
		const sim_Int32 &x = int_of(m[0]);

		if (x.data < 0)
			throw std::out_of_range("less than nothing");
		if (x.data == 0)
			throw 0;
		return sim_node_write_copy(out_, &x, sizeof(x), 0);
	}
	void Shutdown() override
	{
		sim_node_writer_destroy(out_);
	}

      private:
	sim_node_writer *out_ = nullptr;
};

SIM_CXX_COMPONENT(Picky, &sim_Int32_type)

/* Its constructor asks for what is not there yet. */
class Early : public sim::Component
{
      public:
	Early()
	{
		(void)config();
	}
};

SIM_CXX_COMPONENT(Early)

class Late : public sim::Component
{
      public:
	void Shutdown() override
	{
		throw std::runtime_error("too late");
	}
};

SIM_CXX_COMPONENT(Late)

class Last : public sim::Component
{
      public:
	~Last()
	{
		throw std::runtime_error("not without me");
	}
};

SIM_CXX_COMPONENT(Last)

/* Has a thread of its own, which throws: in Guard(), or, "raw", past it. What became of it is told, or, "silent", not. */
class Own : public sim::Component
{
      public:
	int Init() override
	{
		std::string conf = config();

		std::thread([&] { Run(conf.find("raw") != conf.npos); }).join();
		if (conf.find("silent") != conf.npos)
			return r_;
		return r_ == 0 ? 0 : sim_component_fail(handle(), r_, "the thread's end: %s", why_);
	}

      private:
	void Run(bool raw)
	{
		auto f = []() -> int { throw std::runtime_error("nobody hears me"); };

		r_ = raw ? f() : Guard("its thread", f, why_, sizeof(why_));
	}

	int r_ = 0;
	char why_[256] = "";
};

SIM_CXX_COMPONENT(Own)

/* Its callbacks throw what they like: of a reader, a timer, a parameter. Each "in" sets the parameter, and fails as that says. */
class Raw : public sim::Component
{
	int Init() override
	{
		sim_param_value zero = sim_param_int(0);
		sim_param_options o = {};
		int r = sim_node_reader_create(node(), "/raw", &sim_Int32_type, nullptr, sim::Callback<&Raw::OnMessage>,
					       this, &in_);

		o.size = sizeof(o);
		o.changed = sim::Callback<&Raw::Changed>;
		o.user = this;
		if (r == 0)
			r = sim_node_timer_create(node(), nullptr, 10000000, true, sim::Callback<&Raw::OnTimer>, this,
						  &timer_);
		if (r == 0)
			r = sim_params_create(sim_host_client(sim_node_host(node())), name(), &params_);
		return r == 0 ? sim_params_declare(params_, "p", &zero, &o) : r;
	}
	int Proc(const sim_message *const *m) override
	{
		sim_param_value v = sim_param_int(int_of(m[0]).data);

		return sim_params_set(params_, "p", &v);
	}
	void Shutdown() override
	{
		sim_params_destroy(params_);
		sim_node_timer_destroy(timer_);
		sim_node_reader_destroy(in_);
	}

	void OnMessage(const sim_message *m)
	{
		if (int_of(m).data < 0)
			throw std::out_of_range("a message of nothing");
		throw 0;
	}
	void OnTimer(int64_t, uint64_t)
	{
		throw std::runtime_error("not now");
	}
	int Changed(const char *, const sim_param_value *v, char *, size_t)
	{
		return v->as.i == 1 ? -EDOM : v->as.i == 2 ? throw std::invalid_argument("two is many") : 0;
	}

	sim_node_reader *in_ = nullptr;
	sim_node_timer *timer_ = nullptr;
	sim_params *params_ = nullptr;
};

SIM_CXX_COMPONENT(Raw, &sim_Int32_type)

/* Guards itself before it has a name. */
class Early2 : public sim::Component
{
      public:
	Early2()
	{
		char why[256];

		if (Guard(
			    "it", []() -> int { throw std::runtime_error("so soon"); }, why, sizeof(why)) < 0)
			throw std::runtime_error(why);
	}
};

SIM_CXX_COMPONENT(Early2)

/*
 * Writes what comes in times its parameter "gain", which nobody may set to 13, and the sum of the last three on /sums. What comes in
 * from 100 on sets the gain to that less 100. Its functions are nobody's to call.
 */
class Gain : public sim::Component
{
	int Init() override
	{
		sim_param_options o = {};
		sim_param_value one = sim_param_int(1);
		int r = sim_node_writer_create(node(), "/gained", &sim_Int32_type, nullptr, &out_);

		o.size = sizeof(o);
		o.changed = Changed;
		o.user = this;
		if (r == 0)
			r = sim_node_writer_create(node(), "/sums", &sim_Int32_type, nullptr, &sums_);
		if (r == 0)
			r = sim_params_create(sim_host_client(sim_node_host(node())), sim_node_name(node()), &params_);
		return r == 0 ? sim_params_declare(params_, "gain", &one, &o) : r;
	}

	static int Changed(void *user, const char *, const sim_param_value *v, char *why, size_t why_size)
	{
		Gain *g = static_cast<Gain *>(user);

		return g->Guard(
			"Changed",
			[&] {
				if (v->as.i == 13)
					throw std::invalid_argument("13 brings bad luck");
				if (v->as.i == 14)
					return -EDOM;
				g->changes_++;
				return 0;
			},
			why, why_size);
	}

	int Proc(const sim_message *const *m) override
	{
		sim_Int32 x = int_of(m[0]), sum = { 0 };
		int64_t gain;
		int r;

		if (x.data >= 100) {
			sim_param_value v = sim_param_int(x.data - 100);

			return sim_params_set(params_, "gain", &v);
		}
		r = sim_params_get_int(params_, "gain", &gain);
		if (r < 0)
			return r;
		sim_node_reader_observe(reader(0));
		for (unsigned i = 0; i < sim_node_reader_count(reader(0)); i++)
			sum.data += int_of(sim_node_reader_get(reader(0), i)).data;
		x.data = static_cast<int32_t>(x.data * gain + 1000 * changes_);
		r = sim_node_write_copy(out_, &x, sizeof(x), 0);
		return r == 0 ? sim_node_write_copy(sums_, &sum, sizeof(sum), 0) : r;
	}

	void Shutdown() override
	{
		sim_params_destroy(params_);
		sim_node_writer_destroy(out_);
		sim_node_writer_destroy(sums_);
	}

	sim_params *params_ = nullptr;
	sim_node_writer *out_ = nullptr, *sums_ = nullptr;
	int changes_ = 0;
};

SIM_CXX_COMPONENT(Gain, &sim_Int32_type)
