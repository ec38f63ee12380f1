//! Keys as programs have them: short strings, tuples, integers, paths, numbers as text. Each
//! family is a numbered set of distinct keys, of which a hasher sees one at a time.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use rand::RngExt;
use rand::seq::IndexedRandom;

use crate::common::random;

/// Distinct keys, numbered from 0, under a hasher `S`.
pub struct Family<S> {
    pub name: &'static str,
    pub len: usize,
    hash: Box<HashOf<S>>,
}

/// The hash of the key with this number.
type HashOf<S> = dyn Fn(&S, usize) -> u64;

impl<S> Family<S> {
    fn new(name: &'static str, len: usize, hash: impl Fn(&S, usize) -> u64 + 'static) -> Self {
        Self { name, len, hash: Box::new(hash) }
    }

    /// The hashes of all keys, in the order of their numbers.
    pub fn hashes(&self, hasher: &S) -> Vec<u64> {
        (0..self.len).map(|i| (self.hash)(hasher, i)).collect()
    }
}

/// A family whose keys are made once and kept.
fn kept<S: BuildHasher, K: Hash + Eq + 'static>(
    name: &'static str,
    keys: impl Iterator<Item = K>,
) -> Family<S> {
    let keys: Vec<K> = keys.collect();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len(), "{name}: equal keys");
    Family::new(name, keys.len(), move |hasher: &S, i| hasher.hash_one(&keys[i]))
}

/// Every string of one to `longest` characters from a set of 64.
fn short_strings(longest: u32) -> Vec<String> {
    let set = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_>";
    let of_length = |length| {
        (0..64_usize.pow(length)).map(move |number| {
            (0..length).map(|at| char::from(set[number >> (6 * at) & 63])).collect()
        })
    };
    (1..=longest).flat_map(of_length).collect()
}

/// `count` of the short strings, half of them of three characters.
fn some_short_strings(count: usize) -> Vec<String> {
    let mut random = random(31);
    let mut strings = short_strings(3);
    let three = strings.split_off(64 + 64 * 64);
    let mut half = |strings: Vec<String>| -> Vec<String> {
        strings.sample(&mut random, count / 2).cloned().collect()
    };
    [half(strings), half(three)].concat()
}

#[derive(Hash)]
struct Person<'a> {
    first: &'a String,
    last: &'a String,
}

const MANY: usize = 1 << 18;

fn about_zero(i: usize) -> isize {
    i.cast_signed() - (MANY / 2).cast_signed()
}

/// All families, each of some 2^16 to 2^19 keys; the integers of 8 bits are too few to be one.
#[allow(clippy::too_many_lines, reason = "a list")]
pub fn families<S: BuildHasher + 'static>() -> Vec<Family<S>> {
    let mut random = random(37);
    let words = some_short_strings(512);
    let numerals: Vec<String> = (0..512).map(|i| i.to_string()).collect();
    let few = some_short_strings(64);
    let names: Vec<String> = (0..512).map(|i| format!("name{i}")).collect();

    // Zeros but for one byte, of every length to 64; and noise with one bit flipped.
    let one_byte = (0..=64_usize).flat_map(|length| {
        let zeros = std::iter::once(vec![0_u8; length]);
        let others = (0..length).flat_map(move |at| {
            (1..=u8::MAX).map(move |byte| {
                let mut bytes = vec![0; length];
                bytes[at] = byte;
                bytes
            })
        });
        zeros.chain(others)
    });
    let noise: Vec<[u8; 64]> = (0..8).map(|_| std::array::from_fn(|_| random.random())).collect();
    let one_bit = (4..=64_usize).flat_map(|length| {
        let noise = noise.clone();
        noise.into_iter().flat_map(move |noise| {
            (0..=8 * length).map(move |bit| {
                let mut bytes = noise[..length].to_vec();
                if let Some(byte) = bytes.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
                bytes
            })
        })
    });

    macro_rules! integers {
        ($($name:literal, $key:expr;)*) => {
            [$(Family::new($name, MANY, |hasher: &S, i| hasher.hash_one($key(i)))),*]
        };
    }
    let integers = integers! {
        "u32, consecutive", |i| i as u32;
        "i32, about zero", |i| about_zero(i) as i32;
        "u64, consecutive", |i| i as u64;
        "u64, multiples of 4096", |i| (i as u64) << 12;
        "u64, upper bits", |i| (i as u64) << 46;
        "i64, about zero", |i| about_zero(i) as i64;
        "usize, consecutive", |i: usize| i;
        "isize, about zero", about_zero;
        "u128, lower half", |i| i as u128;
        "u128, upper half", |i| (i as u128) << 64;
        "u128, both halves", |i| (i as u128 & 511) << 64 | i as u128 >> 9;
        "i128, about zero", |i| about_zero(i) as i128;
        "(u32, u32)", |i| (i as u32 >> 9, i as u32 & 511);
        "(u64, u64)", |i| (i as u64 >> 9, i as u64 & 511);
        "(u8, u16, u32, u64)", |i| {
            (i as u8 & 15, i as u16 >> 4 & 15, i as u32 >> 8 & 31, i as u64 >> 13)
        };
        "[u16; 3]", |i: usize| [12, 6, 0].map(|shift| ((i >> shift) & 63) as u16);
        "Option<u64>", |i: usize| i.checked_sub(1).map(|i| i as u64);
        "Vec<u32> of three", |i| vec![i as u32 >> 12, i as u32 >> 6 & 63, i as u32 & 63];
    };
    let small = [
        Family::new("u16, all", 1 << 16, |hasher: &S, i| hasher.hash_one(i as u16)),
        Family::new("i16, all", 1 << 16, |hasher: &S, i| hasher.hash_one((i as u16).cast_signed())),
    ];
    let strings = [
        kept("strings of 1 to 3", short_strings(3).into_iter()),
        kept("numbers as text", (0..MANY).map(|i| i.to_string())),
        kept("numbers as text, by thousands", (0..MANY).map(|i| (i * 1000).to_string())),
        kept("hexadecimal", (0..MANY).map(|i| format!("{i:016x}"))),
        kept("decimals", (0..MANY).map(|i| format!("{}.{:02}", i / 100, i % 100))),
        kept(
            "paths",
            (0..MANY).map(|i| format!("/usr/lib/{}/v{}/{}.rs", i >> 12, i >> 6 & 63, i & 63)),
        ),
        kept("addresses", (0..MANY).map(|i| format!("user{i}@example.com"))),
        kept("one byte of up to 64", one_byte),
        kept("one bit of up to 64 bytes", one_bit),
    ];
    let pairs = |a: &[String], b: &[String]| (a.to_vec(), b.to_vec());
    let (a, b) = pairs(&words, &words);
    let (c, d) = pairs(&numerals, &numerals);
    let (e, f) = pairs(&names, &numerals);
    let (g, h) = pairs(&words, &numerals);
    let tuples = [
        Family::new("(String, String), short", MANY, move |hasher: &S, i| {
            hasher.hash_one((&a[i >> 9], &b[i & 511]))
        }),
        Family::new("(String, String), numbers", MANY, move |hasher: &S, i| {
            hasher.hash_one((&c[i >> 9], &d[i & 511]))
        }),
        Family::new("(String, String, String)", MANY, move |hasher: &S, i| {
            hasher.hash_one((&few[i >> 12], &few[i >> 6 & 63], &few[i & 63]))
        }),
        Family::new("struct of two strings", MANY, move |hasher: &S, i| {
            hasher.hash_one(Person { first: &e[i >> 9], last: &f[i & 511] })
        }),
        Family::new("(u64, String)", MANY, move |hasher: &S, i| {
            hasher.hash_one((i as u64 >> 9, &g[i & 511]))
        }),
        Family::new("(String, u32)", MANY, move |hasher: &S, i| {
            hasher.hash_one((&h[i >> 9], i as u32 & 511))
        }),
    ];
    small.into_iter().chain(integers).chain(strings).chain(tuples).collect()
}
