//! fedrl-eval
