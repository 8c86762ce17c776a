/* SPDX-License-Identifier: Apache-2.0 */
/* A component as a class, which throws at what it does not like. */
#include <stdexcept>
#include <string>

#include <sim/component.hpp>
#include <sim/msg/Int32.h>

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
		const sim_Int32 *x = sim_Int32_from(m[0]->body, m[0]->body_size);

		if (x->data < 0)
			throw std::out_of_range("less than nothing");
		if (x->data == 0)
			throw 0;
		return sim_node_write_copy(out_, x, sizeof(*x), 0);
	}
	void Shutdown() override
	{
		sim_node_writer_destroy(out_);
	}

      private:
	sim_node_writer *out_ = nullptr;
};

SIM_CXX_COMPONENT(Picky, &sim_Int32_type)
