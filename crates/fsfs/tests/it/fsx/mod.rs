//! FSX, against repositories of Subversion's tools.

mod commits;
mod compare;
mod create;
mod damage;
mod expected;
mod known_faults;
mod locks;
mod pack;
mod packing;
mod random;
mod repository;
mod revprops_write;
mod torture;
mod transactions;
