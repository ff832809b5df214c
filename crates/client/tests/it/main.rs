//! Tests of the client's commands beside the incumbent's.

mod export;
mod hostile_export;
