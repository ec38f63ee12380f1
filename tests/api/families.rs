//! Keys that are typical of programs: short strings, tuples, integers, paths, numbers as text. Each family is a
//! numbered set of distinct keys; a hasher sees one key at a time.

use std::hash::{BuildHasher, Hash};

use rand::RngExt;

use crate::common::random;

/// The name of a family, and the hashes of its keys, in the order of their numbers.
pub type Family<S> = (&'static str, Box<dyn Fn(&S) -> Vec<u64>>);

/// Makes a family of `len` keys from their numbers.
fn family<S: BuildHasher, K: Hash>(
    name: &'static str,
    len: usize,
    key: impl Fn(usize) -> K + 'static,
) -> Family<S> {
    (name, Box::new(move |hasher| (0..len).map(|i| hasher.hash_one(key(i))).collect()))
}

/// Returns a string of characters from a set of 64. The numbers from 0 on give all strings of one character, then all
/// of two, and so on.
fn text(mut number: usize) -> String {
    let set = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_>";
    let mut text = String::new();
    loop {
        text.push(set[number & 63].into());
        number >>= 6;
        if number == 0 {
            return text;
        }
        number -= 1;
    }
}

/// Returns one of some thousand of these strings, half of which have three characters.
fn word(number: usize) -> String {
    text(if number.is_multiple_of(2) { 64 + 6 * number } else { 5000 + 500 * number })
}

/// Returns byte strings of every length up to 64 that are 0 except for one byte.
fn one_byte() -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    for length in 0..=64 {
        keys.push(vec![0; length]);
        for (at, byte) in (0..length).flat_map(|at| (1..=u8::MAX).map(move |byte| (at, byte))) {
            let mut bytes = vec![0; length];
            bytes[at] = byte;
            keys.push(bytes);
        }
    }
    keys
}

/// Returns random byte strings, and each with one bit flipped.
fn one_bit() -> Vec<Vec<u8>> {
    let mut random = random(37);
    let mut keys = Vec::new();
    for noise in (0..8).map(|_| random.random::<[u8; 32]>()) {
        for length in 4..=2 * noise.len() {
            let noise = [noise, noise.map(|byte| !byte)].concat();
            keys.push(noise[..length].to_vec());
            for bit in 0..8 * length {
                let mut bytes = noise[..length].to_vec();
                bytes[bit / 8] ^= 1 << (bit % 8);
                keys.push(bytes);
            }
        }
    }
    keys
}

const MANY: usize = 1 << 18;

fn about_zero(i: usize) -> isize {
    i.cast_signed() - (MANY / 2).cast_signed()
}

/// Returns all families, each of some 2^16 to 2^19 keys.
pub fn families<S: BuildHasher + 'static>() -> Vec<Family<S>> {
    #[derive(Hash)]
    struct Person {
        first: String,
        last: String,
    }

    let (one_byte, one_bit) = (one_byte(), one_bit());
    vec![
        family("u16, all", 1 << 16, |i| i as u16),
        family("i16, all", 1 << 16, |i| (i as u16).cast_signed()),
        family("(i8, i8), all", 1 << 16, |i| {
            (((i >> 8) as u8).cast_signed(), (i as u8).cast_signed())
        }),
        family("char", MANY, |i| char::from_u32(i as u32 + 0x1_0000).expect("no surrogate")),
        family("u32, consecutive", MANY, |i| i as u32),
        family("i32, about zero", MANY, |i| about_zero(i) as i32),
        family("u64, consecutive", MANY, |i| i as u64),
        family("u64, multiples of 4096", MANY, |i| (i as u64) << 12),
        family("u64, upper bits", MANY, |i| (i as u64) << 46),
        family("i64, about zero", MANY, |i| about_zero(i) as i64),
        family("usize, consecutive", MANY, |i| i),
        family("isize, about zero", MANY, about_zero),
        family("u128, lower half", MANY, |i| i as u128),
        family("u128, upper half", MANY, |i| (i as u128) << 64),
        family("u128, both halves", MANY, |i| (i as u128 & 511) << 64 | i as u128 >> 9),
        family("i128, about zero", MANY, |i| about_zero(i) as i128),
        family("(u32, u32)", MANY, |i| (i as u32 >> 9, i as u32 & 511)),
        family("(u64, u64)", MANY, |i| (i as u64 >> 9, i as u64 & 511)),
        family("(u8, u16, u32, u64)", MANY, |i| {
            (i as u8 & 15, i as u16 >> 4 & 15, i as u32 >> 8 & 31, i as u64 >> 13)
        }),
        family("[u16; 3]", MANY, |i| [12, 6, 0].map(|shift| ((i >> shift) & 63) as u16)),
        family("Option<u64>", MANY, |i| i.checked_sub(1).map(|i| i as u64)),
        family("Vec<u32> of three", MANY, |i| {
            [12, 6, 0].map(|shift| i as u32 >> shift & 63).to_vec()
        }),
        family("strings of 1 to 3", 64 + (1 << 12) + (1 << 18), text),
        family("numbers as text", MANY, |i| i.to_string()),
        family("numbers as text, by thousands", MANY, |i| (i * 1000).to_string()),
        family("hexadecimal", MANY, |i| format!("{i:016x}")),
        family("decimals", MANY, |i| format!("{}.{:02}", i / 100, i % 100)),
        family("paths", MANY, |i| format!("/usr/lib/{}/v{}/{}.rs", i >> 12, i >> 6 & 63, i & 63)),
        family("addresses", MANY, |i| format!("user{i}@example.com")),
        family("one byte of up to 64", one_byte.len(), move |i| one_byte[i].clone()),
        family("one bit of up to 64 bytes", one_bit.len(), move |i| one_bit[i].clone()),
        family("(String, String), short", MANY, |i| (word(i >> 9), word(i & 511))),
        family("(String, String), numbers", MANY, |i| {
            ((i >> 9).to_string(), (i & 511).to_string())
        }),
        family("(String, String, String)", MANY, |i| {
            (word(i >> 12), word(i >> 6 & 63), word(i & 63))
        }),
        family("struct of two strings", MANY, |i| Person {
            first: format!("name{}", i >> 9),
            last: (i & 511).to_string(),
        }),
        family("(u64, String)", MANY, |i| (i as u64 >> 9, (i & 511).to_string())),
        family("(String, u32)", MANY, |i| (word(i >> 9), i as u32 & 511)),
    ]
}
