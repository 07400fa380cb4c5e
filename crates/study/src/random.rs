//! Random numbers that depend on a seed and a place alone: the number of a run is the same whichever
//! thread draws it, in whatever order.

/// Ten rounds of Philox 4×32 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2,
/// 3; 2011): a bijection of the counter, scrambled by the key.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xD251_1F53;
        let b = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

/// What a number is drawn for; numbers for different purposes have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The value itself.
    Value = 0,
    /// The order of layers of a Latin hypercube.
    Order = 1,
    /// The shift of a Sobol sequence.
    Shift = 2,
}

/// 64 random bits at a place: of a parameter, of a run.
pub fn bits(seed: u64, purpose: Purpose, parameter: usize, run: u64) -> u64 {
    let place = (purpose as u32) << 24 ^ parameter as u32;
    let counter = [run as u32, (run >> 32) as u32, place, 0];
    let [a, b, ..] = philox(counter, [seed as u32, (seed >> 32) as u32]);
    u64::from(a) | u64::from(b) << 32
}

/// A number between 0 and 1, both excluded, at a place.
pub fn uniform(seed: u64, parameter: usize, run: u64) -> f64 {
    unit(bits(seed, Purpose::Value, parameter, run))
}

/// A number between 0 and 1, both excluded, from random bits: the middle of one of 2⁵² cells.
pub fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

/// Where number `index` of 0…count − 1 comes in a random order of them.
///
/// A Feistel network permutes the next even power of two; numbers beyond the count are sent round
/// again until they fall inside. So no list of the order is needed.
pub fn place_in_order(seed: u64, parameter: usize, index: u64, count: u64) -> u64 {
    let half = (64 - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut at = index;
    loop {
        let (mut left, mut right) = (at >> half, at & mask);
        for round in 0..6 {
            let scrambled = bits(seed, Purpose::Order, parameter, right | round << 48);
            (left, right) = (right, left ^ (scrambled & mask));
        }
        at = left << half | right;
        if at < count {
            return at;
        }
    }
}

/// The value that a standard normal variable stays below with probability `p`.
///
/// Wichura, Algorithm AS 241 (1988), relative accuracy about 1e-16; with logarithm and root that are
/// the same on every machine.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    let ratio = |r: f64, above: [f64; 8], below: [f64; 8]| {
        let poly = |c: [f64; 8]| c.iter().rev().fold(0.0, |sum, &c| sum * r + c);
        poly(above) / poly(below)
    };
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(
            r,
            [
                3.387_132_872_796_366_5,
                1.331_416_678_917_843_8e2,
                1.971_590_950_306_551_3e3,
                1.373_169_376_550_946e4,
                4.592_195_393_154_987e4,
                6.726_577_092_700_87e4,
                3.343_057_558_358_813e4,
                2.509_080_928_730_122_7e3,
            ],
            [
                1.0,
                4.231_333_070_160_091e1,
                6.871_870_074_920_579e2,
                5.394_196_021_424_751e3,
                2.121_379_430_158_659_7e4,
                3.930_789_580_009_271e4,
                2.872_908_573_572_194_3e4,
                5.226_495_278_852_545e3,
            ],
        );
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let size = if r <= 5.0 {
        ratio(
            r - 1.6,
            [
                1.423_437_110_749_683_5,
                4.630_337_846_156_546,
                5.769_497_221_460_691,
                3.647_848_324_763_204_5,
                1.270_458_252_452_368_4,
                2.417_807_251_774_506e-1,
                2.272_384_498_926_918_4e-2,
                7.745_450_142_783_414e-4,
            ],
            [
                1.0,
                2.053_191_626_637_759,
                1.676_384_830_183_803_8,
                6.897_673_349_851e-1,
                1.481_039_764_274_800_8e-1,
                1.519_866_656_361_645_7e-2,
                5.475_938_084_995_345e-4,
                1.050_750_071_644_416_9e-9,
            ],
        )
    } else {
        ratio(
            r - 5.0,
            [
                6.657_904_643_501_103,
                5.463_784_911_164_114,
                1.784_826_539_917_291_3,
                2.965_605_718_285_048_7e-1,
                2.653_218_952_657_612_4e-2,
                1.242_660_947_388_078_4e-3,
                2.711_555_568_743_487_6e-5,
                2.010_334_399_292_288_1e-7,
            ],
            [
                1.0,
                5.998_322_065_558_88e-1,
                1.369_298_809_227_358e-1,
                1.487_536_129_085_061_5e-2,
                7.868_691_311_456_133e-4,
                1.846_318_317_510_054_8e-5,
                1.421_511_758_316_446e-7,
                2.044_263_103_389_939_8e-15,
            ],
        )
    };
    if q < 0.0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers that the authors of Philox publish with their library.
    #[test]
    fn philox_gives_the_published_numbers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }

    #[test]
    fn an_order_holds_every_place_once() {
        for count in [1, 2, 3, 7, 100, 1000] {
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let place = place_in_order(7, 3, index, count);
                assert!(!std::mem::replace(&mut seen[place as usize], true));
            }
        }
        assert_ne!(
            (0..100).map(|i| place_in_order(1, 0, i, 100)).collect::<Vec<_>>(),
            (0..100).map(|i| place_in_order(2, 0, i, 100)).collect::<Vec<_>>()
        );
    }

    /// Quantiles from tables of the normal distribution.
    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.025, -1.959_963_984_540_054),
            (0.999, 3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_056),
        ] {
            assert!((normal_quantile(p) - x).abs() < 1e-13 * (1.0 + x.abs()), "{p}");
        }
    }
}
