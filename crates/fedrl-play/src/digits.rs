//! Numbers of scenes, in seven strokes a digit: no font is needed.

use fedrl_envs::Outline;

/// Which strokes a digit has: top, upper left, upper right, middle, lower left, lower right, bottom.
const STROKES: [[u8; 7]; 10] = [
    [1, 1, 1, 0, 1, 1, 1],
    [0, 0, 1, 0, 0, 1, 0],
    [1, 0, 1, 1, 1, 0, 1],
    [1, 0, 1, 1, 0, 1, 1],
    [0, 1, 1, 1, 0, 1, 0],
    [1, 1, 0, 1, 0, 1, 1],
    [1, 1, 0, 1, 1, 1, 1],
    [1, 0, 1, 0, 0, 1, 0],
    [1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 0, 1, 1],
];

/// The ends of the strokes; a digit is 1 wide and 2 high.
const ENDS: [[[f64; 2]; 2]; 7] = [
    [[0.0, 2.0], [1.0, 2.0]],
    [[0.0, 2.0], [0.0, 1.0]],
    [[1.0, 2.0], [1.0, 1.0]],
    [[0.0, 1.0], [1.0, 1.0]],
    [[0.0, 1.0], [0.0, 0.0]],
    [[1.0, 1.0], [1.0, 0.0]],
    [[0.0, 0.0], [1.0, 0.0]],
];

/// The strokes of a number that begins at the origin.
pub(crate) fn strokes(number: usize) -> Vec<Outline> {
    let digit = |(place, digit): (usize, u8)| {
        let shift = 1.8 * place as f64;
        let drawn = ENDS.iter().zip(STROKES[usize::from(digit - b'0')]).filter(|(_, drawn)| *drawn == 1);
        drawn.map(move |(ends, _)| Outline::Capsule { ends: ends.map(|[x, y]| [x + shift, y]), radius: 0.14 })
    };
    number.to_string().bytes().enumerate().flat_map(digit).collect()
}
