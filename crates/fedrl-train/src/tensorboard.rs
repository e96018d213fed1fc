//! TensorBoard event files: scalars as length-prefixed, checksummed protocol-buffer records.
//! A projection of `metrics.jsonl`, made anew whenever that was cut back.

use std::io::{self, Write};
use std::path::Path;

use fs_err::File;
use prost::Message;

use crate::RoundMetrics;

/// `tensorflow.Event`, as far as scalars need it.
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Scalar>,
}

#[derive(Clone, PartialEq, Message)]
struct Scalar {
    #[prost(string, tag = "1")]
    tag: String,
    // Explicitly present: readers skip a value that is left out, as 0 otherwise is.
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
}

/// An event file being written.
#[derive(Debug)]
pub(crate) struct EventFile {
    file: File,
}

impl EventFile {
    /// A new file with the events of `metrics`, in place of any that was there.
    pub(crate) fn create(path: &Path, metrics: &[RoundMetrics]) -> io::Result<Self> {
        let mut events = EventFile { file: File::create(path)? };
        events.write(&Event { file_version: Some("brain.Event:2".into()), ..Event::default() })?;
        metrics.iter().try_for_each(|round| events.append(round))?;
        Ok(events)
    }

    /// Adds one round.
    pub(crate) fn append(&mut self, metrics: &RoundMetrics) -> io::Result<()> {
        let scalars = metrics.scalars().filter(|(key, _)| *key != "round" && *key != "time/unix_seconds");
        let value =
            scalars.map(|(key, value)| Scalar { tag: key.to_string(), simple_value: Some(value as f32) }).collect();
        let wall_time = metrics.number("time/unix_seconds").unwrap_or(0.0);
        let step = i64::from(metrics.round());
        self.write(&Event { wall_time, step, summary: Some(Summary { value }), ..Event::default() })
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        let data = event.encode_to_vec();
        let length = (data.len() as u64).to_le_bytes();
        let mut record = Vec::with_capacity(data.len() + 16);
        record.extend(length);
        record.extend(masked_crc(&length).to_le_bytes());
        record.extend(&data);
        record.extend(masked_crc(&data).to_le_bytes());
        self.file.write_all(&record)
    }
}

/// TFRecord's checksum: CRC-32C, rotated and shifted so that a checksum of checksums is sound.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first record of every TensorFlow event file: Event { wall_time: 0, file_version } is
    /// 1a 0d "brain.Event:2"; with wall_time 0 left out, length 15.
    #[test]
    fn records_have_the_layout_that_readers_expect() {
        let path = tempfile::NamedTempFile::new().unwrap();
        EventFile::create(path.path(), &[]).unwrap();
        let bytes = std::fs::read(path.path()).unwrap();
        assert_eq!(bytes[..8], 15u64.to_le_bytes());
        assert_eq!(bytes[8..12], masked_crc(&bytes[..8]).to_le_bytes());
        assert_eq!(&bytes[12..27], b"\x1a\x0dbrain.Event:2");
        assert_eq!(bytes[27..], masked_crc(&bytes[12..27]).to_le_bytes());
    }

    /// CRC-32C's check value is e3069283 for "123456789".
    #[test]
    fn the_mask_is_a_rotation_and_an_offset() {
        // e3069283 rotated right by 15 is 2507c60d; plus a282ead8 is c78ab0e5.
        assert_eq!(masked_crc(b"123456789"), 0xc78a_b0e5);
    }
}
