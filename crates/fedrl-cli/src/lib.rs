//! fedrl-cli
