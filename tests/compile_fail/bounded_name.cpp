// expect-error: atled::upto: a name is at most 6 of the letters a to z, 0 to 9 and _
#include "atled/core/bounded_tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
using prompt = tensor<f32, upto<3, "tokens">>;
#else
using prompt = tensor<f32, upto<3, "positions">>;
#endif
static_assert(prompt::rank == 1);
