//! `state.safetensors`: every vector of a state by its name, compressed where that pays.
//!
//! Vectors are F32 and counts U32. A vector that is long and compresses well is U8 instead: how many
//! numbers it has (u64), then blocks of [`BLOCK`] numbers, each as its length in bytes (u32) and a
//! zlib stream (RFC 1950) of them. All of it is little-endian. Compression finds what replay memories
//! are full of: places not yet filled, and a next observation that is the observation of the next row.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors, View};

/// Numbers from which on a vector is compressed at all: 64 KiB. What is shorter stays readable for
/// everything that reads safetensors.
const LEAST: usize = 1 << 14;
/// Numbers in a block: 1 MiB. Blocks are compressed side by side, and do not depend on the threads.
const BLOCK: usize = 1 << 18;
/// zlib's fastest: the others take longer and find next to nothing more.
const LEVEL: u8 = 1;
/// Bytes of a number.
const NUMBER: usize = 4;

/// Vectors and counts by name.
pub(super) type Tensors = (BTreeMap<String, Vec<f32>>, BTreeMap<String, Vec<u32>>);

/// The file of these vectors and counts.
///
/// # Errors
/// They do not fit safetensors.
pub(super) fn bytes(
    vectors: &BTreeMap<&'static str, &[f32]>,
    counts: &BTreeMap<&'static str, Vec<u32>>,
) -> std::io::Result<Vec<u8>> {
    let vectors = vectors.iter().map(|(name, vector)| (*name, Tensor::of(vector)));
    let counts = counts.iter().map(|(name, counts)| (*name, Tensor::new(Content::Counts(counts), counts.len())));
    safetensors::serialize(vectors.chain(counts), None::<HashMap<String, String>>)
        .map_err(|error| std::io::Error::other(error.to_string()))
}

/// The vectors and counts of a file.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(bytes: &[u8]) -> Result<Tensors, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let (mut vectors, mut counts) = Tensors::default();
    for (name, view) in file.tensors() {
        match view.dtype() {
            Dtype::F32 => {
                vectors.insert(name, numbers(view.data()));
            }
            Dtype::U32 => {
                counts.insert(name, words(view.data()).map(u32::from_le_bytes).collect());
            }
            Dtype::U8 => {
                let vector = expand(view.data()).ok_or_else(|| format!("`{name}` cannot be decompressed"))?;
                vectors.insert(name, vector);
            }
            other => return Err(format!("`{name}` has numbers of type {other:?}, expected F32, U32 or U8")),
        }
    }
    Ok((vectors, counts))
}

/// A vector as it goes into the file.
struct Tensor<'a> {
    content: Content<'a>,
    shape: [usize; 1],
}

enum Content<'a> {
    Numbers(&'a [f32]),
    Counts(&'a [u32]),
    Compressed(Vec<u8>),
}

impl<'a> Tensor<'a> {
    fn new(content: Content<'a>, length: usize) -> Self {
        Tensor { content, shape: [length] }
    }

    fn of(vector: &'a [f32]) -> Self {
        match compress(vector) {
            Some(compressed) => {
                let length = compressed.len();
                Self::new(Content::Compressed(compressed), length)
            }
            None => Self::new(Content::Numbers(vector), vector.len()),
        }
    }
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        match self.content {
            Content::Numbers(_) => Dtype::F32,
            Content::Counts(_) => Dtype::U32,
            Content::Compressed(_) => Dtype::U8,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match &self.content {
            Content::Numbers(vector) => little_endian(vector).into(),
            Content::Counts(counts) => counts.iter().flat_map(|count| count.to_le_bytes()).collect(),
            Content::Compressed(bytes) => bytes.into(),
        }
    }

    fn data_len(&self) -> usize {
        let of_element = if matches!(self.content, Content::Compressed(_)) { 1 } else { NUMBER };
        of_element * self.shape[0]
    }
}

/// The vector in blocks, if it is long and an eighth at least is saved.
fn compress(vector: &[f32]) -> Option<Vec<u8>> {
    if vector.len() < LEAST {
        return None;
    }
    let block = |numbers: &[f32]| compress_to_vec_zlib(&little_endian(numbers), LEVEL);
    let blocks: Vec<Vec<u8>> = vector.par_chunks(BLOCK).map(block).collect();
    let size = size_of::<u64>() + blocks.iter().map(|block| size_of::<u32>() + block.len()).sum::<usize>();
    if size > NUMBER * vector.len() / 8 * 7 {
        return None;
    }
    let mut all = Vec::with_capacity(size);
    all.extend((vector.len() as u64).to_le_bytes());
    for block in blocks {
        all.extend((block.len() as u32).to_le_bytes());
        all.extend(block);
    }
    Some(all)
}

/// What was compressed; nothing where this is not what [`compress`] makes.
fn expand(bytes: &[u8]) -> Option<Vec<f32>> {
    let (count, mut rest) = bytes.split_first_chunk()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk()?;
        let (block, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        blocks.push(block);
        rest = after;
    }
    // No block is longer than one is, whatever it claims.
    let block = |block: &&[u8]| decompress_to_vec_zlib_with_limit(block, NUMBER * BLOCK).ok();
    let blocks: Vec<Vec<u8>> = blocks.par_iter().map(block).collect::<Option<_>>()?;
    let vector: Vec<f32> = blocks.iter().flat_map(|block| words(block).map(f32::from_le_bytes)).collect();
    (vector.len() == count).then_some(vector)
}

fn little_endian(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    words(bytes).map(f32::from_le_bytes).collect()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; NUMBER]> {
    bytes.as_chunks().0.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as a replay memory has them: `(a, b, action, reward, terminated)`, b being the next row's a.
    fn memory(rows: usize) -> Vec<f32> {
        let observation = |i: usize| (i as f32 * 0.7).sin();
        (0..rows).flat_map(|i| [observation(i), observation(i + 1), (i % 2) as f32, 1.0, 0.0]).collect()
    }

    /// Numbers of which no bits repeat (Weyl's sequence, stirred).
    fn noise(length: u32) -> Vec<f32> {
        let stirred = |i: u32| (u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66).wrapping_pow(3) >> 32;
        (0..length).map(|i| f32::from_bits(stirred(i) as u32 & 0xBFFF_FFFF)).collect()
    }

    fn tensors(vector: &[f32]) -> (Vec<u8>, Tensors) {
        let bytes = bytes(&[("x", vector)].into(), &[("n", vec![7, u32::MAX])].into()).unwrap();
        let tensors = read(&bytes).unwrap();
        (bytes, tensors)
    }

    fn kind(bytes: &[u8]) -> Dtype {
        SafeTensors::deserialize(bytes).unwrap().tensor("x").unwrap().dtype()
    }

    fn same(one: &[f32], other: &[f32]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
    }

    #[test]
    fn every_vector_comes_back_to_the_bit() {
        // One number short of what is compressed, just that many, a block and one number, two blocks and a bit.
        let lengths = [0, 3, LEAST - 1, LEAST, BLOCK, BLOCK + 1, 2 * BLOCK + 12_345];
        let odd = [f32::NAN, -0.0, f32::INFINITY, f32::MIN_POSITIVE, f32::from_bits(1)];
        for length in lengths {
            let mut vector = memory(length.div_ceil(5));
            vector.truncate(length);
            vector.iter_mut().zip(odd).for_each(|(x, odd)| *x = odd);
            let (bytes, (vectors, counts)) = tensors(&vector);
            assert!(same(&vectors["x"], &vector), "{length}");
            assert_eq!(counts["n"], [7, u32::MAX]);
            assert_eq!(kind(&bytes), if length < LEAST { Dtype::F32 } else { Dtype::U8 });
        }
    }

    #[test]
    fn what_does_not_compress_stays_as_it_is() {
        let (bytes, (vectors, _)) = tensors(&noise(20_000));
        assert_eq!(kind(&bytes), Dtype::F32);
        assert!(same(&vectors["x"], &noise(20_000)));
        // 8 bytes of length, a header, 80,000 bytes of numbers, 8 of counts.
        assert!((80_016..80_400).contains(&bytes.len()), "{}", bytes.len());
    }

    /// Of 20 bytes in a row only the 4 of the new observation are new: half of the bytes is the least that has
    /// to be saved. Of a memory that is empty next to nothing is left.
    #[test]
    fn memories_take_less_than_half() {
        let size = |vector: &[f32]| tensors(vector).0.len();
        assert!(size(&memory(10_000)) < 100_000, "{}", size(&memory(10_000)));
        assert!(size(&vec![0.0; 1_000_000]) < 20_000, "{}", size(&vec![0.0; 1_000_000]));
    }

    #[test]
    fn the_bytes_do_not_depend_on_threads() {
        let vector = memory(BLOCK);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compress(&vector).unwrap())
        };
        assert!(on(1) == on(3));
    }

    #[test]
    fn what_was_not_compressed_here_is_not_expanded() {
        let whole = compress(&memory(BLOCK)).unwrap();
        assert!(expand(&whole).is_some());
        let longer = |by: u8| [&whole[..], &vec![0; usize::from(by)]].concat();
        let counted = |by: i64| [&(5 * BLOCK as i64 + by).to_le_bytes()[..], &whole[8..]].concat();
        for wrong in
            [vec![], vec![0; 7], longer(1), longer(4), whole[..whole.len() - 1].to_vec(), counted(1), counted(-1)]
        {
            assert!(expand(&wrong).is_none());
        }
        assert_eq!(expand(&[0; 8]), Some(Vec::new()));
        // A block that says it is longer than a block is.
        let long = compress_to_vec_zlib(&vec![0; NUMBER * BLOCK + NUMBER], LEVEL);
        let count = (BLOCK as u64 + 1).to_le_bytes();
        assert!(expand(&[&count[..], &(long.len() as u32).to_le_bytes(), &long].concat()).is_none());
    }
}
