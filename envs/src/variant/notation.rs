//! How families of values are written.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::Family;

/// The greatest count accepted: beyond it a typing error is likelier than an intention.
const MOST: usize = 1_000_000;

const FORMS: &str = "a number, a word, { linspace = [low, high] }, { values = [..] }, { cycle = [..] }, \
                     { uniform = [low, high] } or { normal = [mean, deviation] }";
const NAMES: [&str; 5] = ["linspace", "values", "cycle", "uniform", "normal"];

impl<'de> Deserialize<'de> for Family {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FamilyVisitor)
    }
}

struct FamilyVisitor;

impl<'de> Visitor<'de> for FamilyVisitor {
    type Value = Family;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Family, E> {
        Ok(Family::Constant(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Family, E> {
        Ok(Family::Constant(value as f64))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Family, E> {
        Ok(Family::Constant(value as f64))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Family, E> {
        Ok(Family::Word(value.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Family, A::Error> {
        let mut form: Option<(String, Vec<f64>)> = None;
        let mut count: Option<usize> = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "count" => count = Some(map.next_value()?),
                name if NAMES.contains(&name) && form.is_none() => form = Some((key, map.next_value()?)),
                name if NAMES.contains(&name) => {
                    return Err(de::Error::custom(format!("two forms at once; expected {FORMS}")));
                }
                _ => {
                    let known = [&NAMES[..], &["count"]].concat();
                    return Err(de::Error::custom(fedrl_core::unknown_name("form of values", &key, &known)));
                }
            }
        }
        let (form, numbers) = form.ok_or_else(|| de::Error::custom(format!("expected {FORMS}")))?;
        if let Some(count) = count.filter(|count| !(1..=MOST).contains(count)) {
            return Err(de::Error::custom(format!("`count` is {count}, expected 1 to {MOST}")));
        }
        if let Some(value) = numbers.iter().find(|value| !value.is_finite()) {
            return Err(de::Error::custom(format!("`{form}` contains {value}, expected finite numbers")));
        }
        match (form.as_str(), numbers.as_slice()) {
            ("values", _) if count.is_some() => Err(de::Error::custom("`count` does not go with `values`")),
            ("values", _) => Ok(Family::Values(numbers)),
            ("cycle", []) => Err(de::Error::custom("`cycle` has no values")),
            ("cycle", _) => Ok(Family::Cycle { values: numbers, count }),
            ("linspace", &[low, high]) => Ok(Family::Linspace { low, high, count }),
            ("uniform", &[low, high]) if low <= high => Ok(Family::Uniform { low, high, count }),
            ("uniform", &[low, high]) => Err(de::Error::custom(format!("`uniform` runs from {low} down to {high}"))),
            ("normal", &[mean, deviation]) if deviation >= 0.0 => Ok(Family::Normal { mean, deviation, count }),
            ("normal", &[_, deviation]) => {
                Err(de::Error::custom(format!("`normal` has deviation {deviation}, expected >= 0")))
            }
            (form, numbers) => Err(de::Error::custom(format!("`{form}` takes two numbers, found {}", numbers.len()))),
        }
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (form, numbers) = match self {
            Family::Constant(value) => return serializer.serialize_f64(*value),
            Family::Word(word) => return serializer.serialize_str(word),
            Family::Values(values) => ("values", values.clone()),
            Family::Cycle { values, .. } => ("cycle", values.clone()),
            Family::Linspace { low, high, .. } => ("linspace", vec![*low, *high]),
            Family::Uniform { low, high, .. } => ("uniform", vec![*low, *high]),
            Family::Normal { mean, deviation, .. } => ("normal", vec![*mean, *deviation]),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(form, &numbers)?;
        if !matches!(self, Family::Values(_))
            && let Some(count) = self.count()
        {
            map.serialize_entry("count", &count)?;
        }
        map.end()
    }
}
