//! Robust summaries of a handful of returns: [`mean`], [`standard_error`], [`quantile`],
//! [`interquartile_mean`], [`cvar`], [`bootstrap_interval`], [`performance_profile`];
//! [`kolmogorov_smirnov`] of two samples; [`cosine`] and [`spearman`] of two lists.
//!
//! Everything is plain `f64`, in the unit of the values given. What has no answer (an empty
//! sample, a NaN among the values, a fraction outside its range) is NaN, never a panic: one
//! diverged agent must not end an evaluation.

mod association;
mod bootstrap;
mod profile;
mod summary;
mod two_samples;

pub use association::{cosine, spearman};
pub use bootstrap::{Interval, bootstrap_interval};
pub use profile::performance_profile;
pub use summary::{cvar, interquartile_mean, mean, quantile, standard_error};
pub use two_samples::kolmogorov_smirnov;
