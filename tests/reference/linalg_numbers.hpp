// reference/linalg_numbers.hpp: numbers of jax.numpy.linalg 0.12.0, written by make_linalg.py.
// Reads: atled/core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

// clang-format off
namespace atled::reference {

/// an operand, square
inline constexpr f64 square[] = {0x1.4e147ae147ae1p+1, 0x1.3d70a3d70a3d7p-1, 0x1.eb851eb851eb8p-6, -0x1.b851eb851eb85p-2, 0x1.0e147ae147ae1p+1, -0x1.d70a3d70a3d71p-3, -0x1.70a3d70a3d70ap-3, -0x1.d1eb851eb851fp-1, -0x1.399999999999ap+2};

/// an operand, positive
inline constexpr f64 positive[] = {0x1.065119ce075f6p+3, 0x1.6e978d4fdf3b9p-3, -0x1.2e5604189374cp+0, 0x1.6e978d4fdf3b9p-3, 0x1.6c27525460aa6p+2, -0x1.6e703afb7e90fp-1, -0x1.2e5604189374cp+0, -0x1.6e703afb7e90fp-1, 0x1.9ded916872b03p+4};

/// an operand, tall
inline constexpr f64 tall[] = {0x1.0000000000000p+0, 0x1.3333333333333p-2, -0x1.0f5c28f5c28f6p-1, -0x1.0a3d70a3d70a4p-3, 0x1.e666666666666p-1, 0x1.999999999999ap-1, 0x1.6147ae147ae14p-1, -0x1.c28f5c28f5c29p-3};

/// an operand, right
inline constexpr f64 right[] = {-0x1.47ae147ae147bp-7, 0x1.6666666666666p-2, -0x1.c28f5c28f5c29p-1, 0x1.c28f5c28f5c29p-4, -0x1.d70a3d70a3d71p-2, 0x1.851eb851eb852p-1};

/// an operand, observed
inline constexpr f64 observed[] = {-0x1.bd70a3d70a3d7p-1, 0x1.70a3d70a3d70ap-2, 0x1.7ae147ae147aep-1, -0x1.199999999999ap-1};

/// an operand, along_square
inline constexpr f64 along_square[] = {0x1.947ae147ae148p-1, 0x1.7ae147ae147aep-1, -0x1.eb851eb851eb8p-1, 0x1.a3d70a3d70a3dp-2, -0x1.0000000000000p+0, 0x1.47ae147ae147bp-7, -0x1.0a3d70a3d70a4p-3, -0x1.2e147ae147ae1p-1, -0x1.6666666666666p-2};

/// an operand, along_tall
inline constexpr f64 along_tall[] = {0x1.3851eb851eb85p-1, -0x1.7ae147ae147aep-2, -0x1.6666666666666p-1, 0x1.999999999999ap-2, -0x1.999999999999ap-4, 0x1.3333333333333p-1, -0x1.0f5c28f5c28f6p-1, -0x1.70a3d70a3d70ap-2};

/// cholesky and what is made of it, see make_linalg.py
inline constexpr f64 cholesky_value[] = {-0x1.341d0c7986bc6p-1};

/// its gradient
inline constexpr f64 cholesky_gradient[] = {-0x1.31cb676b26b17p-3, 0x1.a729e48031b5ap-3, 0x1.4873038ba05a5p-3, 0x1.a729e48031b5ap-3, -0x1.052df921327d2p-3, 0x1.a3fa458895979p-3, 0x1.4873038ba05a5p-3, 0x1.a3fa458895979p-3, 0x1.14a9e7b2f8eb7p-5};

/// the change of that along
inline constexpr f64 cholesky_second[] = {-0x1.2a251162f3559p-7, 0x1.4b257e291e2b8p-7, -0x1.0c8c761292944p-5, 0x1.4b257e291e2b8p-7, 0x1.f1fb364ecaf45p-6, 0x1.a7ae725104a11p-7, -0x1.0c8c761292944p-5, 0x1.a7ae725104a11p-7, -0x1.34e329f93db76p-8};

/// triangle and what is made of it, see make_linalg.py
inline constexpr f64 triangle_value[] = {-0x1.98ea3d4a3256dp-3};

/// its gradient
inline constexpr f64 triangle_gradient[] = {-0x1.ca54522297baap-5, 0x0.0p+0, 0x0.0p+0, -0x1.9ce77014014d5p-5, 0x1.d35d46293fdbap-4, 0x0.0p+0, 0x1.acee4e2e54fd3p-6, -0x1.16bd7dba46455p-4, -0x1.43bcc6a7c8352p-11};

/// the change of that along
inline constexpr f64 triangle_second[] = {0x1.460d0ee1989e7p-5, 0x0.0p+0, 0x0.0p+0, -0x1.25c651ff4ff9cp-9, 0x1.6b99f05b5e23dp-4, 0x0.0p+0, -0x1.4092765de95f4p-7, -0x1.0e5f95da508e2p-5, 0x1.e088f232ea6f4p-7};

/// solve and what is made of it, see make_linalg.py
inline constexpr f64 solve_value[] = {-0x1.dc065fd2711aap-4};

/// its gradient
inline constexpr f64 solve_gradient[] = {-0x1.59d57fa4dfacdp-4, 0x1.0c264dcb56e19p-3, 0x1.110e15de49b0bp-8, -0x1.a6af2e0b43599p-5, 0x1.2997c384c42a3p-4, 0x1.e6bc91c83f3d4p-8, 0x1.6547205fba7e8p-5, -0x1.15c44af665495p-4, -0x1.0a4d8b12a96fcp-9};

/// the change of that along
inline constexpr f64 solve_second[] = {0x1.96d55dd3abd60p-7, 0x1.c70c3d27f5420p-8, -0x1.a65d4329f684ep-6, 0x1.0fa76a8a22c7cp-9, 0x1.427183c04d0c6p-7, -0x1.384dacd494766p-7, 0x1.b31d3f5f1faa4p-6, -0x1.c4984c029dce5p-5, 0x1.8dd6f15a129d7p-7};

/// lu and what is made of it, see make_linalg.py
inline constexpr f64 lu_value[] = {0x1.a07e83983731ep+2};

/// its gradient
inline constexpr f64 lu_gradient[] = {-0x1.958365fe5c1d2p-2, -0x1.573669f188c5cp-1, -0x1.f2ee51022920cp-4, 0x1.14a0be3e2deb8p-1, -0x1.5a115dac2ae1cp-1, -0x1.3bf3cb7a44f10p-3, 0x1.44f19d5430500p-2, 0x1.477b309572609p-2, -0x1.ecee94b6f0b5dp-1};

/// the change of that along
inline constexpr f64 lu_second[] = {0x1.1cd651eb9be02p-1, -0x1.0e174dadef133p-1, 0x1.e2fbecbe3b0a3p-1, 0x1.89452a4cf5c50p-4, -0x1.d7fe138574a7cp-2, -0x1.805f9963100c6p-3, -0x1.18f0b8adbf6e2p-1, 0x1.704067934a5e0p-6, 0x1.3b102153d865cp-3};

/// qr and what is made of it, see make_linalg.py
inline constexpr f64 qr_value[] = {0x1.5e646a0262b42p+0};

/// its gradient
inline constexpr f64 qr_gradient[] = {-0x1.2c7dd96dcd5bdp-1, -0x1.9c4ac01f8a181p-1, 0x1.5bd318c4b365cp-2, -0x1.e7ee33cb9c181p+0, -0x1.6befd71d14b77p-3, -0x1.012ab30fcd3fcp+0, -0x1.00c961cfdf407p+0, -0x1.f95a3799d5b9cp-3};

/// the change of that along
inline constexpr f64 qr_second[] = {-0x1.82ae1877b79c0p-1, 0x1.8ea422051a32dp-1, -0x1.6ad7d357b3e70p-5, 0x1.979c3ad385db7p+0, -0x1.b230f577351a9p-2, -0x1.fd19d9e239920p-5, 0x1.4b91853ac32f4p+0, -0x1.77fd4dd229d2ep+0};

/// eigh and what is made of it, see make_linalg.py
inline constexpr f64 eigh_value[] = {0x1.b0d8da45278aep+4};

/// its gradient
inline constexpr f64 eigh_gradient[] = {-0x1.240770af02963p-2, 0x1.cd4984b4be802p-1, 0x1.03d6a9391d435p-3, 0x1.d0c1137095a9cp-1, 0x1.9913427f694b1p-1, 0x1.768a0e447a77ap-4, 0x1.03cce6c98cb6ap-3, 0x1.769f5a9ff4562p-4, 0x1.aeac851aecef8p+0};

/// the change of that along
inline constexpr f64 eigh_second[] = {-0x1.71c44662d73cdp-1, -0x1.4c60b2fc5412ep-2, 0x1.7a5655ce60593p-7, -0x1.43023791764a7p-2, -0x1.55851a9bd03b3p-1, -0x1.3ea34b6d31071p-7, 0x1.78f6b6c542c24p-7, -0x1.3cf640554b15ap-7, 0x1.9771c2ce05552p-3};

/// svd and what is made of it, see make_linalg.py
inline constexpr f64 svd_value[] = {0x1.b06d8f6063a6ep+1};

/// its gradient
inline constexpr f64 svd_gradient[] = {0x1.8ac476b81b883p-1, -0x1.51b990434bb63p+0, -0x1.cba9fe99c17f1p-4, 0x1.9aa3acb3cb9fap-1, -0x1.3859790d33b12p-3, -0x1.41432db2625a0p-4, 0x1.24795cb36ea69p-1, -0x1.0b649cb8134d8p-5};

/// the change of that along
inline constexpr f64 svd_second[] = {0x1.45fea1e2f825bp+0, -0x1.44d896688306ep-2, -0x1.5355932e49d96p-1, 0x1.46cae170f1f26p-1, -0x1.27e95dc163558p+0, -0x1.fbd5f1e045f54p-2, -0x1.6c5bf0511935cp-1, 0x1.18404e3c6e941p+0};

/// inv and what is made of it, see make_linalg.py
inline constexpr f64 inv_value[] = {0x1.bfdecd7d9c5b3p-2};

/// its gradient
inline constexpr f64 inv_gradient[] = {-0x1.a446607ba9ec5p-4, -0x1.95ac07c5f7033p-3, 0x1.fe6b01a2ed4e5p-4, -0x1.3a455a63b7c8dp-4, -0x1.c609bbcf92416p-4, 0x1.3b278f42bcefap-4, 0x1.da1ff131c2beap-5, 0x1.ada149443ead0p-4, -0x1.07dbb3a0d2aa3p-4};

/// the change of that along
inline constexpr f64 inv_second[] = {0x1.78f9d806441bbp-3, 0x1.a25ae7f7731c0p-5, -0x1.30718e2f09ea2p-5, 0x1.7daf354bfc628p-4, 0x1.d94bc44380e6ep-6, -0x1.33adc9f9874b4p-7, -0x1.ecc38298068b6p-5, 0x1.a1651e9a11e78p-5, -0x1.ec5d784c21c97p-6};

/// det and what is made of it, see make_linalg.py
inline constexpr f64 det_value[] = {-0x1.cc9e1d2178f67p+4};

/// its gradient
inline constexpr f64 det_gradient[] = {-0x1.518bac710cb29p+3, -0x1.086594af4f0d8p+1, 0x1.8acd9e83e425ap-1, 0x1.815e9e1b0899fp+1, -0x1.9913404ea4a8cp+3, 0x1.21ba5e353f7cep+1, -0x1.a5aee631f8a08p-3, 0x1.2cbfb15b573ebp-1, 0x1.71844d013a929p+2};

/// the change of that along
inline constexpr f64 det_second[] = {0x1.023bcd35a8587p+2, 0x1.e2f837b4a233ap+0, -0x1.9b3d07c84b5fcp-6, 0x1.2cbac710cb295p+2, -0x1.3d04816f0068dp+2, 0x1.05c28f5c28f5bp+1, 0x1.e43fe5c91d14cp+0, 0x1.295182a9930bep-1, -0x1.c219652bd3c39p-1};

/// log_det and what is made of it, see make_linalg.py
inline constexpr f64 log_det_value[] = {0x1.ae13cf4a53533p+1};

/// its gradient
inline constexpr f64 log_det_gradient[] = {0x1.7732fbf311cbap-2, 0x1.25e3fa009805ap-4, -0x1.b6d809e1da79cp-6, -0x1.ac5ba41f60d9bp-4, 0x1.c6b53cab544e3p-2, -0x1.420c25fea49a9p-4, 0x1.d4b8eeb369d4fp-8, -0x1.4e4c31e3ec2e1p-6, -0x1.9abc9d6afaeecp-3};

/// the change of that along
inline constexpr f64 log_det_second[] = {-0x1.026aeef97cc2dp-3, -0x1.0136832a5dc99p-4, -0x1.3a1844daf57c5p-13, -0x1.567214c6258c2p-3, 0x1.8311959ebba4ep-3, -0x1.2f3e499637138p-4, -0x1.0c0444f3016b3p-4, -0x1.573c4c518d729p-6, 0x1.76f9ce74089b7p-6};

/// pinv and what is made of it, see make_linalg.py
inline constexpr f64 pinv_value[] = {0x1.73c475e185844p-1};

/// its gradient
inline constexpr f64 pinv_gradient[] = {-0x1.f92246a648208p-2, 0x1.d73e0b47d6585p-1, -0x1.368ee7e8130f4p-5, 0x1.c3f6c2e6f4650p+0, -0x1.649b2e8423011p-2, -0x1.ab3acdb1ccd4dp-4, 0x1.d6f1391b8650ep-3, -0x1.7a4f3cc5bcf55p-4};

/// the change of that along
inline constexpr f64 pinv_second[] = {0x1.d0cba59a451e7p+0, -0x1.f9983962483bep+1, 0x1.15098dfa3a9e6p-1, -0x1.046b1792fccf4p+1, -0x1.c88b0c38d1f29p-1, 0x1.d6c122dba5367p+0, 0x1.b9a1f290191f8p-2, 0x1.675108c134711p+0};

/// nuclear and what is made of it, see make_linalg.py
inline constexpr f64 nuclear_value[] = {0x1.2f2703b122c25p+1};

/// its gradient
inline constexpr f64 nuclear_gradient[] = {0x1.3cf5f4744e234p-1, 0x1.ce19f54c92388p-5, -0x1.5b5a0998ea97fp-2, 0x1.9c2d2bb1facdcp-7, 0x1.904054a29a858p-2, 0x1.9da3f743639acp-1, 0x1.2e6f17e833e66p-1, -0x1.2c4878b026627p-1};

/// the change of that along
inline constexpr f64 nuclear_second[] = {0x1.a0cc4906c00b4p-2, -0x1.3808184e25ec5p-1, -0x1.1b12153de96adp-1, 0x1.72a0cf36700d9p-1, -0x1.55f0847110296p-3, 0x1.504727df07715p-2, -0x1.446603f3ff7ebp-1, 0x1.a31949b5b4525p-2};

/// cond and what is made of it, see make_linalg.py
inline constexpr f64 cond_value[] = {0x1.6db84de98fd0dp+1};

/// its gradient
inline constexpr f64 cond_gradient[] = {0x1.1178da99c4e76p-1, 0x1.33081e774c3d9p+0, -0x1.8cf9916680b87p-3, -0x1.a26a703b3b34dp-1, 0x1.0bd38602a42edp+1, -0x1.0ae13e5aac681p+1, -0x1.e4254836f0219p-1, 0x1.c01f72f852b55p+1};

/// the change of that along
inline constexpr f64 cond_second[] = {-0x1.515683cbad1cap+0, 0x1.1e43f15aa60eap+0, 0x1.381e1db4255e5p+0, -0x1.3da37b1cf9244p+1, -0x1.475afec233a4ap+1, 0x1.5d439bd96626ap+1, 0x1.6f260196d875cp+1, -0x1.31bc3bd20799cp+3};

/// power and what is made of it, see make_linalg.py
inline constexpr f64 power_value[] = {0x1.43c4347e4fc94p-4};

/// its gradient
inline constexpr f64 power_gradient[] = {-0x1.74885e081c995p-6, -0x1.f8eafd97a4242p-4, 0x1.cf1d1cf348842p-6, -0x1.b131c11800e91p-8, -0x1.eb50dea05076ep-5, 0x1.52d4b4e31a324p-7, -0x1.78a5b16e10a29p-10, 0x1.2b8e53527dc50p-6, -0x1.1051949dbffd9p-7};

/// the change of that along
inline constexpr f64 power_second[] = {0x1.37def243d4e41p-3, 0x1.3e082d2a30d2fp-5, -0x1.80e0aecb66446p-7, 0x1.0b399d674c832p-4, -0x1.7bd5c37847a50p-6, 0x1.88f0b13abb0ecp-8, -0x1.681790f1bad94p-6, 0x1.e5bdc30146c58p-6, -0x1.72870ce495ea4p-8};

/// expm and what is made of it, see make_linalg.py
inline constexpr f64 expm_value[] = {0x1.47649f15ec031p-2};

/// its gradient
inline constexpr f64 expm_gradient[] = {0x1.ded1e715a19f6p+3, 0x1.89d1c9e0b77dep+2, 0x1.de211efb31060p-4, 0x1.2b8cd951cbd2cp+0, 0x1.d86e6f5195d5cp+2, 0x1.a79acb701ec40p-1, 0x1.fd9f04408badbp+0, -0x1.0374dc6a4537cp-2, -0x1.21f1fe1076d31p-4};

/// the change of that along
inline constexpr f64 expm_second[] = {0x1.28936dd1609dep+6, -0x1.e6bb50175f0bep+4, 0x1.edee22d1b1eb0p+0, -0x1.f6165c36a7c60p-1, 0x1.9819934e9c65ap+5, -0x1.8ab62ae2dbdbdp+2, 0x1.34f66821d28e8p-2, -0x1.126f12f1a0d8dp+1, 0x1.b3da07898af08p-5};

/// lstsq(tall, observed)
inline constexpr f64 least_squares_x[] = {-0x1.b16cab81ec600p-1, 0x1.8cae71b9c30c7p+0};

/// its singular values
inline constexpr f64 least_squares_s[] = {0x1.c11dd0c1d67b9p+0, 0x1.3a606d40de121p-1};

}  // namespace atled::reference
