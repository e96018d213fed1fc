//! Numbers as a reader wants them.

/// What stands for a number that is not there or not finite.
pub(crate) const NONE: &str = "–";

/// A measured number: thousands separated, about four significant digits.
pub(crate) fn measured(value: Option<f64>) -> String {
    let Some(value) = value else { return NONE.into() };
    let decimals = match value.abs() {
        size if size >= 10_000.0 => 0,
        size if size >= 1_000.0 => 1,
        size if size >= 1.0 || size == 0.0 => 2,
        _ => 4,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A count: whole, thousands separated.
pub(crate) fn count(value: f64) -> String {
    grouped(&format!("{value:.0}"))
}

/// An amount of data in decimal units.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if value < 1000.0 {
        return format!("{value:.0} B");
    }
    let (mut scaled, mut unit) = (value / 1000.0, 0);
    while scaled >= 1000.0 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{scaled:.2} {}", UNITS[unit])
}

/// A number as someone would write it: thousands separated, at most six decimals, none of them
/// idle.
pub(crate) fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        return short_exponent(value);
    }
    let text = format!("{value:.6}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        trimmed => grouped(trimmed),
    }
}

fn short_exponent(value: f64) -> String {
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

fn grouped(number: &str) -> String {
    let (whole, fraction) = number.find('.').map_or((number, ""), |dot| number.split_at(dot));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!(measured(Some(487.354)), "487.35");
        assert_eq!(measured(Some(-1234.56)), "-1,234.6");
        assert_eq!(measured(Some(0.0312)), "0.0312");
        assert_eq!(measured(None), NONE);
        assert_eq!(count(5_000_000.0), "5,000,000");
        assert_eq!(count(-100.0), "-100");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(1_234_567.0), "1.23 MB");
        assert_eq!(bytes(1e18), "1000.00 PB");
    }

    #[test]
    fn plain_numbers_carry_no_noise() {
        assert_eq!(plain(0.1 + 0.2), "0.3");
        assert_eq!(plain(-0.0), "0");
        assert_eq!(plain(-1500.25), "-1,500.25");
        assert_eq!(plain(2_500_000.0), "2.5e6");
        assert_eq!(plain(0.000_02), "2e-5");
    }
}
