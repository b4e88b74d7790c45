// expect-error: add: boolean[3] and boolean[3]: it takes numbers, not booleans; convert them first
#include "atled/loops/eager.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<boolean, 3> a;
const auto b = a | a;
#else
const tensor<boolean, 3> a;
const auto b = a + a;
#endif
