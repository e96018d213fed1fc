//! A policy's network inside a kernel, from the layers that the CPU has, too.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_models::dense;

use crate::fused::Shape;

/// Writes the hidden values and the outputs of one step.
#[cube]
pub(super) fn forward(
    theta: &[f32],
    observation: &[f32],
    hidden: &mut [f32],
    outputs: &mut [f32],
    #[comptime] shape: Shape,
) {
    #[unroll]
    for k in 0..comptime!(shape.layers.len()) {
        let layer = comptime!(shape.layers[k]);
        let start = comptime!(shape.starts[k]);
        // What a layer reads lies beside what it writes, so that it is copied.
        let mut x = Array::<f32>::new(comptime!(layer.inputs));
        for i in 0..comptime!(layer.inputs) {
            x[i] = if comptime!(k == 0) {
                observation[i]
            } else {
                hidden[comptime!(if k == 0 { 0 } else { shape.starts[k - 1] }) + i]
            };
        }
        if comptime!(k + 1 == shape.layers.len()) {
            dense::forward::<f32>(theta, x.as_slice(), outputs, layer);
        } else {
            dense::forward::<f32>(
                theta,
                x.as_slice(),
                &mut hidden[start..comptime!(shape.starts[k] + shape.layers[k].outputs)],
                layer,
            );
        }
    }
}
