/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A component as a class, for C++17. Everything else is as in sim/component.h.
 *
 *     class Tracker : public sim::Component {
 *     public:
 *             int Init() override { ... }
 *             int Proc(const sim_message *const *m) override { ... }
 *     };
 *     SIM_CXX_COMPONENT(Tracker, &sim_Detected3DObjects_type, &sim_VehicleOdometry_type)
 *
 * Header only. What its functions throw does not leave them: it is the failure of that call (-EIO), with what() as its sentence.
 */
#ifndef SIM_COMPONENT_HPP
#define SIM_COMPONENT_HPP

#include <cerrno>
#include <exception>

#include <sim/component.h>

namespace sim
{

class Component
{
      public:
	Component() = default;
	Component(const Component &) = delete;
	Component &operator=(const Component &) = delete;
	virtual ~Component() = default;

	virtual int Init()
	{
		return 0;
	}
	virtual int Proc(const sim_message *const *)
	{
		return 0;
	}
	virtual void Shutdown()
	{
	}

	sim_component *handle() const
	{
		return handle_;
	}
	sim_node *node() const
	{
		return sim_component_node(handle_);
	}
	const char *name() const
	{
		return sim_component_name(handle_);
	}
	const char *config() const
	{
		return sim_component_config(handle_);
	}
	int64_t now() const
	{
		return sim_component_now(handle_);
	}

      private:
	template <class C> friend struct ComponentGlue;
	sim_component *handle_ = nullptr;
};

template <class C> struct ComponentGlue {
	template <class F> static int guard(sim_component *c, const char *what, F f) noexcept
	{
		try {
			return f();
		} catch (const std::exception &e) {
			return sim_component_fail(c, -EIO, "%s threw: %s", what, e.what());
		} catch (...) {
			return sim_component_fail(c, -EIO, "%s threw something that is no std::exception", what);
		}
	}
	static C *&object(void *self)
	{
		return *static_cast<C **>(self);
	}

	static int init(sim_component *c, void *self)
	{
		return guard(c, "Init", [&] {
			object(self) = new C;
			object(self)->handle_ = c;
			return object(self)->Init();
		});
	}
	static int proc(sim_component *c, void *self, const sim_message *const *m)
	{
		return guard(c, "Proc", [&] { return object(self)->Proc(m); });
	}
	static void shutdown(sim_component *c, void *self)
	{
		guard(c, "Shutdown", [&] {
			if (object(self))
				object(self)->Shutdown();
			return 0;
		});
		delete object(self);
	}

	template <class... Types> static constexpr sim_component_class make(const char *name, Types... types)
	{
		static_assert(sizeof...(types) <= SIM_COMPONENT_INPUTS, "a component has four inputs at most");
		return { SIM_COMPONENT_ABI,
			 sizeof(sim_component_class),
			 name,
			 sizeof(C *),
			 sizeof...(types),
			 0,
			 { types... },
			 init,
			 proc,
			 shutdown };
	}
};

} // namespace sim

/* Export class C, in no namespace, with the types of its inputs (none: a timer drives it). At file scope. */
#define SIM_CXX_COMPONENT(C, ...) \
	extern "C" SIM_API const struct sim_component_class sim_component_##C; \
	const struct sim_component_class sim_component_##C = sim::ComponentGlue<C>::make(#C, ##__VA_ARGS__);

#endif
