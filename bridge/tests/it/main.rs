//! What the bridge promises, tested with the real program before a real Redis.

mod attack;
mod clients;
mod cluster;
mod cors;
mod credentials;
mod dialect;
mod docker;
mod health;
mod http;
mod lifecycle;
mod logs;
mod metrics;
mod outage;
mod passing;
mod password;
mod paths;
mod refused;
mod scripts;
mod subscribe;
mod support;
mod tls;
