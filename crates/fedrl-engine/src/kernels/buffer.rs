//! Numbers on a device, and how many units work on them.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::EngineError;

/// Numbers of four bytes on a device.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    handle: Handle,
    len: usize,
}

/// Units that are launched together.
const CUBE: u32 = 64;

/// The most cubes in one direction that every device takes.
const MOST_CUBES: u32 = 65_535;

impl Buffer {
    /// Room for `len` numbers, which have no values yet.
    pub(crate) fn room(client: &Client, len: usize) -> Self {
        // No device has buffers of nothing.
        let len = len.max(1);
        Buffer { handle: client.empty(len * size_of::<f32>()), len }
    }

    pub(crate) fn numbers(client: &Client, numbers: &[f32]) -> Self {
        let numbers = if numbers.is_empty() { &[0.0] } else { numbers };
        Buffer { handle: client.create_from_slice(f32::as_bytes(numbers)), len: numbers.len() }
    }

    pub(crate) fn words(client: &Client, words: &[u32]) -> Self {
        let words = if words.is_empty() { &[0] } else { words };
        Buffer { handle: client.create_from_slice(u32::as_bytes(words)), len: words.len() }
    }

    /// What a launch is given.
    pub(crate) fn arg(&self) -> BufferArg {
        // SAFETY: the buffer is as long as it was made.
        #[allow(unsafe_code, reason = "a kernel launch hands raw buffers to the device")]
        unsafe {
            BufferArg::from_raw_parts(self.handle.clone(), self.len)
        }
    }

    /// What these buffers hold, at the price of one wait.
    pub(crate) fn read(client: &Client, buffers: &[&Buffer]) -> Result<Vec<Vec<f32>>, EngineError> {
        let handles = buffers.iter().map(|buffer| buffer.handle.clone()).collect();
        let read = client.read(handles).map_err(|error| EngineError::Device(error.to_string()))?;
        Ok(read.iter().zip(buffers).map(|(bytes, buffer)| f32::from_bytes(bytes)[..buffer.len].to_vec()).collect())
    }
}

/// Cubes for so many units.
pub(crate) fn cubes(units: usize) -> (CubeCount, CubeDim) {
    let cubes = units.div_ceil(CUBE as usize) as u32;
    (CubeCount::Static(cubes.clamp(1, MOST_CUBES), cubes.div_ceil(MOST_CUBES).max(1), 1), CubeDim::new_1d(CUBE))
}
