// Chooses the instruction set: the last of the list that the machine has, unless RANKHASH_ISA names another.
//
// To add one: write vec_<isa>.hpp and kernels_<isa>.cpp, give it its flags in CMakeLists.txt, and name it here.
#include <atomic>
#include <cstring>

#include "kernels/kernels.hpp"

namespace rankhash {

extern const Kernels kernels_scalar;
#ifdef RANKHASH_HAVE_AVX2
extern const Kernels kernels_avx2;
#endif
#ifdef RANKHASH_HAVE_AVX512
extern const Kernels kernels_avx512;
#endif
#ifdef RANKHASH_HAVE_NEON
extern const Kernels kernels_neon;
#endif

int available_kernels(const Kernels** out, int capacity) {
  int n = 0;
  const auto offer = [&](const Kernels& kernels) {
    if (n < capacity) out[n++] = &kernels;
  };
  offer(kernels_scalar);
#ifdef RANKHASH_HAVE_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    offer(kernels_avx2);
#endif
#ifdef RANKHASH_HAVE_AVX512  // these also check that the system saves the registers
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    offer(kernels_avx512);
#endif
#ifdef RANKHASH_HAVE_NEON
  offer(kernels_neon);
#endif
  return n;
}

static std::atomic<const Kernels*>& chosen() {
  static std::atomic<const Kernels*> kernels = [] {
    const Kernels* list[8];
    return list[available_kernels(list, 8) - 1];
  }();
  return kernels;
}

const Kernels& active_kernels() { return *chosen().load(std::memory_order_relaxed); }

bool use_kernels(const char* name) {
  const Kernels* list[8];
  const int n = available_kernels(list, 8);
  for (int i = 0; i < n; ++i)
    if (!std::strcmp(list[i]->name, name)) return chosen().store(list[i]), true;
  return false;
}

}  // namespace rankhash
