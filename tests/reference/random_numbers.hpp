// reference/random_numbers.hpp: numbers drawn by jax.random 0.12.0.1, written by make_random.py.
// Reads: atled/core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

// clang-format off
namespace atled::reference {

/// key(0)
inline constexpr u32 key_0[] = {0, 0};

/// key(42)
inline constexpr u32 key_42[] = {0, 42};

/// key(int32(-7))
inline constexpr u32 key_negative[] = {0, 4294967289U};

/// key(int64(2**40 + 5))
inline constexpr u32 key_long[] = {256, 5};

/// split(key(0), 3)
inline constexpr u32 split_3[] = {1797259609, 2579123966U, 928981903, 3453687069U, 4146024105U, 2718843009U};

/// split(split(key(0))[0])[1]
inline constexpr u32 split_of_split[] = {1353695780, 2116000888};

/// fold_in(key(0), 1)
inline constexpr u32 fold_in_1[] = {928981903, 3453687069U};

/// fold_in(key(42), 123456789)
inline constexpr u32 fold_in_large[] = {801338215, 1032655946};

/// bits(key(0), (4,))
inline constexpr u32 bits_u32[] = {4070199207U, 4202968722U, 1427181096, 2012915765};

/// bits(key(42), (6,), uint8)
inline constexpr u32 bits_u8[] = {162, 217, 249, 215, 21, 216};

/// uniform(key(0), (4,))
inline constexpr f32 uniform_f32[] = {0x1.e5349c0000000p-1F, 0x1.f5086c0000000p-1F, 0x1.5444380000000p-2F, 0x1.dfeaa00000000p-2F};

/// uniform(key(0), (4,), float64)
inline constexpr f64 uniform_f64[] = {0x1.ac80056666e90p-2, 0x1.baf91c7e6ed88p-3, 0x1.ee3e9d53441c8p-1, 0x1.2624ef17c9d1ap-1};

/// uniform(key(0), (8,), bfloat16)
inline constexpr f32 uniform_bf16[] = {0x1.4c00000000000p-1F, 0x1.2400000000000p-1F, 0x1.4000000000000p-3F, 0x1.a000000000000p-3F, 0x1.6c00000000000p-1F, 0x1.0800000000000p-2F, 0x1.f000000000000p-2F, 0x1.fc00000000000p-1F};

/// uniform(key(0), (8,), float16)
inline constexpr f32 uniform_f16[] = {0x1.3e00000000000p-2F, 0x1.b400000000000p-3F, 0x1.c000000000000p-5F, 0x1.5000000000000p-1F, 0x1.dc00000000000p-3F, 0x1.a500000000000p-2F, 0x1.d480000000000p-1F, 0x1.9980000000000p-1F};

/// uniform(key(42), (2, 3), minval=-2, maxval=5.5)
inline constexpr f32 uniform_between[] = {0x1.aa52880000000p+0F, 0x1.8c9af40000000p+1F, 0x1.4f9ee20000000p+1F, 0x1.1a93500000000p+1F, 0x1.613cd80000000p+0F, 0x1.326e640000000p+1F};

/// normal(key(42), (3,))
inline constexpr f32 normal_f32[] = {-0x1.cfbe2a0000000p-6F, 0x1.de57d00000000p-2F, 0x1.2eccc20000000p-2F};

/// normal(key(42), ())
inline constexpr f32 normal_scalar[] = {-0x1.cfbe2a0000000p-6F};

/// normal(key(0), (4, 4))
inline constexpr f32 normal_16[] = {0x1.9f657a0000000p+0F, 0x1.033be00000000p+1F, -0x1.bc002e0000000p-2F, -0x1.4204440000000p-4F, 0x1.68a2580000000p-3F, -0x1.f1b5ae0000000p-1F, -0x1.fb2f980000000p-2F, 0x1.fa3e620000000p-2F, 0x1.5425980000000p-1F, -0x1.e67bd40000000p-1F, 0x1.16fada0000000p+1F, -0x1.f484c00000000p+0F, 0x1.6f2d2a0000000p-2F, 0x1.432a180000000p-3F, 0x1.46ef060000000p+0F, 0x1.82add20000000p+0F};

/// normal(key(42), (8,), float64)
inline constexpr f64 normal_f64[] = {-0x1.7a4a26c962159p-3, -0x1.15bccfaa7ba3ap+1, 0x1.7ed8110b50460p-3, 0x1.397ad84a04356p-1, 0x1.f5603e3665211p-2, 0x1.79dc43b3389fbp-2, 0x1.7bc68fa0d483dp-2, 0x1.e1f34ac8bb7b6p-3};

/// normal(key(0), (8,), bfloat16)
inline constexpr f32 normal_bf16[] = {0x1.8c00000000000p-2F, 0x1.7600000000000p-3F, -0x1.0000000000000p+0F, -0x1.a600000000000p-1F, 0x1.2000000000000p-1F, -0x1.4a00000000000p-1F, -0x1.1a00000000000p-5F, 0x1.4200000000000p+1F};

/// normal(key(0), (8,), float16)
inline constexpr f32 normal_f16[] = {-0x1.f980000000000p-2F, -0x1.9740000000000p-1F, -0x1.9940000000000p+0F, 0x1.9c80000000000p-2F, -0x1.75c0000000000p-1F, -0x1.cac0000000000p-3F, 0x1.5fc0000000000p+0F, 0x1.af00000000000p-1F};

/// gumbel(key(0), (8,), float16)
inline constexpr f32 gumbel_f16[] = {-0x1.3fc0000000000p-3F, -0x1.bec0000000000p-2F, -0x1.1100000000000p+0F, 0x1.bac0000000000p-1F, -0x1.82c0000000000p-2F, 0x1.e380000000000p-4F, 0x1.3600000000000p+1F, 0x1.7fc0000000000p+0F};

/// truncated_normal(key(0), -2, 1.5, (8,))
inline constexpr f32 truncated[] = {0x1.3403940000000p+0F, 0x1.5d249a0000000p+0F, -0x1.cfd9560000000p-2F, -0x1.0438c60000000p-3F, 0x1.abe6ec0000000p-4F, -0x1.e1a2780000000p-1F, -0x1.04eaca0000000p-1F, 0x1.8be7200000000p-2F};

/// gumbel(key(0), (8,))
inline constexpr f32 gumbel_f32[] = {0x1.7631120000000p+1F, 0x1.ea93380000000p+1F, -0x1.8cdfee0000000p-4F, 0x1.1be9480000000p-2F, 0x1.26c1700000000p-1F, -0x1.2c98780000000p-1F, -0x1.4283fc0000000p-3F, 0x1.fa8c9e0000000p-1F};

/// randint(key(0), (8,), -5, 100)
inline constexpr i32 randint_i32[] = {59, 25, 57, 53, 36, 7, 52, 93};

/// randint(key(42), (8,), -2**31, 2**31 - 1)
inline constexpr i32 randint_wide[] = {977810628, 1236381714, -1367112521, -1019495231, -1671904627, -1277190805, -783021695, -1694062297};

/// randint(key(0), (8,), 0, 200, uint8)
inline constexpr i32 randint_u8[] = {189, 0, 112, 173, 171, 147, 32, 23};

/// bernoulli(key(0), 0.3, (10,))
inline constexpr boolean bernoulli_10[] = {false, false, false, false, false, true, false, false, false, true};

/// logits f32[3,4] of the next two
inline constexpr f32 logits[] = {0x1.99999a0000000p-4F, 0x1.6666660000000p-1F, -0x1.0000000000000p+0F, 0x1.0000000000000p+1F, 0x1.8000000000000p+1F, 0x1.0000000000000p+0F, 0x1.0000000000000p-1F, 0x1.0000000000000p-2F, 0x0.0p+0F, 0x0.0p+0F, 0x0.0p+0F, 0x0.0p+0F};

/// categorical(key(42), logits)
inline constexpr i32 categorical_last[] = {3, 0, 3};

/// categorical(key(42), logits, 0)
inline constexpr i32 categorical_first[] = {1, 0, 2, 0};

/// vmap(uniform)(split(key(0), 3)), each (2,)
inline constexpr f32 vmapped[] = {0x1.af43cc0000000p-1F, 0x1.7582f00000000p-3F, 0x1.de02000000000p-8F, 0x1.5648000000000p-6F, 0x1.ce0ddc0000000p-1F, 0x1.d3180c0000000p-1F};

/// exponential(key(0), (6,))
inline constexpr f32 exponential[] = {0x1.799dcc0000000p+1F, 0x1.ebf5560000000p+1F, 0x1.9d98e40000000p-2F, 0x1.43c5e20000000p-1F, 0x1.affaec0000000p-1F, 0x1.72896a0000000p-3F};

/// laplace(key(0), (6,))
inline constexpr f32 laplace[] = {-0x1.20e4c60000000p+1F, -0x1.933c560000000p+1F, 0x1.a266d80000000p-2F, 0x1.090fe40000000p-4F, -0x1.345afe0000000p-3F, 0x1.1b09d00000000p+0F};

/// cauchy(key(0), (6,))
inline constexpr f32 cauchy[] = {0x1.81c2780000000p+2F, 0x1.dad00a0000000p+3F, -0x1.29d7800000000p-1F, -0x1.947abe0000000p-4F, 0x1.c907ea0000000p-3F, -0x1.bf2c040000000p+0F};

/// logistic(key(0), (6,))
inline constexpr f32 logistic[] = {0x1.72bc720000000p+1F, 0x1.e92fd00000000p+1F, -0x1.654b2e0000000p-1F, -0x1.0101300000000p-3F, 0x1.2026900000000p-2F, -0x1.9e2abc0000000p+0F};

/// pareto(key(0), 2.5, (6,))
inline constexpr f32 pareto[] = {0x1.a094cc0000000p+1F, 0x1.29bfe80000000p+2F, 0x1.2ce3640000000p+0F, 0x1.49ae4c0000000p+0F, 0x1.66c3540000000p+0F, 0x1.1336b60000000p+0F};

/// rayleigh(key(0), 2.5, (6,))
inline constexpr f32 rayleigh[] = {0x1.a3af2c0000000p-1F, 0x1.0a5e4c0000000p-1F, 0x1.db03360000000p+1F, 0x1.89f7700000000p+1F, 0x1.535aec0000000p+1F, 0x1.2f797c0000000p+2F};

/// weibull_min(key(0), 2, 1.5, (6,))
inline constexpr f32 weibull_min[] = {0x1.074ab00000000p+2F, 0x1.3a11220000000p+2F, 0x1.17c3040000000p+0F, 0x1.7935e00000000p+0F, 0x1.c928520000000p+0F, 0x1.47914a0000000p-1F};

/// triangular(key(0), 0, 1, 3, (6,))
inline constexpr f32 triangular[] = {0x1.3846480000000p+1F, 0x1.521cbe0000000p+1F, 0x1.ff33000000000p-1F, 0x1.36e9dc0000000p+0F, 0x1.64bffa0000000p+0F, 0x1.68c5ca0000000p-1F};

/// rademacher(key(0), (8,))
inline constexpr i32 rademacher[] = {-1, -1, 1, 1, -1, 1, 1, -1};

/// geometric(key(0), 0.3, (8,))
inline constexpr i32 geometric[] = {1, 1, 4, 3, 2, 6, 4, 2};

/// means of the next
inline constexpr f32 rates[] = {0x0.0p+0F, 0x1.0000000000000p-1F, 0x1.8000000000000p+1F, 0x1.3000000000000p+3F, 0x1.4000000000000p+3F, 0x1.9000000000000p+5F, 0x1.f400000000000p+9F};

/// poisson(key(0), rates)
inline constexpr i32 poisson[] = {0, 0, 4, 11, 7, 53, 1034};

/// permutation(key(0), 10)
inline constexpr i32 permutation_10[] = {0, 1, 8, 5, 6, 4, 3, 2, 7, 9};

/// permutation(key(42), 2000)[:20]
inline constexpr i32 permutation_2000[] = {1474, 815, 539, 874, 1693, 84, 995, 1191, 1713, 508, 594, 825, 859, 1822, 188, 1054, 1997, 1366, 707, 985};

/// chances of the next
inline constexpr f32 chances[] = {0x1.99999a0000000p-4F, 0x1.99999a0000000p-2F, 0x1.99999a0000000p-3F, 0x1.3333340000000p-2F};

/// choice(key(42), chances, (8,), p=chances)
inline constexpr f32 choice_weighted[] = {0x1.99999a0000000p-3F, 0x1.99999a0000000p-2F, 0x1.99999a0000000p-2F, 0x1.99999a0000000p-2F, 0x1.99999a0000000p-3F, 0x1.99999a0000000p-2F, 0x1.3333340000000p-2F, 0x1.99999a0000000p-2F};

/// choice(key(42), chances, (8,))
inline constexpr f32 choice_plain[] = {0x1.99999a0000000p-4F, 0x1.99999a0000000p-3F, 0x1.3333340000000p-2F, 0x1.99999a0000000p-2F, 0x1.99999a0000000p-2F, 0x1.3333340000000p-2F, 0x1.99999a0000000p-2F, 0x1.3333340000000p-2F};

/// choice(key(42), chances, (3,), False)
inline constexpr f32 choice_without[] = {0x1.99999a0000000p-3F, 0x1.3333340000000p-2F, 0x1.99999a0000000p-4F};

/// choice(key(42), chances, (3,), False, chances)
inline constexpr f32 choice_without_weighted[] = {0x1.99999a0000000p-2F, 0x1.3333340000000p-2F, 0x1.99999a0000000p-3F};

/// shapes of the next
inline constexpr f32 shapes[] = {0x1.99999a0000000p-5F, 0x1.0000000000000p-1F, 0x1.0000000000000p+0F, 0x1.4000000000000p+1F, 0x1.4000000000000p+3F, 0x1.2c00000000000p+8F};

/// loggamma(key(0), shapes)
inline constexpr f32 loggamma[] = {-0x1.4ddae60000000p+1F, 0x1.d59c700000000p-6F, -0x1.0c04520000000p+0F, 0x1.8c49b00000000p+0F, 0x1.4289080000000p+1F, 0x1.6dcff60000000p+2F};

/// gamma(key(0), shapes)
inline constexpr f32 gamma[] = {0x1.2dba2a0000000p-4F, 0x1.0771a00000000p+0F, 0x1.676f220000000p-2F, 0x1.2cee740000000p+2F, 0x1.8da3620000000p+3F, 0x1.2fa1e80000000p+8F};

/// gamma(key(42), shapes) in f64
inline constexpr f64 gamma_f64[] = {0x1.22a36e42db99fp-31, 0x1.db6f205996537p-7, 0x1.b232a071fef05p-2, 0x1.61cfa5d438dcfp+1, 0x1.7d5a3e4022efbp+2, 0x1.12854b41b23e6p+8};

/// shapes
inline constexpr f64 gamma_slope_shapes[] = {0x1.0624dd2f1a9fcp-10, 0x1.999999999999ap-5, 0x1.3333333333333p-2, 0x1.ccccccccccccdp-1, 0x1.0000000000000p+0, 0x1.b333333333333p+0, 0x1.0000000000000p+2, 0x1.e000000000000p+4, 0x1.f400000000000p+10, 0x1.999999999999ap-2, 0x1.4000000000000p+1, 0x1.0000000000000p+3};

/// numbers
inline constexpr f64 gamma_slope_numbers[] = {0x1.4484bfeebc2a0p-100, 0x1.47ae147ae147bp-6, 0x1.6666666666666p+0, 0x1.0000000000000p-1, 0x1.8000000000000p+1, 0x1.999999999999ap-3, 0x1.0000000000000p+2, 0x1.4800000000000p+5, 0x1.f180000000000p+10, 0x1.a36e2eb1c432dp-14, 0x1.2000000000000p+3, 0x1.8000000000000p+0};

/// random_gamma_grad(shapes, numbers)
inline constexpr f64 gamma_slopes[] = {0x1.533493c0330d3p-84, 0x1.6638c2c2b5ef5p+0, 0x1.90a56a995c4a0p+1, 0x1.bd3f908d1de7fp-1, 0x1.f01afb1383a09p+0, 0x1.3c3214bc7f630p-2, 0x1.0ae4852c0c807p+0, 0x1.2bb81049f223cp+0, 0x1.fec2ab18b44e1p-1, 0x1.2bd0ea0a63893p-9, 0x1.e447397ad8f49p+0, 0x1.931b83c3d8b20p-2};

/// grad(sum(gamma(key(0), shapes)))
inline constexpr f32 gamma_gradient[] = {0x1.b83b4e0000000p+1F, 0x1.e71dec0000000p+0F, 0x1.4fa7b20000000p-1F, 0x1.7103800000000p+0F, 0x1.21996e0000000p+0F, 0x1.01aee00000000p+0F};

/// grad(sum(loggamma(key(0), shapes)))
inline constexpr f32 loggamma_gradient[] = {0x1.75838e0000000p+5F, 0x1.d95a5a0000000p+0F, 0x1.de20ae0000000p+0F, 0x1.39eac80000000p-2F, 0x1.74e37c0000000p-4F, 0x1.b284980000000p-9F};

/// grad(sum(beta(key(0), 2, 3, (6,))))
inline constexpr f32 beta_gradient[] = {0x1.8fac700000000p-1F, -0x1.2a1a880000000p-1F};

/// grad(sum(dirichlet(key(0), shapes, (2,)) * arange(6)))
inline constexpr f32 dirichlet_gradient[] = {-0x1.af16300000000p-5F, -0x1.1d1a680000000p-5F, -0x1.2215220000000p-6F, -0x1.b46d3a0000000p-7F, -0x1.7d6c320000000p-8F, 0x1.a9f0360000000p-12F};

/// beta(key(0), 2, 3, (6,))
inline constexpr f32 beta[] = {0x1.e3e36c0000000p-3F, 0x1.f63b0e0000000p-2F, 0x1.5e1a5c0000000p-1F, 0x1.15ae260000000p-1F, 0x1.f600b20000000p-2F, 0x1.5b90440000000p-2F};

/// dirichlet(key(0), shapes, (2,))
inline constexpr f32 dirichlet[] = {0x1.df72240000000p-13F, 0x1.a29cfe0000000p-9F, 0x1.1d92360000000p-10F, 0x1.de2e660000000p-7F, 0x1.3beca40000000p-5F, 0x1.e279200000000p-1F, 0x1.6eddde0000000p-23F, 0x1.97b9f80000000p-11F, 0x1.b319aa0000000p-9F, 0x1.01c7240000000p-8F, 0x1.5995e80000000p-6F, 0x1.f116b60000000p-1F};

/// multivariate_normal(key(0), chances[:2], [[2, .5], [.5, 1]], (4,))
inline constexpr f32 vectors[] = {0x1.3287940000000p+1F, 0x1.6f1f9e0000000p+1F, -0x1.06c1820000000p-1F, 0x1.62a2760000000p-3F, 0x1.6568280000000p-2F, -0x1.c9c7220000000p-2F, -0x1.336f400000000p-1F, 0x1.5fea480000000p-1F};

/// where erf_inv was taken
inline constexpr f32 erf_inv_at_f32[] = {-0x1.fffffc0000000p-1F, -0x1.ff7cee0000000p-1F, -0x1.cccccc0000000p-1F, -0x1.0000000000000p-1F, -0x1.0624de0000000p-10F, 0x0.0p+0F, 0x1.0c6f7a0000000p-20F, 0x1.0000000000000p-2F, 0x1.8000000000000p-1F, 0x1.fae1480000000p-1F, 0x1.fffeb00000000p-1F};

/// erf_inv there
inline constexpr f32 erf_inv_f32[] = {-0x1.df38d00000000p+1F, -0x1.29d3320000000p+1F, -0x1.29c0120000000p+0F, -0x1.e861fc0000000p-2F, -0x1.d0a3640000000p-11F, 0x0.0p+0F, 0x1.dbca160000000p-21F, 0x1.cd706a0000000p-3F, 0x1.a078900000000p-1F, 0x1.d246660000000p+0F, 0x1.8fc52e0000000p+1F};

/// where erf_inv was taken
inline constexpr f64 erf_inv_at_f64[] = {-0x1.ffffffffffffep-1, -0x1.fffffff768fa1p-1, -0x1.ccccccccccccdp-1, -0x1.19799812dea11p-40, 0x0.0p+0, 0x1.3333333333333p-2, 0x1.999999999999ap-1, 0x1.fffeb074a771dp-1, 0x1.fffffffffffffp-1};

/// erf_inv there
inline constexpr f64 erf_inv_f64[] = {-0x1.73856d153f081p+2, -0x1.147af7e10db16p+2, -0x1.29c0146770650p+0, -0x1.f2e6c291f30e8p-41, 0x0.0p+0, 0x1.1700774485ed3p-2, 0x1.cff8a2529bab5p-1, 0x1.8fcc01949844ap+1, 0x1.7744f8f74e949p+2};

}  // namespace atled::reference
