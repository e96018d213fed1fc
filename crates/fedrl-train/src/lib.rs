//! fedrl-train
