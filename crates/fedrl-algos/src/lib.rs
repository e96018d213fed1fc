//! fedrl-algos
